package main

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"
)

// This file compares what became of a run that was killed with what became of the one that nobody disturbed.

// fate is what became of a play: all that has to be the same however often it was killed.
type fate struct {
	Base     []string          // the commits of main, as tree and subject
	Files    map[string]string // of the checkout
	Branches string
	Kept     []string // trees under refs/foundry
	Show     any
	Turns    map[string]int // how often each began
	Untidy   []string       // what nobody should have left behind
}

var volatile = regexp.MustCompile(`"seconds": [0-9.]+|"(id|branch|worktree|started|ended|merged|branch_point)": "[^"]*"|run_\d{6}_[0-9a-f]{6}|\b[0-9a-f]{10,40}\b|\d+(\.\d+)?m?s\b`)

func (w *world) fate() fate {
	w.t.Helper()
	f := fate{Files: map[string]string{}, Turns: w.turns()}
	f.Base = strings.Fields(strings.ReplaceAll(w.git("log", "--format=%T %s", "main"), " ", "_"))
	f.Branches = w.git("for-each-ref", "--format=%(refname)", "refs/heads", "refs/remotes", "refs/tags", "refs/stash")
	f.Branches = volatile.ReplaceAllString(f.Branches, "RUN")
	f.Kept = strings.Fields(w.git("for-each-ref", "--format=%(tree)", "refs/foundry"))
	slices.Sort(f.Kept)
	f.Kept = slices.Compact(f.Kept)
	_, show := w.foundry(nil, "show", "last", "--json")
	show = volatile.ReplaceAllString(show, "…")
	if err := json.Unmarshal([]byte(strings.ReplaceAll(show, "\n    …,", "\n")), &f.Show); err != nil {
		f.Show = show
	}
	err := filepath.WalkDir(w.repo(), func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(w.repo(), path)
		switch {
		case rel == ".git" || rel == ".foundry":
			return fs.SkipDir
		case d.IsDir():
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		b, err := os.ReadFile(path)
		f.Files[rel] = fmt.Sprint(info.Mode(), " ", string(b))
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
	f.Untidy = w.untidy()
	return f
}

func (w *world) untidy() []string {
	w.t.Helper()
	var found []string
	filepath.WalkDir(w.repo(), func(path string, d fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(w.repo(), path)
		name := filepath.Base(path)
		switch {
		case err != nil:
			found = append(found, err.Error())
		case strings.HasPrefix(rel, ".git/info/.foundry-tmp-"): // goes when it is old
		case strings.HasPrefix(rel, ".foundry/runs/") && w.stillborn(path): // goes with its record
		case strings.HasSuffix(name, ".lock") && !strings.HasPrefix(rel, ".git/foundry/"), strings.HasPrefix(name, ".foundry-tmp-"):
			found = append(found, "left: "+rel)
		}
		return nil
	})
	if out := w.git("worktree", "list", "--porcelain"); strings.Count(out, "worktree ") != 1 {
		found = append(found, out)
	}
	if out, err := w.command(nil, "git", "fsck", "--no-dangling", "--connectivity-only").CombinedOutput(); err != nil {
		found = append(found, "git fsck: "+string(out))
	}
	if out := w.git("status", "--porcelain"); out != "" {
		found = append(found, "git status: "+out)
	}
	for _, pid := range w.processes() {
		found = append(found, "a process: "+pid)
	}
	return found
}

// stillborn says whether a file is in the record of a run that died before its first event.
func (w *world) stillborn(path string) bool {
	rel, _ := filepath.Rel(filepath.Join(w.repo(), ".foundry/runs"), path)
	run, _, _ := strings.Cut(rel, "/")
	log, err := os.Stat(filepath.Join(w.repo(), ".foundry/runs", run, "events.jsonl"))
	return err != nil || log.Size() == 0
}

// differs compares what became of a killed play with the undisturbed one.
func differs(want, got fate, unrecorded map[string]int, kills int) string {
	var out []string
	// What was cut off is kept, and a state may be snapshot twice: more trees are right, fewer are not.
	missing := slices.DeleteFunc(slices.Clone(want.Kept), func(tree string) bool { return slices.Contains(got.Kept, tree) })
	if len(missing) > 0 {
		out = append(out, fmt.Sprintf("states that are not kept: %v", missing))
	}
	for _, key := range slices.Sorted(maps.Keys(want.Turns)) {
		most := want.Turns[key] + unrecorded[key]
		if strings.HasPrefix(key, "step") && !strings.HasPrefix(key, "step test") {
			most = want.Turns[key] + kills // gates and criteria
		}
		if n := got.Turns[key]; n < want.Turns[key] || n > most {
			out = append(out, fmt.Sprintf("%s began %d times, undisturbed %d, cut off %d", key, n, want.Turns[key], unrecorded[key]))
		}
	}
	for key := range got.Turns {
		if want.Turns[key] == 0 {
			out = append(out, key+" began, which undisturbed it did not")
		}
	}
	got.Kept, got.Turns = want.Kept, want.Turns
	if diff := cmp.Diff(want, got); diff != "" {
		out = append(out, diff)
	}
	return strings.Join(out, "\n")
}

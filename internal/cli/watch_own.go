package cli

import (
	"encoding/json"
	"os"
	"slices"

	"foundry/internal/watch"
)

// This file tells what a run wrote itself from what a person saved meanwhile. The system does not say who wrote a
// file, so this does: a file that is new and came while a command was running is the command's, and so is every later
// change of it while one runs, until somebody changes it while nothing runs. All else is a person's and gets its run;
// what a phase names as its sources always is. A file that changed in several runs in a row gets one more after a
// pause, in which a person would have come to rest; if it changes in that one too, the run does it itself.

// ownFiles are the files that runs have made.
type ownFiles struct {
	file    string // where they are kept from one session to the next
	made    map[string]bool
	streak  map[string]int // of files that changed during run after run
	outside watch.Change   // of the last run: what is to get a run of its own
	doubted []watch.File   // of the last run: what is to get one more after a pause
}

// load reads what earlier sessions found. A file that cannot be read is as good as none.
func (o *ownFiles) load() {
	var names []string
	if text, err := os.ReadFile(o.file); err == nil {
		json.Unmarshal(text, &names)
	}
	o.made, o.streak = map[string]bool{}, map[string]int{}
	for _, n := range names {
		o.made[n] = true
	}
}

func (o *ownFiles) save() {
	names := []string{}
	for n := range o.made {
		names = append(names, n)
	}
	slices.Sort(names)
	if text, err := json.Marshal(names); err == nil {
		os.WriteFile(o.file, text, 0o600)
	}
}

// is says whether a change during a run is the run's own.
func (o *ownFiles) is(f watch.File, source bool) bool {
	return !source && (o.made[f.Path] || f.Kind == watch.Created)
}

// person notes a change. One that came during the last run says nothing; any other is a person's.
func (o *ownFiles) person(path string) {
	if slices.ContainsFunc(o.outside.Files, func(f watch.File) bool { return f.Path == path }) {
		return
	}
	delete(o.streak, path)
	if o.made[path] {
		delete(o.made, path)
		o.save()
	}
}

// after sorts the changes during a run. It returns the files that the run itself must be changing.
func (o *ownFiles) after(during watch.Change, source func(watch.File) bool) (held []string) {
	o.outside, o.doubted = watch.Change{Rescan: during.Rescan}, nil
	streak, learned := map[string]int{}, false
	for _, f := range during.Files {
		if o.is(f, source(f)) {
			learned = learned || !o.made[f.Path]
			o.made[f.Path] = true
			continue
		}
		streak[f.Path] = o.streak[f.Path] + 1
		switch n := streak[f.Path]; {
		case n <= mostInARow:
			o.outside.Files = append(o.outside.Files, f)
		case n == mostInARow+1:
			o.doubted = append(o.doubted, f)
		default:
			held = append(held, f.Path)
		}
	}
	o.streak = streak
	if learned {
		o.save()
	}
	return held
}

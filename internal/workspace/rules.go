package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"foundry/glob"
)

// An agent that may not write somewhere could write there all the same and add an ignore rule, or put its
// files into a directory that ignores itself. So a phase is judged by the ignore rules that were there when
// it began. When no rule changed, git's own answer is the right one; when one did, the files are listed
// without any rule and sorted out with the old ones.

// cacheTag begins the file by which a tool marks a directory as a cache that may be deleted at any time.
const cacheTag = "Signature: 8a477f597d28d172789f06886806bc55"

// syncExcludes gives the private git directory the excludes of the repository, as they are now or as they
// were at a snapshot, without Foundry's own lines: what agents hand to each other is in every snapshot.
func (t *Tree) syncExcludes(at []byte) error {
	data := at
	if at == nil {
		var err error
		if data, err = os.ReadFile(filepath.Join(t.repo.common, "info", "exclude")); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("read info/exclude: %w", err)
		}
	}
	var lines []string
	for _, l := range strings.Split(string(data), "\n") {
		if l != "" && !slices.Contains(excluded, strings.TrimSuffix(l, "\r")) {
			lines = append(lines, l)
		}
	}
	lines = append(lines, excluded[0], excluded[1], "!"+excluded[2])
	for _, l := range t.shadow.state.Links {
		lines = append(lines, "/"+escapePattern(l))
	}
	text := strings.Join(lines, "\n") + "\n"
	file := filepath.Join(t.shadow.dir, "info", "exclude")
	if old, err := os.ReadFile(file); err == nil && string(old) == text {
		return nil
	}
	t.scan.forgetIgnored()
	if err := replaceFile(file, []byte(text), 0o600); err != nil {
		return fmt.Errorf("write the excludes of the snapshot area: %w", err)
	}
	return nil
}

// underRules corrects the differences, which were found under the present ignore rules, to what they are under
// those of the start. It changes nothing when no rule differs.
func (t *Tree) underRules(ctx context.Context, start Snapshot, s survey) error {
	list, err := t.compare(ctx, start.Tree, t.now, false)
	if err != nil {
		return err
	}
	changed := !maps.Equal(s.scan.hidden, start.meta.Hidden)
	var created []string
	for _, c := range list {
		if path.Base(c.Path) == ".gitignore" {
			changed = true
		}
		if c.Kind == Created {
			created = append(created, c.Path)
		}
	}
	if !changed {
		return nil
	}
	old, err := t.oldRules(ctx, start)
	if err != nil {
		return err
	}
	defer os.RemoveAll(old.workTree)
	hidden, err := t.hiddenNow(ctx, old)
	if err != nil {
		return err
	}
	shown, err := old.checkIgnore(ctx, created, "--no-index")
	if err != nil {
		return err
	}
	want := maps.Clone(t.over)
	for p := range shown {
		if !watches(t.shadow.state.Watch, p) && path.Base(p) != ".gitignore" && !want[p].tracked {
			delete(want, p)
		}
	}
	for _, p := range hidden {
		if _, known := want[p]; !known {
			want[p] = difference{}
		}
	}
	return t.become(ctx, want)
}

// oldRules makes a directory that has nothing but the .gitignore files of a snapshot, in which git can be
// asked what was ignored then.
func (t *Tree) oldRules(ctx context.Context, start Snapshot) (git, error) {
	dir, err := os.MkdirTemp(t.shadow.dir, "rules-*")
	if err != nil {
		return git{}, fmt.Errorf("lay out the ignore rules of the start: %w", err)
	}
	g := t.shadow.git
	g.dir, g.workTree = dir, dir
	out, err := t.shadow.git.read(ctx, "ls-tree", "-r", "-z", start.Tree)
	if err != nil {
		return g, err
	}
	recs, err := fields(out)
	if err != nil {
		return g, err
	}
	for _, rec := range recs {
		info, p, _ := strings.Cut(rec, "\t")
		f := strings.Fields(info)
		if path.Base(p) != ".gitignore" || len(f) != 3 || f[0] == "120000" { // git follows no link to rules
			continue
		}
		data, err := t.shadow.git.read(ctx, "cat-file", "blob", f[2])
		if err != nil {
			return g, err
		}
		if err := replaceFile(filepath.Join(dir, p), data, 0o600); err != nil {
			return g, fmt.Errorf("lay out the ignore rules of the start: %w", err)
		}
	}
	// A directory that hid itself at the start goes on being hidden whole.
	for p := range start.meta.Hidden {
		if err := replaceFile(filepath.Join(dir, p), []byte("*\n"), 0o600); err != nil {
			return g, fmt.Errorf("lay out the ignore rules of the start: %w", err)
		}
	}
	return g, nil
}

// hiddenNow lists the files without an entry that were not ignored under the old rules.
func (t *Tree) hiddenNow(ctx context.Context, old git) ([]string, error) {
	out, err := t.shadow.git.read(ctx, "ls-files", "-o", "--directory", "-z")
	if err != nil {
		return nil, err
	}
	level, err := fields(out)
	if err != nil {
		return nil, err
	}
	level = slices.DeleteFunc(level, func(p string) bool {
		top, _, _ := strings.Cut(p, "/")
		return top == recordsDir || top == worktreesDir
	})
	var files []string
	for len(level) > 0 {
		ignored, err := old.checkIgnore(ctx, level, "--no-index")
		if err != nil {
			return nil, err
		}
		var next []string
		for _, p := range level {
			if ignored[p] {
				continue
			}
			dir, isDir := strings.CutSuffix(p, "/")
			if !isDir {
				files = append(files, p)
				continue
			}
			full := filepath.Join(t.dir, dir)
			if isCache(full) {
				continue
			}
			entries, err := readDir(full, 0o700)
			if err != nil {
				return nil, fmt.Errorf("list the files: %w", err)
			}
			for _, e := range entries {
				switch {
				case e.Name() == ".git":
				case e.IsDir():
					next = append(next, p+e.Name()+"/")
				case e.Type().IsRegular() || e.Type()&fs.ModeSymlink != 0:
					next = append(next, p+e.Name())
				}
			}
		}
		level = next
	}
	return files, nil
}

// isCache reports whether a directory ignores itself and carries the mark of a cache: tools make such
// directories wherever they run, and nobody means their content to be work.
func isCache(dir string) bool {
	rules, err := os.ReadFile(filepath.Join(dir, ".gitignore"))
	if err != nil || !slices.Contains(strings.Fields(string(rules)), "*") {
		return false
	}
	tag, err := os.ReadFile(filepath.Join(dir, "CACHEDIR.TAG"))
	return err == nil && strings.HasPrefix(string(tag), cacheTag)
}

// watches reports whether one of the globs matches.
func watches(globs []string, p string) bool {
	return slices.ContainsFunc(globs, func(g string) bool { return glob.Match(g, p) })
}

// escapePattern makes an ignore pattern that matches exactly one path.
func escapePattern(p string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`, " ", `\ `, "!", `\!`, "#", `\#`).Replace(p)
}

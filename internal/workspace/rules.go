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

// hidden returns the content of those .gitignore files that are in no tree, because they hide themselves.
func (t *Tree) hidden(rules []string) (map[string]string, error) {
	var m map[string]string
	for _, p := range rules {
		if t.scan.entries[p] || t.over[p].mode != "" {
			continue
		}
		b, err := os.ReadFile(filepath.Join(t.dir, p))
		if err != nil {
			return nil, fmt.Errorf("read the ignore rules: %w", err)
		}
		if m == nil {
			m = map[string]string{}
		}
		m[p] = string(b)
	}
	return m, nil
}

// otherRules reports whether the ignore rules are not those of the start.
func (t *Tree) otherRules(ctx context.Context, start Snapshot, hidden map[string]string) (bool, error) {
	if !maps.Equal(hidden, start.meta.Hidden) {
		return true, nil
	}
	list, err := t.compare(ctx, start.Tree, t.now)
	return slices.ContainsFunc(list, func(c Change) bool { return path.Base(c.Path) == ".gitignore" }), err
}

// underRules corrects the differences, which were found under the present ignore rules, to what they are under
// those of the start. It returns what a scan under these has found.
func (t *Tree) underRules(ctx context.Context, start Snapshot) (found, error) {
	list, err := t.compare(ctx, start.Tree, t.now)
	if err != nil {
		return found{}, err
	}
	old, err := t.oldRules(ctx, start)
	if err != nil {
		return found{}, err
	}
	defer os.RemoveAll(old.workTree)
	seen, err := t.scan.again().scan(ctx, func(ctx context.Context, paths []string, dirs bool) (map[string]bool, error) {
		return t.askOld(ctx, old, paths, dirs)
	})
	if err != nil {
		return found{}, err
	}
	var created []string
	for _, c := range list {
		if c.Kind == Created {
			created = append(created, c.Path)
		}
	}
	ignored, err := old.checkIgnore(ctx, created, "--no-index")
	if err != nil {
		return found{}, err
	}
	want := maps.Clone(t.over)
	for p := range ignored {
		if !watches(t.shadow.state.Watch, p) && !want[p].tracked {
			delete(want, p)
		}
	}
	for _, p := range seen.untracked {
		if _, known := want[p]; !known {
			want[p] = difference{}
		}
	}
	return seen, t.become(ctx, want)
}

// askOld asks about the rules of the start. A rule may be for directories alone, so those it is asked about are
// made there.
func (t *Tree) askOld(ctx context.Context, old git, paths []string, dirs bool) (map[string]bool, error) {
	if dirs {
		for _, p := range paths {
			os.MkdirAll(filepath.Join(old.workTree, p), 0o700) // where rules stand in its place it is no directory
		}
	}
	hit, err := old.checkIgnore(ctx, paths, "--no-index")
	if err != nil {
		return nil, err
	}
	for _, p := range paths {
		if dirs && !hit[p] && isCache(filepath.Join(t.dir, p)) {
			hit[p] = true
		}
	}
	return hit, nil
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
	for p, text := range start.meta.Hidden {
		if err := replaceFile(filepath.Join(dir, p), []byte(text), 0o600); err != nil {
			return g, fmt.Errorf("lay out the ignore rules of the start: %w", err)
		}
	}
	return g, nil
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

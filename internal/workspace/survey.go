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
	"sync"
	"time"
)

// The private index says what the files were when it was filled, with their time stamps. Git finds which of them
// are different now, and a scan at its side what has come; the differences are kept in memory, each with the identity that
// its file had when it was read. So the index is hardly ever written, and a file is only read when it changed.

// ready makes sure that there is a private index that can be believed, and that t.now is its tree.
func (t *Tree) ready(ctx context.Context) error {
	s := t.shadow
	if !s.state.Ready || !s.trusted() {
		if err := t.begin(ctx); err != nil {
			return err
		}
	}
	if err := s.settle(ctx); err != nil {
		return err
	}
	if t.scan.entries == nil {
		out, err := s.git.read(ctx, "ls-files", "-z")
		if err != nil {
			return err
		}
		paths, err := fields(out)
		if err != nil {
			return err
		}
		t.scan.know(paths)
	}
	return nil
}

// begin fills the private index: from the last snapshot where there is one, since another process may have
// had the index, or somebody may have written it to hide something; otherwise from the real index.
func (t *Tree) begin(ctx context.Context) error {
	s := t.shadow
	os.Remove(s.indexPath() + ".lock") // of a call that was killed; nobody else writes here
	t.scan.entries, t.over = nil, map[string]difference{}
	if t.last == nil && t.next > 1 {
		last, err := t.reload(ctx, fmt.Sprint(t.next-1))
		if err != nil {
			return err
		}
		t.last = &last
	}
	if t.last == nil || !s.state.Ready {
		paths, err := s.fill(ctx, t.git, t.admin)
		if err != nil {
			return err
		}
		tree, err := s.git.line(ctx, "write-tree", "--missing-ok")
		s.touched()
		t.scan.know(paths)
		t.now = tree
		return err
	}
	os.Remove(s.indexPath())
	t.now = t.last.Tree
	if err := s.git.write(ctx, "read-tree", t.now); err != nil {
		return err
	}
	if err := s.refresh(ctx, "--ignore-missing"); err != nil {
		return err
	}
	if len(s.state.Sparse) > 0 {
		if err := s.update(ctx, s.state.Sparse, "--skip-worktree"); err != nil {
			return err
		}
	}
	s.bulk = 1
	s.touched()
	return nil
}

// settle writes the index anew once the clock shows another second than when it was filled. Git compares time
// stamps by the second; until then it reads every file that is as young as the index.
func (s *shadow) settle(ctx context.Context) error {
	now := time.Now().Unix()
	if s.bulk == 0 || now <= s.bulk {
		return nil
	}
	if err := s.refresh(ctx, "--force-write-index"); err != nil {
		return err
	}
	if s.bulk > 1 {
		s.bulk = 0
	} else {
		s.bulk = now
	}
	return nil
}

// refresh lets the index learn the time stamps of the files that are what it has for them.
func (s *shadow) refresh(ctx context.Context, how string) error {
	// Exit code 1 says that some files differ, which is what comes next.
	_, err := s.git.do(ctx, call{args: []string{"update-index", "-q", "--refresh", how}, ok: 1, writes: true, timeout: longTime})
	s.touched()
	return err
}

// survey is what differs from the private index.
type survey struct {
	changed map[string]edit // entries whose file may differ: what the index says
	ignored []string        // ignored files, where patterns of watched files need them
	scan    found
}

// survey asks git and the file system side by side.
func (t *Tree) survey(ctx context.Context) (survey, error) {
	var s survey
	if err := t.unsparse(ctx); err != nil {
		return s, err
	}
	var errs [3]error
	var wg sync.WaitGroup
	wg.Go(func() { s.changed, errs[0] = t.changedEntries(ctx) })
	if slices.ContainsFunc(t.shadow.state.Watch, isWild) {
		wg.Go(func() { s.ignored, errs[1] = t.ignoredFiles(ctx) })
	}
	ask := func(ctx context.Context, paths []string, _ bool) (map[string]bool, error) {
		return t.shadow.git.checkIgnore(ctx, paths, "--no-index") // none of them has an entry
	}
	s.scan, errs[2] = t.scan.scan(ctx, ask)
	wg.Wait()
	err := errors.Join(errs[:]...)
	if err == nil && t.scan.underThese(t.rules(s)) {
		s.scan, err = t.scan.scan(ctx, ask)
	}
	return s, err
}

// rules tells one set of ignore rules from another: the .gitignore files that differ from the private index, or
// that it does not have.
func (t *Tree) rules(s survey) string {
	var b strings.Builder
	add := func(p string) {
		if path.Base(p) == ".gitignore" {
			id, err := identify(filepath.Join(t.dir, p))
			fmt.Fprintf(&b, "%q %v %v\n", p, id, err == nil)
		}
	}
	for _, p := range slices.Sorted(maps.Keys(s.changed)) {
		add(p)
	}
	for _, p := range s.scan.rules {
		if !t.scan.entries[p] {
			add(p)
		}
	}
	return b.String()
}

func (t *Tree) changedEntries(ctx context.Context) (map[string]edit, error) {
	out, err := t.shadow.git.read(ctx, "diff-files", "-z", "--raw", "--no-abbrev", "--no-renames", "--ignore-submodules=all")
	if err != nil {
		return nil, err
	}
	recs, err := fields(out)
	if err != nil {
		return nil, err
	}
	m := make(map[string]edit, len(recs)/2)
	for i := 0; i < len(recs); i += 2 {
		f := strings.Fields(recs[i])
		if len(f) != 5 || i+1 >= len(recs) {
			return nil, fmt.Errorf("git answered %q", recs[i])
		}
		m[recs[i+1]] = edit{mode: f[0][1:], blob: f[2]}
	}
	return m, nil
}

// unsparse makes files that a sparse checkout leaves out, and that are there now, count.
func (t *Tree) unsparse(ctx context.Context) error {
	var here []string
	t.shadow.state.Sparse = slices.DeleteFunc(slices.Clone(t.shadow.state.Sparse), func(p string) bool {
		_, err := os.Lstat(filepath.Join(t.dir, p))
		if err == nil {
			here = append(here, p)
		}
		return err == nil
	})
	if len(here) == 0 {
		return nil
	}
	if err := t.shadow.update(ctx, here, "--no-skip-worktree"); err != nil {
		return err
	}
	return t.shadow.save()
}

// makeReadable gives the owner back the right to read every directory.
func makeReadable(root string) {
	filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if d != nil && d.IsDir() {
			if st, serr := os.Lstat(p); serr == nil && st.Mode().Perm()&0o700 != 0o700 {
				os.Chmod(p, st.Mode().Perm()|0o700)
				if err != nil {
					makeReadable(p)
				}
			}
		}
		return nil
	})
}

// checkIgnore asks git which of the paths an ignore rule matches. Git refuses to be told here that paths are
// literal, but with "./" in front none looks like a pattern.
func (g git) checkIgnore(ctx context.Context, paths []string, more ...string) (map[string]bool, error) {
	asked := make([]string, len(paths))
	for i, p := range paths {
		asked[i] = "./" + p
	}
	args := append([]string{"check-ignore", "-z", "--stdin"}, more...)
	a, err := g.do(ctx, call{args: args, stdin: nul(asked), ok: 1, magic: true})
	if err != nil {
		return nil, fmt.Errorf("ask which paths are ignored: %w", err)
	}
	hits, err := fields(a.out)
	if err != nil {
		return nil, fmt.Errorf("ask which paths are ignored: %w", err)
	}
	m := make(map[string]bool, len(hits))
	for _, h := range hits {
		m[strings.TrimPrefix(h, "./")] = true
	}
	return m, nil
}

// ownIgnored returns those of the paths that a .gitignore of the workspace itself ignores.
func (g git) ownIgnored(ctx context.Context, paths []string) (map[string]bool, error) {
	asked := make([]string, len(paths))
	for i, p := range paths {
		asked[i] = "./" + p
	}
	a, err := g.do(ctx, call{args: []string{"check-ignore", "-v", "-z", "--stdin"}, stdin: nul(asked), ok: 1, magic: true})
	if err != nil {
		return nil, fmt.Errorf("ask which rules ignore paths: %w", err)
	}
	f, err := fields(a.out) // source, line, pattern, path
	if err != nil {
		return nil, fmt.Errorf("ask which rules ignore paths: %w", err)
	}
	m := map[string]bool{}
	for i := 0; i+3 < len(f); i += 4 {
		m[strings.TrimPrefix(f[i+3], "./")] = path.Base(f[i]) == ".gitignore" && !path.IsAbs(f[i])
	}
	return m, nil
}

// isWild reports whether a glob is more than the name of one file.
func isWild(g string) bool { return strings.ContainsAny(g, `*?[{\`) || strings.HasSuffix(g, "/") }

// watched lists the files that snapshots hold although they are ignored. ignored are those there are.
func (t *Tree) watched(ignored []string) []string {
	var list, wild []string
	filepath.WalkDir(filepath.Join(t.dir, handoffDir), func(p string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			if rel, err := filepath.Rel(t.dir, p); err == nil {
				list = append(list, rel)
			}
		}
		return nil
	})
	for _, g := range t.shadow.state.Watch {
		if isWild(g) {
			wild = append(wild, g)
		} else {
			list = append(list, g)
		}
	}
	for _, p := range ignored {
		if watches(wild, p) {
			list = append(list, p)
		}
	}
	return slices.DeleteFunc(list, func(p string) bool { return t.scan.entries[p] }) // those are compared anyway
}

// ignoredFiles lists every ignored file.
func (t *Tree) ignoredFiles(ctx context.Context) ([]string, error) {
	out, err := t.shadow.git.read(ctx, "ls-files", "-o", "-i", "--exclude-standard", "-z")
	if err != nil {
		return nil, fmt.Errorf("list the ignored files: %w", err)
	}
	return fields(out)
}

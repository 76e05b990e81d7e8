package workspace

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// A fresh worktree has only what is committed. Prepare brings the ignored files over that a run needs; the
// baseline remembers which ignored files there were when the work began, so that those made later are not
// lost with the worktree.

// Prepare copies ignored files from the checkout into the worktree and links others. Both are lists of globs
// from the root. What is not there is said in Notes. Copied files are watched (see Watch).
func (t *Tree) Prepare(ctx context.Context, copy, link []string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.checkout {
		return nil // everything is there already
	}
	for _, what := range []struct {
		name  string
		globs []string
		bring func(rel string) error
	}{{"worktree.copy", copy, t.copyIn}, {"worktree.link", link, t.linkIn}} {
		for _, g := range what.globs {
			paths, err := t.repo.sources(ctx, g)
			if err != nil {
				return fmt.Errorf("prepare the worktree: %w", err)
			}
			if len(paths) == 0 {
				t.notes = append(t.notes, fmt.Sprintf("%s: nothing in the checkout matches %q", what.name, g))
			}
			for _, p := range paths {
				if kind, _ := kindAt(t.dir, p); kind != "none" {
					t.notes = append(t.notes, fmt.Sprintf("%s: %q is already in the worktree and stays as it is", what.name, p))
					continue
				}
				if err := what.bring(p); err != nil {
					return fmt.Errorf("prepare the worktree: %w", err)
				}
			}
		}
	}
	return t.watch(copy)
}

// sources returns the paths of the checkout that a glob names.
func (r *Repo) sources(ctx context.Context, g string) ([]string, error) {
	g = strings.TrimSuffix(g, "/")
	if !strings.ContainsAny(g, `*?[{\`) {
		if !fs.ValidPath(g) || g == "." || g == ".git" || strings.HasPrefix(g, ".git/") {
			return nil, fmt.Errorf("%q does not name something in the repository", g)
		}
		if kind, _ := kindAt(r.root, g); kind == "none" || kind == "beyond" {
			return nil, nil
		}
		return []string{g}, nil
	}
	out, err := r.git.read(ctx, "ls-files", "-o", "-i", "--exclude-standard", "-z")
	if err != nil {
		return nil, fmt.Errorf("list the ignored files: %w", err)
	}
	all, err := fields(out)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(all, func(p string) bool {
		top, _, _ := strings.Cut(p, "/")
		return top == recordsDir || top == worktreesDir || top == handoffDir || !watches([]string{g}, p)
	}), nil
}

// copyIn copies one file, link or directory.
func (t *Tree) copyIn(rel string) error {
	from, to := filepath.Join(t.repo.root, rel), filepath.Join(t.dir, rel)
	if err := t.parents(path.Dir(rel)); err != nil {
		return fmt.Errorf("copy %q: %w", rel, err)
	}
	return filepath.WalkDir(from, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		sub, err := filepath.Rel(from, p)
		if err != nil {
			return err
		}
		dst := filepath.Join(to, sub)
		switch {
		case d.IsDir():
			return os.MkdirAll(dst, 0o777)
		case d.Type()&fs.ModeSymlink != 0:
			target, err := os.Readlink(p)
			if err != nil {
				return err
			}
			return os.Symlink(target, dst)
		case d.Type().IsRegular():
			return copyFile(p, dst)
		}
		t.notes = append(t.notes, fmt.Sprintf("worktree.copy: %q is a %s and was not copied", p, typeName(d.Type())))
		return nil
	})
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	st, err := in.Stat()
	if err != nil {
		return err
	}
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, st.Mode().Perm())
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Chmod(st.Mode().Perm()), out.Close())
}

// linkIn makes a symlink into the checkout. Git must not take it for work, and a rule like `node_modules/`
// does not match a link, so it is excluded by name.
func (t *Tree) linkIn(rel string) error {
	if err := t.parents(path.Dir(rel)); err != nil {
		return fmt.Errorf("link %q: %w", rel, err)
	}
	if err := os.Symlink(filepath.Join(t.repo.root, rel), filepath.Join(t.dir, rel)); err != nil {
		return err
	}
	t.shadow.state.Links = append(t.shadow.state.Links, rel)
	return t.shadow.save()
}

// Baseline remembers which ignored files there are, and what is untracked, after the setup commands ran. The first
// snapshot does the former when nobody did before. In the checkout it remembers what is not committed.
func (t *Tree) Baseline(ctx context.Context) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.checkout {
		return t.rememberCheckout(ctx)
	}
	if err := t.syncExcludes(nil); err != nil {
		return err
	}
	if err := t.ready(ctx); err != nil {
		return fmt.Errorf("list the ignored files: %w", err)
	}
	if err := t.rememberSetup(ctx); err != nil {
		return fmt.Errorf("look at what the setup left: %w", err)
	}
	return t.baseline(ctx)
}

func (t *Tree) baseline(ctx context.Context) error {
	list, err := t.keptIgnored(ctx, t.shadow.state.Scratch)
	if err != nil {
		return err
	}
	t.shadow.state.Ignored, t.shadow.state.Based = list, true
	return t.shadow.save()
}

// keptIgnored lists the ignored files outside scratch directories.
func (t *Tree) keptIgnored(ctx context.Context, scratch []string) ([]string, error) {
	var tops, held []string
	var errs [2]error
	var wg sync.WaitGroup
	wg.Go(func() {
		var out []byte
		if out, errs[0] = t.shadow.git.read(ctx, "ls-files", "-o", "-i", "--exclude-standard", "--directory", "-z"); errs[0] == nil {
			tops, errs[0] = fields(out)
		}
	})
	wg.Go(func() { held, errs[1] = t.ignoredSince(ctx) })
	wg.Wait()
	if err := cmp.Or(errs[:]...); err != nil {
		return nil, fmt.Errorf("list the ignored files: %w", err)
	}
	var list []string
	for _, p := range held {
		if !scratched(p, scratch) {
			list = append(list, p)
		}
	}
	for _, p := range tops {
		dir, isDir := strings.CutSuffix(p, "/")
		top, _, _ := strings.Cut(p, "/")
		switch {
		case top == recordsDir || top == worktreesDir || slices.Contains(t.shadow.state.Links, dir) || scratched(dir, scratch):
		case !isDir:
			list = append(list, p)
		default:
			err := filepath.WalkDir(filepath.Join(t.dir, dir), func(full string, d fs.DirEntry, err error) error {
				if err != nil {
					return err
				}
				rel, err := filepath.Rel(t.dir, full)
				if err != nil {
					return err
				}
				if d.IsDir() && (scratched(rel, scratch) || isCache(full)) {
					return fs.SkipDir
				}
				if !d.IsDir() {
					list = append(list, rel)
				}
				return nil
			})
			if err != nil {
				return nil, fmt.Errorf("list the ignored files: %w", err)
			}
		}
	}
	slices.Sort(list)
	return slices.Compact(list), nil
}

// ignoredSince lists the files that snapshots hold although they are ignored: those that are watched, and those
// that a later rule hides. What git has in its own index is not lost with the worktree.
func (t *Tree) ignoredSince(ctx context.Context) ([]string, error) {
	out, err := t.shadow.git.read(ctx, "ls-files", "-c", "-i", "--exclude-standard", "-z")
	if err != nil {
		return nil, err
	}
	held, err := fields(out)
	if err != nil || len(held) == 0 {
		return nil, err
	}
	if out, err = t.git.read(ctx, "ls-files", "-c", "-z"); err != nil {
		return nil, err
	}
	tracked, err := fields(out)
	if err != nil {
		return nil, err
	}
	slices.Sort(tracked)
	return slices.DeleteFunc(held, func(p string) bool {
		top, _, _ := strings.Cut(p, "/")
		_, known := slices.BinarySearch(tracked, p)
		kind, _ := kindAt(t.dir, p)
		return known || top == handoffDir || kind == "none"
	}), nil
}

// scratched reports whether a path is in a scratch directory: one given with a slash counts from the root,
// a mere name wherever it stands.
func scratched(p string, scratch []string) bool {
	for _, s := range scratch {
		s = strings.Trim(s, "/")
		switch {
		case s == "":
		case strings.ContainsAny(s, `*?[{`):
			if watches([]string{s, s + "/**"}, p) {
				return true
			}
		case strings.Contains(s, "/"):
			if p == s || strings.HasPrefix(p, s+"/") {
				return true
			}
		default:
			if slices.Contains(strings.Split(p, "/"), s) {
				return true
			}
		}
	}
	return false
}

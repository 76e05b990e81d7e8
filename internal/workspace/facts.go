package workspace

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// What a run will meet in a repository: what its worktree will lack, what its commits will go through, and how much room
// it takes. All of it is read from the index, the configuration and a few files; nothing of the repository is executed,
// and nothing is changed.

// Facts are what there is to know before a run.
type Facts struct {
	Files      int         // that are tracked
	Bytes      int64       // that they take in the checkout
	Submodules []Submodule // sorted by path
	Hooks      Hooks
	Signs      bool // commit.gpgSign is set
	Filters    []Filter
	FoldsCase  bool     // the file system takes names that differ by case alone for one
	SaysFolds  bool     // core.ignoreCase says so
	OneName    []string // tracked paths that are one file with another tracked path, where FoldsCase; sorted
	User       Identity
}

// Submodule is a repository inside the repository. A new worktree has none of its files.
type Submodule struct {
	Path string
	Here bool // the checkout has its files
}

// Hooks are the hooks of git commit. They run in git_commit.
type Hooks struct {
	Dir     string   // absolute
	Set     bool     // core.hooksPath names Dir
	Missing bool     // Dir is not there, or not in a run's worktree
	Ready   []string // in the order in which they run
	Stuck   []string // that git leaves out since they may not be executed
}

// Filter is a content filter that .gitattributes ask for.
type Filter struct {
	Name     string
	Where    string   // the first file and line that ask for it
	Set      bool     // the configuration says what it is
	Required bool     // git fails without it
	Commands []string // that it starts, as configured
}

// Identity is who commits, as configured; "" is not configured.
type Identity struct{ Name, Email string }

// Facts looks at the repository's checkout. It costs two calls of git and one lstat for each tracked file.
func (r *Repo) Facts(ctx context.Context) (Facts, error) {
	f, err := r.facts(ctx)
	if err != nil {
		return Facts{}, fmt.Errorf("look at the repository: %w", err)
	}
	return f, nil
}

func (r *Repo) facts(ctx context.Context) (Facts, error) {
	config, err := r.configuration(ctx)
	if err != nil {
		return Facts{}, err
	}
	f := Facts{
		Signs: truth(config["commit.gpgsign"]), SaysFolds: truth(config["core.ignorecase"]), FoldsCase: r.foldsCase(),
		User: Identity{config["user.name"], config["user.email"]},
	}
	out, err := r.git.read(ctx, "ls-files", "-s", "-v", "-z")
	if err != nil {
		return Facts{}, err
	}
	recs, err := fields(out)
	if err != nil {
		return Facts{}, err
	}
	tracked, attributes := make(map[string]bool, len(recs)), []string{}
	folded := map[string]string{}
	for _, rec := range recs {
		e, err := parseEntry(rec)
		if err != nil {
			return Facts{}, err
		}
		if tracked[e.path] {
			continue // another stage of a conflict
		}
		tracked[e.path] = true
		if f.FoldsCase {
			if other, ok := folded[strings.ToLower(e.path)]; ok {
				f.OneName = append(f.OneName, other, e.path)
			}
			folded[strings.ToLower(e.path)] = e.path
		}
		if e.mode == "160000" {
			_, err := os.Lstat(filepath.Join(r.root, e.path, ".git"))
			f.Submodules = append(f.Submodules, Submodule{e.path, err == nil})
			continue
		}
		f.Files++
		if st, err := os.Lstat(filepath.Join(r.root, e.path)); err == nil {
			f.Bytes += st.Size()
		}
		if e.path == ".gitattributes" || strings.HasSuffix(e.path, "/.gitattributes") {
			attributes = append(attributes, e.path)
		}
	}
	slices.Sort(f.OneName)
	f.OneName = slices.Compact(f.OneName)
	f.Filters = r.filters(attributes, config)
	f.Hooks, err = r.hooks(ctx, config, tracked)
	return f, err
}

// configuration is what git is configured with here, by key; of several values the last.
func (r *Repo) configuration(ctx context.Context) (map[string]string, error) {
	a, err := r.git.do(ctx, call{args: []string{"config", "--list", "-z"}, hooks: true})
	if err != nil {
		return nil, err
	}
	list, err := fields(a.out)
	if err != nil {
		return nil, err
	}
	config := make(map[string]string, len(list))
	for _, kv := range list {
		key, value, ok := strings.Cut(kv, "\n")
		if !ok {
			value = "true" // a key alone
		}
		config[key] = value
	}
	return config, nil
}

// truth reads a value of git's configuration as git does.
func truth(value string) bool {
	switch strings.ToLower(value) {
	case "", "0", "false", "no", "off":
		return false
	}
	return true
}

// foldsCase tries the name of a file that every repository has in other letters.
func (r *Repo) foldsCase() bool {
	one, err := os.Lstat(filepath.Join(r.common, "HEAD"))
	other, oerr := os.Lstat(filepath.Join(r.common, "head"))
	return err == nil && oerr == nil && os.SameFile(one, other)
}

// filters finds the content filters that the attributes ask for.
func (r *Repo) filters(attributes []string, config map[string]string) []Filter {
	var list []Filter
	look := func(path, shown string) {
		for i, line := range strings.Split(attributesText(path), "\n") {
			words := strings.Fields(line)
			if len(words) == 0 || strings.HasPrefix(words[0], "#") {
				continue
			}
			for _, word := range words[1:] {
				name, ok := strings.CutPrefix(word, "filter=")
				if !ok || name == "" || slices.ContainsFunc(list, func(f Filter) bool { return f.Name == name }) {
					continue
				}
				f := Filter{Name: name, Where: fmt.Sprintf("%s:%d", shown, i+1), Required: truth(config["filter."+name+".required"])}
				for _, key := range []string{"process", "clean", "smudge"} {
					if command := config["filter."+name+"."+key]; command != "" {
						f.Set, f.Commands = true, append(f.Commands, command)
					}
				}
				list = append(list, f)
			}
		}
	}
	for _, p := range attributes {
		look(filepath.Join(r.root, p), p)
	}
	look(filepath.Join(r.common, "info", "attributes"), "info/attributes")
	return list
}

// attributesText is the text of a file of attributes; "" when it is not there or no file of a usual size.
func attributesText(path string) string {
	const most = 1 << 20
	st, err := os.Lstat(path)
	if err != nil || !st.Mode().IsRegular() {
		return ""
	}
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	text, _ := io.ReadAll(io.LimitReader(f, most)) // what can be read of it
	return string(text)
}

// hooks looks at the directory of hooks that a commit in a run's worktree will find.
func (r *Repo) hooks(ctx context.Context, config map[string]string, tracked map[string]bool) (Hooks, error) {
	h := Hooks{Dir: filepath.Join(r.common, "hooks"), Set: config["core.hookspath"] != ""}
	if !h.Set {
		h.Ready, h.Stuck = hooksIn(h.Dir)
		return h, nil
	}
	a, err := r.git.do(ctx, call{args: []string{"rev-parse", "--git-path", "hooks"}, hooks: true})
	if err != nil {
		return Hooks{}, err
	}
	h.Dir = strings.TrimSuffix(string(a.out), "\n")
	if !filepath.IsAbs(h.Dir) { // then it is another directory in each worktree
		inside := filepath.ToSlash(filepath.Clean(h.Dir)) + "/"
		h.Dir, h.Missing = filepath.Join(r.root, h.Dir), true
		for p := range tracked {
			if strings.HasPrefix(p, inside) {
				h.Missing = false
				break
			}
		}
	}
	if _, err := os.Stat(h.Dir); err != nil {
		h.Missing = true
	}
	h.Ready, h.Stuck = hooksIn(h.Dir)
	return h, nil
}

// hooksIn returns the hooks of git commit in a directory: those that git runs, and those that it leaves out since they
// may not be executed.
func hooksIn(dir string) (ready, stuck []string) {
	for _, h := range commitHooks {
		st, err := os.Stat(filepath.Join(dir, h))
		switch {
		case err != nil || !st.Mode().IsRegular():
		case st.Mode()&0o111 == 0 && os.PathSeparator == '/':
			stuck = append(stuck, h)
		default:
			ready = append(ready, h)
		}
	}
	return ready, stuck
}

// Lock is a lock file of git: a git that was killed leaves it, and the next one then refuses.
type Lock struct {
	Path string // absolute
	Age  string // as 3m0s
}

// Locks lists the lock files that lie in the repository now. A git that is at work has some.
func (r *Repo) Locks() ([]Lock, error) {
	var list []Lock
	add := func(path string) {
		if old := age(path); old != "" && !slices.ContainsFunc(list, func(l Lock) bool { return l.Path == path }) {
			list = append(list, Lock{path, old})
		}
	}
	dirs := []string{r.common, r.gitDir}
	for _, below := range []string{"info", "objects", "objects/info"} {
		dirs = append(dirs, filepath.Join(r.common, filepath.FromSlash(below)))
	}
	trees := filepath.Join(r.common, "worktrees")
	entries, _ := os.ReadDir(trees) // most repositories have none
	for _, e := range entries {
		dirs = append(dirs, filepath.Join(trees, e.Name()))
	}
	for _, dir := range dirs {
		entries, err := os.ReadDir(dir)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, fmt.Errorf("look for locks of git: %w", err)
		}
		for _, e := range entries {
			if strings.HasSuffix(e.Name(), ".lock") && !e.IsDir() {
				add(filepath.Join(dir, e.Name()))
			}
		}
	}
	err := filepath.WalkDir(filepath.Join(r.common, "refs"), func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() && strings.HasSuffix(path, ".lock") {
			add(path)
		}
		if errors.Is(err, os.ErrNotExist) {
			return nil // it went away meanwhile
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("look for locks of git: %w", err)
	}
	return list, nil
}

package workspace

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"foundry/internal/filestat"
	"foundry/internal/process"
)

// Snapshots are not made with the repository's own git directory but with a second one, the shadow. It has
// the same objects, but an index, a configuration, attributes and excludes of its own. So no setting of the
// user's and nothing that an agent can change (config, info/attributes, info/exclude, staged files, flags on
// index entries) decides what a snapshot sees; and files are kept as the bytes they are, with no filter and
// no line-ending conversion.

// shadow is the private git directory of one run.
type shadow struct {
	dir   string
	git   git
	store *store
	index identity // of the index file as we left it
	bulk  int64    // second in which most entries were last written; 0 when none of them can be racy
	state shadowState
}

// shadowState is what a later process must know of the shadow.
type shadowState struct {
	Ready   bool     `json:"ready"`             // the index was filled
	Watch   []string `json:"watch,omitempty"`   // globs of ignored files that snapshots hold
	Scratch []string `json:"scratch,omitempty"` // see WorktreeSpec
	Ignored []string `json:"ignored,omitempty"` // ignored files there were after setup
	Based   bool     `json:"based"`             // Ignored was recorded
	Setup   string   `json:"setup,omitempty"`   // the snapshot after setup, when that left untracked files
	Sparse  []string `json:"sparse,omitempty"`  // tracked paths that the checkout leaves out
	Links   []string `json:"links,omitempty"`   // symlinks that Prepare made
	Modules []string `json:"modules,omitempty"` // paths where the real index has a commit of another repository
	Staged  []string `json:"staged,omitempty"`  // what was staged in the checkout when the run began; see stagedPath.line
	Admin   string   `json:"admin,omitempty"`   // git directory of the worktree
	Branch  string   `json:"branch,omitempty"`  // full name; empty when detached
}

// each returns a state in which f has been applied to every text that may hold any bytes.
func (s shadowState) each(f func(string) string) shadowState {
	for _, list := range []*[]string{&s.Watch, &s.Scratch, &s.Ignored, &s.Sparse, &s.Links, &s.Modules, &s.Staged} {
		*list = eachOf(*list, f)
	}
	s.Admin, s.Branch = f(s.Admin), f(s.Branch)
	return s
}

// identity tells whether a file was replaced or written. ctime cannot be set by a program.
type identity struct {
	size         int64
	mtime, ctime int64 // nanoseconds
	inode        uint64
	mode         fs.FileMode
}

// identify returns what tells whether a file was written or replaced.
func identify(path string) (identity, error) {
	st, err := os.Lstat(path)
	if err != nil {
		return identity{}, err
	}
	return identityOf(st), nil
}

func identityOf(st fs.FileInfo) identity {
	return identity{size: st.Size(), mtime: st.ModTime().UnixNano(), ctime: filestat.Changed(st), inode: filestat.Inode(st), mode: st.Mode()}
}

const stateFile = "foundry.json"

// attributes takes every conversion, filter and diff driver off every file.
const attributes = "* -text !eol -ident !filter !working-tree-encoding !diff !merge !crlf !whitespace\n"

// openShadow makes the private git directory at dir, or takes it over from an earlier process.
func openShadow(r *Repo, dir, workTree string) (*shadow, error) {
	s := &shadow{dir: dir, store: r.store()}
	config := "[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tfileMode = true\n\tsymlinks = true\n\ttrustctime = true\n\tcheckStat = default\n" +
		"\tautocrlf = false\n\tlogAllRefUpdates = false\n\texcludesFile = /dev/null\n\tattributesFile = /dev/null\n\tignoreCase = false\n" +
		"\tprecomposeUnicode = false\n\tprotectNTFS = false\n\tprotectHFS = false\n\tsparseCheckout = false\n\tlooseCompression = 1\n" +
		"[index]\n\tversion = 4\n\tskipHash = true\n"
	if r.format == "sha256" {
		config = strings.Replace(config, "version = 0", "version = 1", 1) + "[extensions]\n\tobjectFormat = sha256\n"
	}
	for _, d := range []string{"refs", "info", "objects"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o700); err != nil {
			return nil, fmt.Errorf("make the snapshot area: %w", err)
		}
	}
	for name, text := range map[string]string{"HEAD": "ref: refs/heads/none\n", "config": config, "info/attributes": attributes} {
		path := filepath.Join(dir, name)
		if old, err := os.ReadFile(path); err == nil && string(old) == text {
			continue
		}
		if err := replaceFile(path, []byte(text), 0o600); err != nil {
			return nil, fmt.Errorf("make the snapshot area: %w", err)
		}
	}
	b, err := os.ReadFile(filepath.Join(dir, stateFile))
	switch {
	case err == nil:
		if err := json.Unmarshal(b, &s.state); err != nil {
			s.state = shadowState{} // torn by a crash of the machine: it is made anew
		}
		s.state = s.state.each(unescape)
	case !errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("read the snapshot area: %w", err)
	}
	s.git = git{
		env: process.Environ(r.git.env, []string{
			"GIT_OBJECT_DIRECTORY=" + s.store.dir, "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_SYSTEM=" + os.DevNull,
			"GIT_CONFIG_GLOBAL=" + os.DevNull, "HOME=" + dir, "XDG_CONFIG_HOME=" + dir, "GIT_ATTR_NOSYSTEM=1",
			"GIT_AUTHOR_NAME=Foundry", "GIT_AUTHOR_EMAIL=foundry@localhost", "GIT_COMMITTER_NAME=Foundry", "GIT_COMMITTER_EMAIL=foundry@localhost",
		}),
		dir: workTree, gitDir: dir, workTree: workTree, lockWait: r.git.lockWait,
	}
	return s, nil
}

func (s *shadow) save() error {
	b, err := json.Marshal(s.state.each(escape))
	if err != nil {
		panic("BUG: workspace: " + err.Error())
	}
	if err := replaceFile(filepath.Join(s.dir, stateFile), b, 0o600); err != nil {
		return fmt.Errorf("write the snapshot area: %w", err)
	}
	return nil
}

func (s *shadow) indexPath() string { return filepath.Join(s.dir, "index") }

// touched records that the index is as we want it.
func (s *shadow) touched() { s.index, _ = identify(s.indexPath()) }

// trusted reports whether the index is the one that was left there. An index that somebody else wrote could
// claim that changed files are unchanged.
func (s *shadow) trusted() bool {
	now, err := identify(s.indexPath())
	return err == nil && s.index != (identity{}) && now == s.index
}

// fill makes the private index from the real one of the worktree: its entries and what it knows of the files,
// without the flags that hide changes, and without nested repositories, whose files are seen one by one. It returns the
// paths of the entries.
func (s *shadow) fill(ctx context.Context, real git, adminDir string) (paths []string, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("prepare snapshots: %w", err)
		}
	}()
	if err := s.fromReal(ctx, real, adminDir); err != nil {
		return nil, err
	}
	out, err := s.git.read(ctx, "ls-files", "-s", "-v", "-z")
	if err != nil {
		return nil, err
	}
	recs, err := fields(out)
	if err != nil {
		return nil, err
	}
	paths = make([]string, 0, len(recs))
	var assumed, skipped, dropped []string
	var plain []entry
	for _, rec := range recs {
		e, err := parseEntry(rec)
		if err != nil {
			return nil, err
		}
		if 'a' <= e.tag && e.tag <= 'z' {
			assumed = append(assumed, e.path)
		}
		if e.mode == "160000" || e.stage != "0" {
			dropped = append(dropped, e.path)
			if e.mode == "160000" {
				s.state.Modules = append(s.state.Modules, e.path)
			}
			continue
		}
		paths = append(paths, e.path)
		if e.tag == 'S' || e.tag == 's' {
			if _, err := os.Lstat(filepath.Join(s.git.workTree, e.path)); errors.Is(err, fs.ErrNotExist) {
				s.state.Sparse = append(s.state.Sparse, e.path)
				continue
			}
			skipped = append(skipped, e.path)
		}
		plain = append(plain, e)
	}
	for _, u := range []struct {
		flag  string
		paths []string
	}{{"--no-assume-unchanged", assumed}, {"--no-skip-worktree", skipped}, {"--force-remove", dropped}} {
		if len(u.paths) == 0 {
			continue
		}
		if err := s.update(ctx, u.paths, u.flag); err != nil {
			return nil, err
		}
	}
	if err := s.literal(ctx, real, plain); err != nil {
		return nil, err
	}
	s.state.Ready = true
	s.bulk = 1
	s.touched()
	return paths, s.save()
}

// update calls update-index for paths.
func (s *shadow) update(ctx context.Context, paths []string, flags ...string) error {
	args := append([]string{"update-index"}, flags...)
	_, err := s.git.do(ctx, call{args: append(args, "-z", "--stdin"), stdin: nul(paths), writes: true, timeout: longTime})
	s.touched()
	return err
}

// fromReal copies the index file, or reads HEAD when the file cannot stand alone.
func (s *shadow) fromReal(ctx context.Context, real git, adminDir string) error {
	os.Remove(s.indexPath())
	from := filepath.Join(adminDir, "index")
	shared, _ := filepath.Glob(filepath.Join(adminDir, "sharedindex.*"))
	if st, err := os.Stat(from); err == nil && len(shared) == 0 {
		data, err := os.ReadFile(from)
		if err != nil {
			return err
		}
		if err := replaceFile(s.indexPath(), data, 0o600); err != nil {
			return err
		}
		// Entries as young as the index are compared by content. A copy must not look younger than they are.
		return os.Chtimes(s.indexPath(), time.Time{}, st.ModTime())
	}
	head, _, err := real.head(ctx)
	if errors.Is(err, ErrNoCommits) {
		return s.git.write(ctx, "read-tree", "--empty")
	}
	if err != nil {
		return err
	}
	return s.git.write(ctx, "read-tree", head+"^{tree}")
}

// entry is one line of `ls-files -s -v`.
type entry struct {
	tag                     byte
	mode, blob, stage, path string
}

func parseEntry(rec string) (entry, error) {
	info, path, ok := strings.Cut(rec, "\t")
	f := strings.Fields(info)
	if !ok || len(f) != 4 || len(f[0]) != 1 {
		return entry{}, fmt.Errorf("git listed %q", rec)
	}
	return entry{tag: f[0][0], mode: f[1], blob: f[2], stage: f[3], path: path}, nil
}

// literal finds the files whose bytes are not what the index has for them, because git converted them on the
// way to the disk, and makes the index forget what it knows of them. The next snapshot then keeps the bytes.
func (s *shadow) literal(ctx context.Context, real git, entries []entry) error {
	if len(entries) == 0 || !s.converts(ctx, real, entries) {
		return nil
	}
	var ids strings.Builder
	for _, e := range entries {
		ids.WriteString(e.blob + "\n")
	}
	a, err := s.git.do(ctx, call{args: []string{"cat-file", "--batch-check=%(objectsize)"}, stdin: []byte(ids.String())})
	if err != nil {
		return err
	}
	sizes := strings.Split(strings.TrimSuffix(string(a.out), "\n"), "\n")
	if len(sizes) != len(entries) {
		return errors.New("git listed fewer objects than it was asked for")
	}
	filtered, err := s.filtered(ctx, real, entries)
	if err != nil {
		return err
	}
	var forget strings.Builder
	for i, e := range entries {
		st, err := os.Lstat(filepath.Join(s.git.workTree, e.path))
		if err != nil || !st.Mode().IsRegular() {
			continue
		}
		if filtered[e.path] || fmt.Sprint(st.Size()) != sizes[i] {
			forget.WriteString(e.mode + " " + e.blob + "\t" + e.path + "\x00")
		}
	}
	if forget.Len() == 0 {
		return nil
	}
	_, err = s.git.do(ctx, call{args: []string{"update-index", "-z", "--index-info"}, stdin: []byte(forget.String()), writes: true})
	return err
}

// converts reports whether git may convert any file of this worktree.
func (s *shadow) converts(ctx context.Context, real git, entries []entry) bool {
	for _, e := range entries {
		if e.path == ".gitattributes" || strings.HasSuffix(e.path, "/.gitattributes") {
			return true
		}
	}
	a, err := real.do(ctx, call{args: []string{"config", "--get-regexp", `^core\.(autocrlf|attributesfile)$`}, ok: 1})
	if err != nil || a.exit == 0 {
		return true
	}
	home, _ := process.Lookup(real.env, "HOME")
	xdg, ok := process.Lookup(real.env, "XDG_CONFIG_HOME")
	if !ok || xdg == "" {
		xdg = filepath.Join(home, ".config")
	}
	common := filepath.Dir(s.store.dir)
	for _, p := range []string{filepath.Join(common, "info/attributes"), filepath.Join(xdg, "git/attributes"), "/etc/gitattributes"} {
		if _, err := os.Stat(p); err == nil {
			return true
		}
	}
	return false
}

// filtered returns the paths for which a conversion may keep the size.
func (s *shadow) filtered(ctx context.Context, real git, entries []entry) (map[string]bool, error) {
	paths := make([]string, len(entries))
	for i, e := range entries {
		paths[i] = e.path
	}
	a, err := real.do(ctx, call{args: []string{"check-attr", "-z", "--stdin", "filter", "ident", "working-tree-encoding"}, stdin: nul(paths)})
	if err != nil {
		return nil, err
	}
	f, err := fields(a.out)
	if err != nil {
		return nil, err
	}
	found := map[string]bool{}
	for i := 0; i+2 < len(f); i += 3 {
		if v := f[i+2]; v != "unspecified" && v != "unset" {
			found[f[i]] = true
		}
	}
	return found, nil
}

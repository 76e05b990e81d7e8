package workspace

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"foundry/internal/process"
)

// This file asks git which paths its ignore rules name, in one process that answers for as long as it is needed:
// nested .gitignore files, info/exclude and core.excludesFile all count, exactly as git reads them.

// Ignores answers which paths are ignored. It is safe for use by several goroutines.
type Ignores struct {
	repo    *Repo
	mu      sync.Mutex
	proc    *exec.Cmd
	in      *bufio.Writer
	out     *bufio.Reader
	stop    context.CancelFunc
	tracked map[string]bool // tracked files that the rules name, and the directories above them: git watches over these
}

// Ignores opens the answers for the repository's checkout. The caller closes them.
func (r *Repo) Ignores(ctx context.Context) (*Ignores, error) {
	i := &Ignores{repo: r, tracked: map[string]bool{}}
	out, err := r.git.read(ctx, "ls-files", "-z", "--cached", "--ignored", "--exclude-standard")
	if err != nil {
		return nil, fmt.Errorf("list the tracked files that are ignored: %w", err)
	}
	tracked, err := fields(out)
	if err != nil {
		return nil, err
	}
	for _, p := range tracked {
		for ; p != "."; p = path.Dir(p) {
			i.tracked[p] = true
		}
	}
	return i, nil
}

// Ignored answers for paths relative to the repository's top, in order. What stands at a path decides whether a
// rule for directories applies to it.
func (i *Ignores) Ignored(paths []string) ([]bool, error) {
	if len(paths) == 0 {
		return nil, nil
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	out, err := i.ask(paths)
	for strikes := 0; err != nil; {
		// git gives up at a path that lies beyond a link, such as one that took a directory's place just now. Such
		// a path is not ignored; the others are asked for without it.
		i.end()
		if strikes++; strikes == 3 {
			return nil, err
		}
		var rest []bool
		rest, err = i.ask(paths[len(out)+1:])
		out = append(append(out, false), rest...)
		if len(rest) > 0 {
			strikes = 0
		}
	}
	return out, err
}

// ask returns the answers up to the first that git does not give.
func (i *Ignores) ask(paths []string) ([]bool, error) {
	if i.proc == nil {
		if err := i.start(); err != nil {
			return nil, err
		}
	}
	asked := make(chan struct{})
	go func(in *bufio.Writer) { // git answers while it is asked
		defer close(asked)
		for _, p := range paths {
			in.WriteString(p)
			in.WriteByte(0)
		}
		in.Flush()
	}(i.in)
	var out []bool
	for _, p := range paths {
		var fields [4]string // source, line, pattern, path
		for f := range fields {
			text, err := i.out.ReadString(0)
			if err != nil {
				return out, fmt.Errorf("git check-ignore: %w", err)
			}
			fields[f] = strings.TrimSuffix(text, "\x00")
		}
		if fields[3] != p {
			return nil, fmt.Errorf("git check-ignore answered for %q and was asked for %q", fields[3], p)
		}
		out = append(out, fields[2] != "" && !strings.HasPrefix(fields[2], "!") && !i.tracked[p])
	}
	<-asked // the writer is free for the next question only when this one's has returned
	return out, nil
}

func (i *Ignores) start() error {
	ctx, stop := context.WithCancel(context.Background())
	g := i.repo.git
	args := append(slices.Clone(settings), "--git-dir="+g.gitDir, "--work-tree="+g.workTree,
		"check-ignore", "--no-index", "--stdin", "-z", "--verbose", "--non-matching")
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir, cmd.Env, cmd.WaitDelay = g.dir, process.Environ(g.env, []string{"GIT_LITERAL_PATHSPECS=0"}), time.Second
	var out io.Reader
	in, err := cmd.StdinPipe()
	if err == nil {
		out, err = cmd.StdoutPipe()
	}
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		stop()
		return fmt.Errorf("start git check-ignore: %w", err)
	}
	i.proc, i.in, i.out, i.stop = cmd, bufio.NewWriter(in), bufio.NewReader(out), stop
	return nil
}

func (i *Ignores) end() {
	if i.proc != nil {
		i.stop()
		i.proc.Wait()
		i.proc = nil
	}
}

// Busy names what goes on in the repository that leaves its tree half changed, such as a merge; "" when nothing does.
func (r *Repo) Busy() string {
	for _, m := range []struct{ file, what string }{
		{"index.lock", "git is at work (index.lock)"}, {"MERGE_HEAD", "a merge is going on"}, {"rebase-merge", "a rebase is going on"},
		{"rebase-apply", "a rebase is going on"}, {"CHERRY_PICK_HEAD", "a cherry-pick is going on"}, {"REVERT_HEAD", "a revert is going on"},
	} {
		if _, err := os.Lstat(filepath.Join(r.gitDir, m.file)); err == nil {
			return m.what
		}
	}
	return ""
}

// Governs says whether a path is a file of ignore rules.
func (i *Ignores) Governs(p string) bool { return path.Base(p) == ".gitignore" }

// Reload makes the next answer read the rules anew.
func (i *Ignores) Reload() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.end()
}

// Close ends the process.
func (i *Ignores) Close() { i.Reload() }

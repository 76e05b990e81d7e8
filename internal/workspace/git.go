package workspace

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"foundry/internal/lazyregexp"
	"foundry/internal/process"
)

// Every call of git goes through this file. A call is pinned to its repository, answers on stdout alone and
// whole, asks nobody anything, runs no hook, editor, pager, signing program or background task of the user's,
// and ends in bounded time. A call that fails, is killed or stops half-way is an error, never an empty answer.

// Time limits of a call.
const (
	callTime  = 2 * time.Minute
	longTime  = 30 * time.Minute // what writes a whole checkout
	hookTime  = 5 * time.Minute  // a commit with the user's hooks
	lockTime  = 10 * time.Second // waiting for a lock of git
	queueTime = time.Hour        // waiting for other runs that make, land or remove worktrees
	gitGrace  = 3 * time.Second  // git removes its locks on TERM
	undoTime  = 2 * time.Minute  // what must be finished although the context has ended
	maxOutput = 1 << 40
)

// git is how to call git for one place.
type git struct {
	env      []string // the whole environment
	dir      string   // where the call runs
	gitDir   string   // explicit git directory; empty lets git find it
	workTree string   // explicit work tree
	lockWait time.Duration
}

// call is one invocation.
type call struct {
	args    []string
	stdin   []byte
	env     []string // over the git's
	timeout time.Duration
	ok      int  // an exit code besides 0 that is an answer too
	writes  bool // takes locks; retried while another process has one
	hooks   bool // the user's hooks run
	magic   bool // pathspecs are not literal
}

// answer is what a call returned.
type answer struct {
	out    []byte
	stderr string
	exit   int
}

// GitError is a call of git that failed.
type GitError struct {
	Args   []string
	Exit   int
	Reason process.Reason
	Stderr string
}

// Error says which command failed, and git's own words.
func (e *GitError) Error() string {
	name := "git"
	for i, a := range e.Args {
		if !strings.HasPrefix(a, "-") && (i == 0 || e.Args[i-1] != "-c") {
			name = "git " + a
			break
		}
	}
	said := strings.TrimSpace(e.Stderr)
	switch e.Reason {
	case process.TimedOut:
		return join(name+" did not end in time and was stopped", said)
	case process.Cancelled:
		return join(name+" was stopped", said)
	case process.Signalled:
		return join(name+" was killed", said)
	}
	return join(name+" failed with exit code "+strconv.Itoa(e.Exit), said)
}

func join(what, said string) string {
	if said == "" {
		return what
	}
	return what + ": " + said
}

// settings are put on every call: nothing of the user's runs, nothing is cached behind our back.
var settings = []string{
	"-c", "core.hooksPath=" + os.DevNull, "-c", "core.fsmonitor=false", "-c", "core.untrackedCache=false",
	"-c", "gc.auto=0", "-c", "maintenance.auto=false", "-c", "core.editor=:", "-c", "core.pager=cat",
	"-c", "commit.gpgSign=false", "-c", "tag.gpgSign=false", "-c", "submodule.recurse=false", "-c", "core.quotePath=true",
	"-c", "core.safecrlf=false", "-c", "advice.detachedHead=false", "-c", "core.askPass=", "-c", "core.trustctime=true",
}

// hookSettings are the settings of a call in which the user's hooks run, and his signing key counts.
var hookSettings = []string{"-c", "core.fsmonitor=false", "-c", "gc.auto=0", "-c", "maintenance.auto=false", "-c", "core.editor=:", "-c", "core.pager=cat"}

// gitEnv makes the environment of Foundry's own calls. Of git's variables only those stay that say which
// configuration a person has and who he is.
func gitEnv(base []string) []string {
	var keep []string
	for _, kv := range process.Environ(base) {
		name, _, _ := strings.Cut(kv, "=")
		if strings.HasPrefix(name, "GIT_") {
			switch name {
			case "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM", "GIT_EXEC_PATH", "GIT_TEMPLATE_DIR", "GIT_SSL_CAINFO",
				"GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL", "GIT_SSH", "GIT_SSH_COMMAND":
			default:
				continue
			}
		}
		keep = append(keep, kv)
	}
	return process.Environ(keep, []string{
		"LC_ALL=C", "LANGUAGE=", "GIT_TERMINAL_PROMPT=0", "GIT_OPTIONAL_LOCKS=0", "GIT_PAGER=cat", "GIT_EDITOR=:", "GIT_ASKPASS=", "SSH_ASKPASS=",
		"GIT_NO_REPLACE_OBJECTS=1", "GIT_LITERAL_PATHSPECS=1", "GIT_MERGE_AUTOEDIT=no",
	})
}

// do calls git. It waits for a lock that another process has, and fails with a *LockError when that lasts.
func (g git) do(ctx context.Context, c call) (answer, error) {
	deadline := time.Now().Add(g.lockWait)
	for wait := 20 * time.Millisecond; ; wait = min(2*wait, time.Second) {
		a, err := g.once(ctx, c)
		lock := lockIn(err)
		if lock == "" {
			return a, err
		}
		if !c.writes || time.Now().Add(wait).After(deadline) {
			return a, &LockError{Path: g.placed(lock), Age: age(g.placed(lock))}
		}
		t := time.NewTimer(wait)
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
			return a, err
		}
	}
}

func (g git) once(ctx context.Context, c call) (answer, error) {
	argv := make([]string, 0, len(settings)+len(c.args)+4)
	argv = append(argv, "git")
	if c.hooks {
		argv = append(argv, hookSettings...)
	} else {
		argv = append(argv, settings...)
	}
	if g.gitDir != "" {
		argv = append(argv, "--git-dir="+g.gitDir)
	}
	if g.workTree != "" {
		argv = append(argv, "--work-tree="+g.workTree)
	}
	argv = append(argv, c.args...)
	env := g.env
	if c.magic {
		env = process.Environ(env, []string{"GIT_LITERAL_PATHSPECS=0"})
	}
	if len(c.env) > 0 {
		env = process.Environ(env, c.env)
	}
	limit := c.timeout
	if limit == 0 {
		limit = callTime
	}
	r := process.Run(ctx, process.Spec{
		Argv: argv, Dir: g.dir, Env: env, Stdin: c.stdin, Timeout: limit, Grace: gitGrace, Capture: maxOutput, Trusted: !c.hooks,
	})
	a := answer{out: r.Stdout, stderr: r.Stderr, exit: r.Exit}
	switch {
	case r.Reason == process.NotStarted:
		var se *process.StartError
		if errors.As(r.Err, &se) && se.Failure == process.CommandNotFound {
			return a, ErrGitMissing
		}
		return a, r.Err
	case r.LogErr != nil:
		return a, fmt.Errorf("git %s: %w", c.args[0], r.LogErr)
	case r.Reason == process.Exited && (r.Exit == 0 || r.Exit == c.ok):
		return a, nil
	}
	if strings.Contains(r.Stderr, "detected dubious ownership") || strings.Contains(r.Stderr, "unsafe repository") {
		return a, fmt.Errorf("%w; if you trust it, add it to safe.directory as git says: %s", ErrUnsafeOwner, strings.TrimSpace(r.Stderr))
	}
	if r.Reason == process.Cancelled && ctx.Err() != nil {
		return a, fmt.Errorf("%w: %w", ctx.Err(), &GitError{Args: c.args, Exit: r.Exit, Reason: r.Reason, Stderr: r.Stderr})
	}
	return a, &GitError{Args: c.args, Exit: r.Exit, Reason: r.Reason, Stderr: r.Stderr}
}

// read calls git for something that takes no locks, and returns its output.
func (g git) read(ctx context.Context, args ...string) ([]byte, error) {
	a, err := g.do(ctx, call{args: args})
	return a.out, err
}

// line calls git for one line.
func (g git) line(ctx context.Context, args ...string) (string, error) {
	out, err := g.read(ctx, args...)
	return strings.TrimSuffix(string(out), "\n"), err
}

// write calls git for something that takes locks.
func (g git) write(ctx context.Context, args ...string) error {
	_, err := g.do(ctx, call{args: args, writes: true})
	return err
}

// fields splits output of -z. Output that does not end in NUL was cut off.
func fields(out []byte) ([]string, error) {
	if len(out) == 0 {
		return nil, nil
	}
	if out[len(out)-1] != 0 {
		return nil, errors.New("git's answer ends in the middle of a record")
	}
	return strings.Split(string(out[:len(out)-1]), "\x00"), nil
}

// nul makes input for --stdin -z.
func nul(paths []string) []byte {
	if len(paths) == 0 {
		return []byte{}
	}
	return []byte(strings.Join(paths, "\x00") + "\x00")
}

var lockWords = lazyregexp.New(`Unable to create '([^']+\.lock)': File exists|cannot lock ref .*: Unable to create '([^']+\.lock)': File exists|could not lock config file ([^:\n]+): File exists`)

// lockIn returns the lock file that a call failed for, or "".
func lockIn(err error) string {
	var ge *GitError
	if !errors.As(err, &ge) {
		return ""
	}
	m := lockWords().FindStringSubmatch(ge.Stderr)
	for i := 1; i < len(m); i++ {
		if m[i] != "" {
			if strings.HasSuffix(m[i], ".lock") {
				return m[i]
			}
			return m[i] + ".lock"
		}
	}
	return ""
}

// placed is where a lock file that git named is.
func (g git) placed(lock string) string {
	if filepath.IsAbs(lock) {
		return lock
	}
	return filepath.Join(g.dir, lock)
}

func age(path string) string {
	st, err := os.Lstat(path)
	if err != nil {
		return ""
	}
	return time.Since(st.ModTime()).Round(time.Second).String()
}

// version is a version of git, as major, minor, patch.
type version [3]int

// oldest is the oldest git that Foundry works with.
var oldest = version{2, 25, 0}

var versionWords = lazyregexp.New(`(\d+)\.(\d+)(?:\.(\d+))?`)

// parseVersion reads what `git version` prints, vendors' additions included.
func parseVersion(s string) (version, error) {
	rest, ok := strings.CutPrefix(strings.TrimSpace(s), "git version ")
	m := versionWords().FindStringSubmatch(rest)
	if !ok || m == nil {
		return version{}, fmt.Errorf("git's version cannot be read: %q", s)
	}
	var v version
	for i := range v {
		v[i], _ = strconv.Atoi(m[i+1]) // an absent patch level is 0
	}
	return v, nil
}

func (v version) less(w version) bool {
	for i := range v {
		if v[i] != w[i] {
			return v[i] < w[i]
		}
	}
	return false
}

func (v version) String() string { return fmt.Sprintf("%d.%d.%d", v[0], v[1], v[2]) }

// workers is how many processes may write a checkout.
func workers() string { return "checkout.workers=" + strconv.Itoa(max(1, runtime.NumCPU())) }

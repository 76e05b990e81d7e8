package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// Many runs go on in one repository at the same time. All of them end right, and nobody is shown a lock of git's: what
// would collide is done one after another, or again. FOUNDRY_MANY says how many runs; 50 is the long form.

const manyFile = `version: 1
pipelines:
  lands:
    merge: auto
    phases:
      - {id: work, run: 'echo "$FOUNDRY_RUN_ID" >"$FOUNDRY_RUN_ID.txt"', writes: ["*.txt"]}
      - {id: commit, builtin: git_commit, message: "{{run_id}}"}
      - {id: check, run: 'test -e "$FOUNDRY_RUN_ID.txt"'}
  waits:
    merge: ask
    phases:
      - {id: work, run: 'echo "$FOUNDRY_RUN_ID" >"$FOUNDRY_RUN_ID.txt"', writes: ["*.txt"]}
  looks:
    isolation: detached
    phases:
      - {id: look, run: test -e foundry.yaml}
  refuses:
    phases:
      - {id: half, run: 'echo half >half.txt; exit 1', writes: ["*.txt"]}
`

func TestManyRunsAtOnce(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("many processes")
	}
	n := 12
	if s := os.Getenv("FOUNDRY_MANY"); s != "" {
		var err error
		if n, err = strconv.Atoi(s); err != nil {
			t.Fatal(err)
		}
	}
	m := newMany(t)
	ways := []string{"lands", "waits", "looks", "lands", "refuses"}
	var wg sync.WaitGroup
	var mu sync.Mutex
	landed, kept := 0, 0
	for i := range n {
		wg.Go(func() {
			way := ways[i%len(ways)]
			out, code := m.foundry("up", "--no-input", way)
			if strings.Contains(out, ".lock") || strings.Contains(out, "locked") || strings.Contains(out, "fatal:") {
				t.Errorf("%s shows a lock:\n%s", way, out)
			}
			want := 0
			if way == "refuses" {
				want = 1
			}
			if code != want {
				t.Errorf("%s ended with %d:\n%s", way, code, out)
			}
			if way != "lands" {
				return
			}
			mu.Lock()
			defer mu.Unlock()
			switch {
			case strings.Contains(out, "into main"):
				landed++
			case strings.Contains(out, `"main" moved by`):
				kept++
			default:
				t.Errorf("neither merged nor kept since main moved:\n%s", out)
			}
		})
	}
	wg.Wait()
	if landed == 0 {
		t.Errorf("of %d runs that merge none did; %d were kept", landed+kept, kept)
	}
	m.check(landed)
}

// many is a repository in which runs go on, with the program that is tested.
type many struct {
	t    *testing.T
	repo string
	env  []string
}

func newMany(t *testing.T) *many {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	m := &many{t: t, repo: filepath.Join(dir, "repo")}
	config := filepath.Join(dir, "gitconfig")
	for path, text := range map[string]string{
		config:                                "[user]\n\tname = T\n\temail = t@example.invalid\n[init]\n\tdefaultBranch = main\n",
		filepath.Join(m.repo, "foundry.yaml"): manyFile,
	} {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, kv := range os.Environ() {
		if name, _, _ := strings.Cut(kv, "="); !strings.HasPrefix(name, "GIT_") && !strings.HasPrefix(name, "FOUNDRY_") {
			m.env = append(m.env, kv)
		}
	}
	m.env = append(m.env, "HOME="+dir, "XDG_CONFIG_HOME="+dir, "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+config)
	m.git("init", "-q", ".")
	m.git("add", "-A")
	m.git("commit", "-qm", "base")
	return m
}

// foundry runs the program, which testscript has put into PATH.
func (m *many) foundry(args ...string) (out string, code int) {
	c := exec.Command("foundry", args...)
	c.Dir, c.Env = m.repo, m.env
	text, err := c.CombinedOutput()
	if err != nil && c.ProcessState == nil {
		m.t.Error(err)
	}
	return string(text), c.ProcessState.ExitCode()
}

func (m *many) git(args ...string) string {
	m.t.Helper()
	c := exec.Command("git", args...)
	c.Dir, c.Env = m.repo, m.env
	out, err := c.CombinedOutput()
	if err != nil {
		m.t.Fatalf("git %s: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// check looks at the repository when all runs have ended.
func (m *many) check(landed int) {
	m.t.Helper()
	if out := m.git("status", "--porcelain"); out != "" {
		m.t.Errorf("the checkout: %s", out)
	}
	if out := m.git("rev-list", "--count", "main"); out != fmt.Sprint(1+landed) {
		m.t.Errorf("%s commits on main after %d merges", out, landed)
	}
	if out := m.git("fsck", "--no-dangling"); out != "" {
		m.t.Errorf("fsck: %s", out)
	}
	locks := 0
	err := filepath.WalkDir(filepath.Join(m.repo, ".git"), func(path string, _ os.DirEntry, err error) error {
		if strings.HasSuffix(path, ".lock") {
			locks++
			m.t.Errorf("a lock is left: %s", path)
		}
		return err
	})
	if err != nil {
		m.t.Error(err)
	}
	if out, code := m.foundry("sweep"); code != 0 || strings.Contains(out, "closed") {
		m.t.Errorf("a run did not end by itself: exit %d\n%s", code, out)
	}
}

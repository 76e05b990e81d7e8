package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"gopkg.in/yaml.v3"
)

// The hooks that other repositories put before their commits: those of .pre-commit-hooks.yaml, and the script of
// docs/pre-commit.md. Each of them is installed in a real clone, in which real commits are tried.

// hook is an entry of .pre-commit-hooks.yaml, with the keys that this repository uses.
type hook struct {
	ID       string   `yaml:"id"`
	Name     string   `yaml:"name"`
	About    string   `yaml:"description"`
	Entry    string   `yaml:"entry"`
	Args     []string `yaml:"args"`
	Language string   `yaml:"language"`
	Files    string   `yaml:"files"`
	Serial   bool     `yaml:"require_serial"`
	Minimum  string   `yaml:"minimum_pre_commit_version"`
}

func readHooks(path string) ([]hook, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	d := yaml.NewDecoder(f)
	d.KnownFields(true)
	var hooks []hook
	return hooks, d.Decode(&hooks)
}

// runHook is a git hook that does what an entry of .pre-commit-hooks.yaml says: it runs the entry with the staged
// files that its pattern matches, and nothing when there are none. The arguments are the file and the id.
func runHook() {
	err := func() error {
		hooks, err := readHooks(os.Args[1])
		if err != nil {
			return err
		}
		i := slices.IndexFunc(hooks, func(h hook) bool { return h.ID == os.Args[2] })
		if i < 0 {
			return fmt.Errorf("no hook %s", os.Args[2])
		}
		staged, err := exec.Command("git", "diff", "--cached", "--name-only", "--diff-filter=d", "-z").Output()
		if err != nil {
			return err
		}
		pattern, err := regexp.Compile(hooks[i].Files)
		if err != nil {
			return err
		}
		files := slices.DeleteFunc(strings.Split(strings.TrimRight(string(staged), "\x00"), "\x00"), func(name string) bool { return !pattern.MatchString(name) })
		if len(files) == 0 {
			return nil
		}
		words := slices.Concat(strings.Fields(hooks[i].Entry), hooks[i].Args, files)
		c := exec.Command(words[0], words[1:]...)
		c.Stdout, c.Stderr = os.Stdout, os.Stderr
		return c.Run()
	}()
	if failed := new(exec.ExitError); errors.As(err, &failed) {
		os.Exit(failed.ExitCode())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func TestHookPatterns(t *testing.T) {
	t.Parallel()
	hooks, err := readHooks(".pre-commit-hooks.yaml")
	if err != nil {
		t.Fatal(err)
	}
	ids := map[string]string{}
	for _, h := range hooks {
		ids[h.ID] = h.Language
		pattern := regexp.MustCompile(h.Files)
		for _, name := range []string{"foundry.yaml", "foundry.yml", "a/b/foundry.yaml", "ci/release.foundry.yaml", "x.foundry.yml", "a b/repair.foundry-test.yaml"} {
			if !pattern.MatchString(name) {
				t.Errorf("%s does not look at %s", h.ID, name)
			}
		}
		for _, name := range []string{"foundry.yaml.example", "foundry.json", "myfoundry.yaml", "foundry.yaml/notes.md", "foundry-test.yaml", "a.yaml", "docs/foundry.md"} {
			if pattern.MatchString(name) {
				t.Errorf("%s looks at %s", h.ID, name)
			}
		}
	}
	if len(ids) != 2 || ids["foundry-lint"] != "golang" || ids["foundry-lint-system"] != "system" {
		t.Errorf("the hooks are %v", ids)
	}
}

// clone is a clone of a repository with a pipeline file, in which commits are made.
type clone struct {
	t      *testing.T
	dir    string
	env    []string
	hookBy string // who runs the hook
}

const soundPipeline = "version: 1\npipelines:\n  main:\n    phases:\n      - id: build\n        agent: builder\n"

// newClone makes a repository with a commit and clones it. Nothing of the user's configuration is seen.
func newClone(t *testing.T) *clone {
	t.Helper()
	home := t.TempDir()
	write(t, filepath.Join(home, ".gitconfig"), "[user]\n\tname = Tester\n\temail = tester@example.com\n[init]\n\tdefaultBranch = main\n[commit]\n\tgpgSign = false\n[safe]\n\tdirectory = *\n")
	c := &clone{t: t, dir: filepath.Join(home, "clone"), hookBy: "git alone"}
	for _, v := range os.Environ() {
		if name, _, _ := strings.Cut(v, "="); !strings.HasPrefix(name, "GIT_") && name != "GITHUB_ACTIONS" {
			c.env = append(c.env, v)
		}
	}
	c.env = append(c.env, "HOME="+home, "XDG_CONFIG_HOME="+home, "GIT_CONFIG_NOSYSTEM=1", "PRE_COMMIT_HOME="+filepath.Join(home, "pre-commit"), "NO_COLOR=1")
	origin := &clone{t: t, dir: filepath.Join(home, "origin"), env: c.env}
	write(t, filepath.Join(origin.dir, "foundry.yaml"), soundPipeline)
	origin.must("git", "init", "-q")
	origin.must("git", "add", ".")
	origin.must("git", "commit", "-qm", "one pipeline")
	origin.must("git", "clone", "-q", origin.dir, c.dir)
	return c
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func (c *clone) run(words ...string) (string, error) {
	cmd := exec.Command(words[0], words[1:]...)
	cmd.Dir, cmd.Env = c.dir, c.env
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func (c *clone) must(words ...string) string {
	c.t.Helper()
	out, err := c.run(words...)
	if err != nil {
		c.t.Fatalf("%v: %v\n%s", words, err, out)
	}
	return out
}

// install makes a script the git hook that runs before a commit.
func (c *clone) install(script string) {
	c.t.Helper()
	path := filepath.Join(c.dir, ".git", "hooks", "pre-commit")
	write(c.t, path, script)
	if err := os.Chmod(path, 0o755); err != nil {
		c.t.Fatal(err)
	}
}

// commit stages a text as a file and tries to commit it.
func (c *clone) commit(name, text string) (string, error) {
	c.t.Helper()
	write(c.t, filepath.Join(c.dir, name), text)
	c.must("git", "add", "--", name)
	return c.run("git", "commit", "-qm", "change "+name)
}

// tryCommits commits what a hook has to refuse and what it has to let through, and measures what it costs when
// it has nothing to do.
func (c *clone) tryCommits() {
	c.t.Helper()
	refused := func(name, text string, want ...string) {
		c.t.Helper()
		out, err := c.commit(name, text)
		if err == nil {
			c.t.Errorf("the commit of %s went through:\n%s", name, out)
		}
		for _, w := range want {
			if !strings.Contains(out, w) {
				c.t.Errorf("the refusal of %s does not say %q:\n%s", name, w, out)
			}
		}
		c.must("git", "reset", "-q", "--hard")
	}
	passes := func(name, text string) {
		c.t.Helper()
		if out, err := c.commit(name, text); err != nil {
			c.t.Errorf("the commit of %s was refused:\n%s", name, out)
			c.must("git", "reset", "-q", "--hard")
		}
	}
	broken := strings.Replace(soundPipeline, "builder", "bulider", 1)
	refused("foundry.yaml", broken, `foundry.yaml:6:16: error: agent "bulider" is not defined [unknown-agent]`, "^^^^^^^", `hint: did you mean "builder"?`)
	refused("ci/a b.foundry.yaml", broken, `ci/a b.foundry.yaml:6:16: error: `)
	refused("main.foundry-test.yaml", "tests:\n  - {name: builds, pipeline: mian, expect: {status: accepted}}\n",
		`main.foundry-test.yaml:2:30: error: there is no pipeline "mian" [unknown-pipeline]`, `hint: did you mean "main"?`)
	passes("foundry.yaml", soundPipeline+"        retries: 1\n")
	passes("main.foundry-test.yaml", "tests:\n  - {name: builds, pipeline: main, given: {build: [{reply: {status: success}}]}, expect: {status: accepted}}\n")
	passes("README.md", "no pipeline\n")

	write(c.t, filepath.Join(c.dir, "README.md"), "still no pipeline\n")
	c.must("git", "add", "README.md")
	var took []time.Duration
	for range 5 {
		began := time.Now()
		c.must(filepath.Join(c.dir, ".git", "hooks", "pre-commit"))
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	c.t.Logf("run by %s, a commit that touches no pipeline file costs %.1f ms of hook time (%.1f to %.1f)", c.hookBy, millis(took[2]), millis(took[0]), millis(took[4]))
}

func millis(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// TestHooksAsWritten runs what .pre-commit-hooks.yaml says, without pre-commit.
func TestHooksAsWritten(t *testing.T) {
	t.Parallel()
	file, err := filepath.Abs(".pre-commit-hooks.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"foundry-lint", "foundry-lint-system"} {
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			c := newClone(t)
			c.install("#!/bin/sh\nexec run-hook '" + file + "' " + id + "\n")
			c.tryCommits()
		})
	}
}

// TestHookScript installs the script that the documentation has for those without pre-commit.
func TestHookScript(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("docs/pre-commit.md")
	if err != nil {
		t.Fatal(err)
	}
	_, script, ok := strings.Cut(string(text), "```sh\n")
	script, _, _ = strings.Cut(script, "```")
	if !ok || !strings.HasPrefix(script, "#!/bin/sh\n") {
		t.Fatal("docs/pre-commit.md has no script")
	}
	c := newClone(t)
	c.install(script)
	c.tryCommits()

	// What is staged counts, not what lies in the directory.
	write(t, filepath.Join(c.dir, "foundry.yaml"), "nonsense\n")
	c.must("git", "add", "foundry.yaml")
	write(t, filepath.Join(c.dir, "foundry.yaml"), soundPipeline)
	if out, err := c.run("git", "commit", "-qm", "x"); err == nil || !strings.Contains(out, "foundry.yaml:1:1: error: ") {
		t.Errorf("a broken file was committed since a sound one lay in the directory: %v\n%s", err, out)
	}
}

// TestPreCommit installs the hooks with pre-commit itself, where there is one: that which builds foundry, as this
// repository was committed last. What a commit costs here is the time of pre-commit itself.
func TestPreCommit(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("pre-commit"); err != nil {
		t.Skip("pre-commit is not installed; TestHooksAsWritten does what the hook file says")
	}
	t.Run("system", func(t *testing.T) {
		t.Parallel()
		c := newClone(t)
		c.usePreCommit("foundry-lint-system", c.hooksAlone())
		c.tryCommits()
	})
	t.Run("golang", func(t *testing.T) {
		t.Parallel()
		if os.Getenv("FOUNDRY_PRE_COMMIT") == "" {
			t.Skip("it builds foundry from the last commit, which takes half a minute; FOUNDRY_PRE_COMMIT=1 asks for it")
		}
		c := newClone(t)
		c.useGo()
		c.usePreCommit("foundry-lint", wd(t))
		c.tryCommits()
	})
}

// useGo lets go build with what is there already, whatever HOME is.
func (c *clone) useGo() {
	c.t.Helper()
	out, err := exec.Command("go", "env", "GOCACHE", "GOMODCACHE", "GOPROXY").Output()
	if err != nil {
		c.t.Skip("there is no go: ", err)
	}
	v := strings.Split(string(out), "\n")
	c.env = append(c.env, "GOCACHE="+v[0], "GOMODCACHE="+v[1], "GOPROXY="+v[2], "GOFLAGS=-trimpath -buildvcs=false")
}

// hooksAlone is a repository that holds the hook file of this one and nothing else.
func (c *clone) hooksAlone() string {
	c.t.Helper()
	text, err := os.ReadFile(".pre-commit-hooks.yaml")
	if err != nil {
		c.t.Fatal(err)
	}
	hooks := &clone{t: c.t, dir: filepath.Join(filepath.Dir(c.dir), "hooks"), env: c.env}
	write(c.t, filepath.Join(hooks.dir, ".pre-commit-hooks.yaml"), string(text))
	hooks.must("git", "init", "-q")
	hooks.must("git", "add", ".")
	hooks.must("git", "commit", "-qm", "hooks")
	return hooks.dir
}

// usePreCommit installs a hook of the newest commit of a repository.
func (c *clone) usePreCommit(id, repository string) {
	c.t.Helper()
	rev, err := c.run("git", "-C", repository, "rev-parse", "HEAD")
	if err != nil {
		c.t.Skipf("%s is no checkout, so that pre-commit has nothing to take hooks from", repository)
	}
	write(c.t, filepath.Join(c.dir, ".pre-commit-config.yaml"), "repos:\n  - repo: "+repository+"\n    rev: "+strings.TrimSpace(rev)+"\n    hooks:\n      - id: "+id+"\n")
	c.must("git", "add", ".pre-commit-config.yaml")
	c.must("git", "commit", "-qm", "pre-commit")
	if out, err := c.run("pre-commit", "install", "--install-hooks"); err != nil {
		log, _ := os.ReadFile(filepath.Join(filepath.Dir(c.dir), "pre-commit", "pre-commit.log"))
		c.t.Fatalf("pre-commit install: %v\n%s\n%s", err, out, log)
	}
	c.hookBy = "pre-commit, which starts nothing of ours then"
}

func wd(t *testing.T) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

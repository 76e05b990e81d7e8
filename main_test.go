package main

import (
	"fmt"
	"hash/fnv"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"foundry/internal/process"
)

func TestMain(m *testing.M) {
	programs := map[string]func(){"foundry": main, "run-hook": runHook}
	maps.Copy(programs, watchPrograms())
	testscript.Main(m, programs)
}

// TestScripts runs what a user can type. Each script has a home of its own with a git identity, and sees
// nothing of the configuration of whoever runs the tests. $BARE is a directory with the program, git and sh
// alone, for scripts in which no other program may be found;
// $TOP is the top of this repository.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", "script"),
		RequireExplicitExec: true,
		UpdateScripts:       os.Getenv("UPDATE") != "",
		Setup:               isolate,
		Condition:           condition,
	})
}

// condition is what scripts may ask for beside what testscript knows: [sandbox] is that programs can be confined.
func condition(name string) (bool, error) {
	if name == "sandbox" {
		return process.CanConfine() == nil, nil
	}
	return false, fmt.Errorf("unknown condition %q", name)
}

func isolate(env *testscript.Env) error {
	home := filepath.Join(env.WorkDir, ".home")
	bare := filepath.Join(home, "bin")
	if err := os.MkdirAll(bare, 0o755); err != nil {
		return err
	}
	config := "[user]\n\tname = Tester\n\temail = tester@example.com\n[init]\n\tdefaultBranch = main\n[commit]\n\tgpgSign = false\n"
	if err := os.WriteFile(filepath.Join(home, ".gitconfig"), []byte(config), 0o644); err != nil {
		return err
	}
	env.Setenv("HOME", home)
	env.Setenv("XDG_CONFIG_HOME", filepath.Join(home, ".config"))
	env.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	env.Setenv("GIT_CONFIG_GLOBAL", filepath.Join(home, ".gitconfig"))
	env.Setenv("GIT_CEILING_DIRECTORIES", filepath.Dir(env.WorkDir))
	env.Setenv("TERM", "dumb")
	nap := fnv.New32() // `sleep $NAP` is told apart from those of other scripts, and of another run of the tests
	nap.Write([]byte(env.WorkDir))
	env.Setenv("NAP", fmt.Sprintf("986.%d", nap.Sum32()))
	env.Setenv("STORM", os.Getenv("STORM")) // how many files watch_storm.txtar switches between
	top, err := os.Getwd()
	if err != nil {
		return err
	}
	env.Setenv("TOP", top)
	for _, name := range []string{"git", "sh", "cat", "rm"} {
		path, err := exec.LookPath(name)
		if err != nil {
			return err
		}
		if err := os.Symlink(path, filepath.Join(bare, name)); err != nil {
			return err
		}
	}
	foundry := filepath.Join(filepath.SplitList(env.Getenv("PATH"))[0], "foundry")
	if err := os.Symlink(foundry, filepath.Join(bare, "foundry")); err != nil {
		return err
	}
	env.Setenv("BARE", bare)
	return nil
}

package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"foundry/builtins"
	"foundry/internal/process"
	"foundry/internal/report"
	"foundry/runner"
)

// demoRequest is what the demo asks for.
const demoRequest = "make the tests pass: Sub and Mul in calc.go are wrong"

func demoVerb(s *session) verb {
	return verb{
		Command: &cli.Command{
			Name:  "demo",
			Usage: "a self-contained example in a temporary repository",
			Description: `Makes a small Go repository with two failing tests in a temporary directory and runs a pipeline on it: plan, build, test
(fails), build, test, review, commit, merge. The agents are scripted and no network is used; the rest is real. It needs go and git.
The repository is left for you to look around in.`,
			Flags: []cli.Flag{
				&cli.StringFlag{Name: "dir", Usage: "make the repository in `DIR`, which must not exist or be empty"},
				&cli.StringFlag{Name: "output", Value: "auto", Usage: "auto, plain or json (`FORM`)"},
			},
			Action: s.demo,
		},
		exits:    []Exit{Refused, Failed, Interrupted},
		values:   map[string][]string{"output": {"auto", "plain", "json"}},
		examples: []example{{"foundry demo", "run it and read along"}, {"foundry demo --dir ~/foundry-demo", "in a place of your own"}},
	}
}

func (s *session) demo(c *cli.Context) error {
	if err := errors.Join(atMost(c, 0), oneOf("--output", c.String("output"), []string{"auto", "plain", "json"})); err != nil {
		return err
	}
	for _, program := range []string{"git", "go"} {
		if _, err := exec.LookPath(program); err != nil {
			return badUsage("the demo needs %s, which is not in PATH", program).hintf("install it, or try `foundry init` in a repository of your own")
		}
	}
	dir, err := s.demoRepository(c.String("dir"))
	if err != nil {
		return err
	}
	plain := c.String("output") != "json"
	if plain {
		s.note("a repository with two failing tests: %s", dir)
		s.note("$ foundry up %q\n", demoRequest)
	}
	s.dir, s.file = dir, ""
	err = s.demoRun(outputForm(c))
	if p := asProblem(err); err != nil && (p.err != nil || p.exit != Refused) {
		return err
	}
	if err == nil && plain {
		return s.demoTour(dir)
	}
	return err
}

// demoRun is `foundry up` with the demo's request.
func (s *session) demoRun(form string) error {
	p, err := s.load()
	if err != nil {
		return err
	}
	g, err := s.compile(p, "")
	if err != nil {
		return err
	}
	pl, err := s.openPlace()
	if err != nil {
		return err
	}
	info := &runner.RunInfo{Pipeline: g.Pipeline, Request: demoRequest, Who: who(), File: p.name, Fingerprint: g.Fingerprint, Version: versionText(), Isolation: "worktree", Merge: "auto"}
	if info.BranchPoint, info.Base, err = pl.repo.Head(s.ctx); err != nil {
		return notReady(err)
	}
	info.FileCommit = info.BranchPoint
	return s.launch(pl, p, overridden(g, info), info, launching{form: form})
}

// demoRepository makes the repository: a first commit with the failing tests.
func (s *session) demoRepository(at string) (string, error) {
	dir := ""
	var err error
	if at == "" {
		dir, err = os.MkdirTemp("", "foundry-demo-")
	} else if dir = s.path(at); err == nil {
		if entries, readErr := os.ReadDir(dir); readErr == nil && len(entries) > 0 {
			return "", badUsage("--dir %s: it is there and not empty", at)
		}
		err = os.MkdirAll(dir, 0o755)
	}
	if err != nil {
		return "", failure(fmt.Errorf("make the demo's directory: %w", err))
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return "", failure(fmt.Errorf("make the demo's directory: %w", err))
	}
	files := builtins.Demo()
	err = fs.WalkDir(files, ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(dir, strings.TrimSuffix(name, ".txt")), text, 0o644)
	})
	if err != nil {
		return "", failure(fmt.Errorf("write the demo's files: %w", err))
	}
	for _, args := range [][]string{{"init", "-q"}, {"symbolic-ref", "HEAD", "refs/heads/main"}, {"add", "-A"},
		{"-c", "user.name=Foundry", "-c", "user.email=demo@foundry.invalid", "-c", "commit.gpgsign=false", "commit", "-q", "-m", "calc: two sums that are wrong"},
		{"config", "user.name", "Foundry"}, {"config", "user.email", "demo@foundry.invalid"}} {
		r := process.Run(s.ctx, process.Spec{Argv: append([]string{"git"}, args...), Dir: dir, Env: process.Environ(os.Environ()), Timeout: time.Minute})
		if !r.OK() {
			return "", failure(fmt.Errorf("git %s in the demo's repository: %s %w", args[0], strings.TrimSpace(r.Tail), errors.Join(r.Err, s.ctx.Err())))
		}
	}
	return dir, nil
}

// demoTour shows what the run left behind: when each phase ran, what changed, and what to try next.
func (s *session) demoTour(dir string) error {
	pl := s.recordsOnly()
	id, events, err := pl.readRun("last")
	if err != nil {
		return err
	}
	trace := report.TraceOf(id, events)
	text := "\nwhen each phase ran\n\n" + trace.Waterfall(s.style(), report.Facts{Graph: s.graphOf(pl, id, events), Now: time.Now()})
	if full, err := s.openPlace(); err == nil {
		if from, to := runTrees(events); from != "" && to != "" {
			if diff, err := full.repo.ShowDiff(context.WithoutCancel(s.ctx), from, to, s.colored(s.out)); err == nil {
				text += "\nwhat changed\n\n" + string(diff)
			}
		}
	}
	text += fmt.Sprintf(`
try next

  cd %s
  foundry show last            where the run stands, with its evidence
  foundry show last build@1    the visit that broke its boundary, and the next
  foundry logs last test       what the tests printed, both times
  foundry graph                the compiled phases, with the proven bound
  foundry up "once more"       again: nothing to mend, so the build changes nothing
  foundry init                 in a repository of your own
`, dir)
	return s.print(text)
}

func outputForm(c *cli.Context) string {
	if form := c.String("output"); form == "json" {
		return form
	}
	return "plain"
}

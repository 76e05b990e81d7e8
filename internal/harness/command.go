package harness

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"foundry/internal/process"
)

// command drives any program: the prompt on stdin, the reply on stdout, one process a turn, in the workspace.
// What a program wants to remember between turns it keeps in FOUNDRY_SESSION_DIR, so a session outlives the
// process that opened it.
type command struct{}

func (command) Preflight(c Config) error {
	if len(c.Argv) == 0 || c.Argv[0] == "" {
		return errors.New("it has no argv; harness command needs one, as argv: [./agent.sh]")
	}
	return lookFor(c)
}

func (h command) Open(_ context.Context, c Config) (Session, error) {
	if len(c.Argv) == 0 || c.Argv[0] == "" {
		return nil, h.Preflight(c)
	}
	return &commandSession{c}, nil
}

type commandSession struct{ c Config }

func (s *commandSession) Turn(ctx context.Context, t Turn, activity func(Activity)) Reply {
	input := []byte(t.Prompt)
	if input == nil {
		input = []byte{}
	}
	res, r := run(ctx, process.Spec{Argv: s.c.Argv, Stdin: input, Capture: replyLimit}, s.c, t, activity, nil)
	if r.Stop != 0 {
		if r.Stop == Failed && res.Reason != process.NotStarted {
			r.Error = evidence(fmt.Sprintf("agent %q (%s) failed: %s", s.c.Agent, s.c.Argv[0], r.Error), res.Stderr)
		}
		return r
	}
	r.Stop, r.Text = End, cleanText(string(res.Stdout))
	return r
}

func (s *commandSession) Close() ([]string, error) { return nil, nil }

// lookFor says that the program of an agent cannot be found, and where it was looked for: a path from the
// repository's top, a bare name in the directories of PATH.
func lookFor(c Config) error {
	program := c.Argv[0]
	if strings.ContainsRune(program, '/') || strings.ContainsRune(program, filepath.Separator) {
		path := program
		if !filepath.IsAbs(path) {
			path = filepath.Join(c.Dir, path)
		}
		return runnable(program, path)
	}
	path, ok := process.Lookup(c.Env, "PATH")
	if !ok {
		path = os.Getenv("PATH")
	}
	for _, dir := range filepath.SplitList(path) {
		if dir != "" && runnable(program, filepath.Join(dir, program)) == nil {
			return nil
		}
	}
	return fmt.Errorf("the program %q was not found in any directory of PATH (%s)", program, path)
}

// lookForProgram is lookFor for a harness that knows its agent's program: name is it, unless the agent has an argv.
// Its arguments come after those of the argv.
func lookForProgram(c *Config, name string) error {
	if len(c.Argv) == 0 {
		c.Argv = []string{name}
	}
	return lookFor(*c)
}

func runnable(program, path string) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("the program %q was not found (looked for %s)", program, path)
	case err != nil:
		return fmt.Errorf("the program %q cannot be looked at: %w", program, err)
	case info.IsDir():
		return fmt.Errorf("the program %q is a directory (%s)", program, path)
	case info.Mode()&0o111 == 0 && os.PathSeparator == '/':
		return fmt.Errorf("the program %q may not be executed; chmod +x %s", program, path)
	}
	return nil
}

package harness

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"

	"foundry/internal/process"
)

// script is an agent whose turns are written down beforehand: it really writes files and really runs its
// commands, but nothing decides anything. Entries are used in order, one a turn.
type script struct{}

func (script) Preflight(c Config) error {
	if len(c.Script) == 0 {
		return errors.New("it has no script; harness script needs a list of turns, as script: [{reply: …}]")
	}
	for i, entry := range c.Script {
		for _, f := range entry.Files {
			if err := insideWorkspace(f.Path); err != nil {
				return fmt.Errorf("entry %d of its script: %w", i+1, err)
			}
		}
	}
	return nil
}

func (h script) Open(_ context.Context, c Config) (Session, error) {
	if err := h.Preflight(c); err != nil {
		return nil, err
	}
	return &scriptSession{c: c, next: c.Turns}, nil
}

type scriptSession struct {
	c    Config
	next int // index of the entry of the next turn
}

func (s *scriptSession) Turn(ctx context.Context, t Turn, activity func(Activity)) Reply {
	r := s.turn(ctx, t, activity)
	nothing, free := 0, 0.0 // a script costs nothing, and is seen to do all that it does
	r.Usage = Usage{Input: &nothing, Output: &nothing, Cost: &free}
	if r.Calls == nil {
		r.Calls = &nothing
	}
	return r
}

func (s *scriptSession) turn(ctx context.Context, t Turn, activity func(Activity)) Reply {
	if ctx.Err() != nil {
		return Reply{Stop: Cancelled, Error: "the turn was stopped"}
	}
	if s.next >= len(s.c.Script) {
		return failed("the script of agent %q has %d entries, and turn %d of the run had none (phase %s, visit %d, attempt %d)",
			s.c.Agent, len(s.c.Script), s.next+1, t.Phase, t.Visit, t.Attempt)
	}
	entry := s.c.Script[s.next]
	s.next++
	calls := 0
	for _, f := range entry.Files {
		calls++
		if activity != nil {
			activity(Activity{Kind: CalledTool, Text: f.describe(), Tool: Tool{Name: f.verb(), Kind: Edit, Paths: []string{filepath.Join(t.Dir, filepath.FromSlash(f.Path))}}})
		}
		if err := f.apply(t.Dir); err != nil {
			return failed("entry %d of the script of agent %q: %v", s.next, s.c.Agent, err)
		}
	}
	var r Reply
	if entry.Run != "" {
		calls++
		if activity != nil {
			activity(Activity{Kind: CalledTool, Text: "run " + entry.Run, Tool: Tool{Name: "run", Kind: Execute, Command: entry.Run}})
		}
		var res process.Result
		res, r = run(ctx, process.Spec{Shell: entry.Run}, s.c, t, activity, nil)
		if r.Stop == Failed {
			r.Error = evidence(fmt.Sprintf("entry %d of the script of agent %q: %q failed: %s", s.next, s.c.Agent, entry.Run, r.Error), res.Tail)
		}
	}
	r.Calls = &calls
	if r.Stop == 0 {
		r.Stop, r.Text = End, entry.Reply
	}
	return r
}

func (s *scriptSession) Close() ([]string, error) { return nil, nil }

func (f ScriptFile) describe() string { return f.verb() + " " + f.Path }

func (f ScriptFile) verb() string {
	if f.Delete {
		return "delete"
	}
	return "write"
}

// apply writes or deletes the file. It never leaves the workspace, not through a symlink either.
func (f ScriptFile) apply(dir string) (err error) {
	if err := insideWorkspace(f.Path); err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("open the workspace: %w", err)
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	name := filepath.FromSlash(f.Path)
	if f.Delete {
		if _, err := root.Lstat(name); err != nil { // RemoveAll would not tell that nothing was there
			return fmt.Errorf("delete %q: %w", f.Path, err)
		}
		if err := root.RemoveAll(name); err != nil {
			return fmt.Errorf("delete %q: %w", f.Path, err)
		}
		return nil
	}
	if parent := filepath.Dir(name); parent != "." {
		if err := root.MkdirAll(parent, 0o777); err != nil {
			return fmt.Errorf("make the directory of %q: %w", f.Path, err)
		}
	}
	if err := root.WriteFile(name, []byte(f.Text), 0o666); err != nil {
		return fmt.Errorf("write %q: %w", f.Path, err)
	}
	return nil
}

// insideWorkspace says whether a script may name a path.
func insideWorkspace(name string) error {
	switch {
	case name == "" || name == "." || strings.HasSuffix(name, "/"):
		return fmt.Errorf("%q is not the path of a file", name)
	case path.IsAbs(name) || !filepath.IsLocal(filepath.FromSlash(name)):
		return fmt.Errorf("the path %q leads out of the workspace; write one from its top, like src/a.go", name)
	}
	return nil
}

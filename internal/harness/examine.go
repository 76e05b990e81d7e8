package harness

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"foundry/internal/lazyregexp"
	"foundry/internal/process"
)

// This file looks at an agent without giving it work: does its program start, which version is it, is somebody logged
// in. Nothing of this costs anything.

// examineTime is how long a program may take to say that.
const examineTime = time.Minute

// Health is what was seen of an agent.
type Health struct {
	Found   bool   // its program is there
	Version string // as the agent says it; "" when it does not
	Login   Login
	By      string // what tells of the login: a variable, a file
}

// Login says whether somebody is logged in, as far as that can be told.
type Login uint8

// The answers; the zero value is invalid.
const (
	LoginUnknown Login = iota + 1
	LoggedIn
	NotLoggedIn
)

// Examine looks at the agent of a configuration. Where that is the harness's own program, found outside the repository, it
// is started; an error says why it does not start. What else an argv names is for a run alone to start: the command line
// is the repository's, whatever its first word is.
func Examine(ctx context.Context, info Info, c Config) (Health, error) {
	out := Health{Login: LoginUnknown}
	if err := info.Harness.Preflight(c); err != nil {
		return out, err
	}
	out.Found = true
	out.Login, out.By = info.login(c.Env)
	if !info.own(c) {
		return out, nil
	}
	ctx, cancel := context.WithTimeout(ctx, examineTime)
	defer cancel()
	if agents, ok := info.Harness.(acpAgents); ok {
		return agents.examine(ctx, c, out)
	}
	if err := lookForProgram(&c, info.Program); err != nil {
		return out, err
	}
	res := process.Run(ctx, process.Spec{Argv: append(c.Argv[:len(c.Argv):len(c.Argv)], "--version"), Capture: 4 << 10, Env: environment(c, Turn{}, nil)})
	if !res.OK() {
		return out, errors.New(evidence(c.Argv[0]+" --version failed", res.Tail))
	}
	out.Version = versionIn(string(res.Stdout))
	return out, nil
}

// own says whether a configuration starts the harness's own program and nothing else, from outside the repository.
func (i Info) own(c Config) bool {
	if i.Program == "" || len(c.Argv) > 1 || len(c.Argv) == 1 && c.Argv[0] != i.Program {
		return false
	}
	top, err := filepath.EvalSymlinks(c.Dir)
	if err != nil {
		return false
	}
	path, err := exec.LookPath(i.Program) // an error, too, where PATH leads to it by a relative directory
	if err != nil {
		return false
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return false
	}
	for _, p := range []string{path, real} {
		if rel, err := filepath.Rel(top, p); err != nil || filepath.IsLocal(rel) {
			return false
		}
	}
	return true
}

var versionNumber = lazyregexp.New(`\d+(?:\.\d+)+[\w.+-]*`)

// versionIn finds the version in what a program prints, which has its name and other words around it.
func versionIn(text string) string { return versionNumber().FindString(text) }

// login looks for the signs of a login that an agent leaves.
func (i Info) login(env []string) (Login, string) {
	if len(i.LoginSigns) == 0 {
		return LoginUnknown, ""
	}
	for _, sign := range i.LoginSigns {
		path, isFile := strings.CutPrefix(sign, "~/")
		if !isFile {
			value, ok := process.Lookup(env, sign)
			if !ok {
				value = os.Getenv(sign)
			}
			if value != "" {
				return LoggedIn, sign
			}
			continue
		}
		home, err := os.UserHomeDir()
		if err != nil {
			continue
		}
		if _, err := os.Stat(filepath.Join(home, filepath.FromSlash(path))); err == nil {
			return LoggedIn, sign
		}
	}
	return NotLoggedIn, ""
}

// examine says hello and asks for a session: an agent that wants a login first says so then.
func (h acpAgents) examine(ctx context.Context, c Config, out Health) (Health, error) {
	if err := h.complete(&c); err != nil {
		return out, err
	}
	dir, err := os.MkdirTemp("", "foundry-doctor-")
	if err != nil {
		return out, err
	}
	defer os.RemoveAll(dir)
	s := &acpSession{c: c, preset: h.preset}
	s.c.Dir = dir
	defer s.end(true)
	w := newWatch(Turn{}, nil, func(error) {})
	defer w.stop()
	err = s.open(ctx, Turn{Dir: dir}, w, "")
	if s.program != nil {
		out.Version = s.program.start.Info.Version
	}
	switch {
	case err == nil:
		return out, nil
	case hasCode(err, codeNoLogin):
		out.Login = NotLoggedIn
		return out, nil
	case ctx.Err() != nil:
		return out, fmt.Errorf("%s did not answer within %s", c.Argv[0], examineTime)
	}
	return out, errors.New(s.failure(ctx, w, err).Error)
}

// Command is what an agent of this harness is started with unless its argv says otherwise, and what is added to its
// environment. nil when the harness has no program of its own.
func (i Info) Command() (argv, env []string) {
	if i.Program == "" {
		return nil, nil
	}
	switch h := i.Harness.(type) {
	case acpAgents:
		return append([]string{i.Program}, h.preset.args...), h.preset.env
	case claude:
		return append([]string{i.Program}, (&claudeSession{}).arguments(Turn{})...), claudeEnv
	case codex:
		return []string{i.Program, "app-server"}, nil
	}
	return []string{i.Program}, nil
}

// Modes are the agent's own modes: for a turn that is not to write, for one that is and whose permission requests
// somebody answers, and for one that nobody answers. "" where it has none.
func (i Info) Modes() (reading, asking, writing string) {
	if h, ok := i.Harness.(acpAgents); ok && h.preset.program != "" {
		return strings.Join(h.preset.reading, "|"), strings.Join(h.preset.asking, "|"), strings.Join(h.preset.writing, "|")
	}
	return "", "", ""
}

package cli

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"foundry/diag"
	"foundry/graph"
	"foundry/internal/drive"
	"foundry/internal/harness"
	"foundry/internal/process"
	"foundry/internal/workspace"
	"foundry/schema"
)

// These are the checks of doctor that look at git and at what the pipeline file names, each by itself. A check whose
// ground an earlier one found missing says nothing.

// run starts a program for a question; nothing it prints is shown.
func (d *doctor) run(argv ...string) process.Result {
	return process.Run(d.s.ctx, process.Spec{Argv: argv, Dir: d.s.dir, Timeout: 10 * time.Second, Capture: 64 << 10})
}

func (d *doctor) git() {
	const check, fix = "git", "install git 2.25 or newer"
	repo, err := workspace.Open(d.s.ctx, d.s.dir)
	switch {
	case errors.Is(err, workspace.ErrGitMissing):
		d.problem(check, fix, "%v", workspace.ErrGitMissing)
		return
	case errors.Is(err, workspace.ErrGitTooOld):
		d.problem(check, fix, "%v", err)
		return
	case err == nil:
		d.repo = repo
		d.ok(check, "git version %s", repo.Version())
	default:
		d.ok(check, "%s", strings.TrimSpace(string(d.run("git", "version").Stdout)))
	}
	d.repository(err)
}

// repository says what came of opening it.
func (d *doctor) repository(err error) {
	const check = "repository"
	if err == nil {
		if d.facts, err = d.repo.Facts(d.s.ctx); err == nil {
			d.ok(check, "%s, %s", d.repo.Root(), plural(d.facts.Files, "tracked file", "tracked files"))
			return
		}
		d.repo = nil
	}
	fix := "see the message"
	for _, known := range []struct {
		is  error
		fix string
	}{
		{workspace.ErrNotRepository, "git init, then make a first commit"},
		{workspace.ErrBare, "work in a checkout of it: git clone, or git worktree add"},
		{workspace.ErrUnsafeOwner, "git config --global --add safe.directory " + d.s.dir},
	} {
		if errors.Is(err, known.is) {
			fix = known.fix
			break
		}
	}
	d.problem(check, fix, "%v", err)
}

func (d *doctor) pipelineFile() {
	const check = "pipeline file"
	p, err := d.s.load()
	if err != nil {
		problem := asProblem(err)
		d.problem(check, problem.hint, "%v", problem.err)
		return
	}
	d.proj = p
	found := p.lint()
	list := diag.Unsilenced(found.Sorted())
	switch {
	case found.HasErrors():
		d.problem(check, "foundry lint shows them", "%s: %s", p.name, countFindings(list))
	case len(list) > 0:
		d.warn(check, "foundry lint shows them", "%s: %s", p.name, countFindings(list))
	default:
		d.ok(check, "%s: no findings", p.name)
	}
}

// base looks at what runs start from: a commit, never what is not committed.
func (d *doctor) base() {
	const check = "base"
	if d.repo == nil {
		return
	}
	ref := "HEAD"
	if d.proj != nil && d.proj.doc.Project.Base.Set {
		ref = d.proj.doc.Project.Base.Value
	}
	sha, branch, err := d.repo.Resolve(d.s.ctx, ref)
	if errors.Is(err, workspace.ErrNoCommits) {
		d.problem(check, "make a first commit: git add -A && git commit", "%v", err)
		return
	}
	if err != nil {
		d.problem(check, "set project.base to a branch that exists", "%v", err)
		return
	}
	d.at = sha
	if branch == "" {
		d.warn(check, "check out a branch, or set project.base", "%s is no branch (at %.12s), so an accepted run cannot be merged", ref, sha)
	} else {
		d.ok(check, "%s at %.12s", branch, sha)
	}
}

// uncommitted asks git once.
func (d *doctor) uncommitted() ([]string, error) {
	if d.dirty == nil {
		d.dirty = sync.OnceValues(func() ([]string, error) { return d.repo.Dirty(d.s.ctx) })
	}
	return d.dirty()
}

// checkout looks at what is not committed: a run does not see it.
func (d *doctor) checkout() {
	const check = "checkout"
	if d.repo == nil {
		return
	}
	dirty, err := d.uncommitted()
	busy := d.repo.Busy()
	switch {
	case err != nil:
		d.problem(check, "see the message", "%v", err)
	case len(dirty) > 0:
		d.warn(check, "commit what a run is to see; a merge is refused only for files that it would change",
			"%s not committed: %s", plural(len(dirty), "file is", "files are"), few(dirty))
	case busy == "":
		d.ok(check, "nothing uncommitted")
	}
	if busy != "" {
		d.warn(check, "finish it, or give it up: git status says how", "%s, and nothing can be merged here meanwhile", busy)
	}
}

func (d *doctor) identity() {
	if d.repo == nil {
		return
	}
	const check, fix = "identity", `git config --global user.name "…" && git config --global user.email "…"`
	r := d.run("git", "var", "GIT_COMMITTER_IDENT")
	if r.Reason != process.Exited || r.Exit != 0 {
		d.problem(check, fix, "git does not know who commits")
		return
	}
	who, _, _ := strings.Cut(string(r.Stdout), ">")
	for _, part := range []struct{ what, configured, variable string }{
		{"name", d.facts.User.Name, "GIT_COMMITTER_NAME"}, {"email", d.facts.User.Email, "GIT_COMMITTER_EMAIL"},
	} {
		if part.configured == "" && d.s.getenv(part.variable) == "" {
			d.warn(check, fix, "git commits as %s>, and guessed the %s: it is not configured", who, part.what)
			return
		}
	}
	d.ok(check, "%s>", who)
}

// commands looks for the program of each command of the file.
func (d *doctor) commands() {
	if d.proj == nil {
		return
	}
	for i := range d.proj.doc.Commands {
		c := &d.proj.doc.Commands[i]
		check := "command " + c.Name.Value
		program := programOf(c.Run)
		if program == "" {
			d.ok(check, "is for the shell to say")
			continue
		}
		dir := filepath.Join(d.proj.root, filepath.FromSlash(c.Dir.Value))
		if err := findProgram(program, dir); err != nil {
			d.problem(check, "install it, or change the command at "+d.proj.name, "%v", err)
			continue
		}
		d.ok(check, "%s was found", program)
	}
}

// programOf is the program that a script starts, "" when only a shell can tell.
func programOf(script schema.Script) string {
	if script.Argv.Set && len(script.Argv.Items) > 0 {
		return script.Argv.Items[0].Value
	}
	if words, ok := process.Words(script.Shell.Value); ok {
		return words[0]
	}
	return ""
}

func findProgram(program, dir string) error {
	if !strings.ContainsRune(program, '/') {
		if _, err := exec.LookPath(program); err != nil {
			return fmt.Errorf("%s was not found on PATH", program)
		}
		return nil
	}
	if !filepath.IsAbs(program) {
		program = filepath.Join(dir, program)
	}
	info, err := os.Stat(program)
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", program, plainPathError(err))
	case info.IsDir():
		return fmt.Errorf("%s is a directory", program)
	case info.Mode()&0o111 == 0 && runtime.GOOS != "windows":
		return fmt.Errorf("%s may not be executed", program)
	}
	return nil
}

// agents asks the harness of every agent that a pipeline of the file, or the default one, uses.
func (d *doctor) agents() {
	if d.proj == nil || d.proj.findings.HasErrors() {
		return
	}
	var pipelines []string
	for _, n := range d.proj.names.Names() {
		if n.Kind == graph.PipelineName && (!n.Builtin || n.Default) {
			pipelines = append(pipelines, n.Name)
		}
	}
	seen := map[string]bool{} // names of agents, and paths of their programs
	for _, name := range pipelines {
		g, _ := d.proj.names.Compile(name)
		if g == nil {
			continue // lint says why
		}
		for i := range g.Agents {
			if a := &g.Agents[i]; !seen[a.Name] {
				seen[a.Name] = true
				d.agent(a)
				d.sandbox(g, i)
			}
		}
		if d.repo == nil || d.at == "" || g.Isolation == graph.Checkout {
			continue
		}
		for _, u := range d.s.uncommittedPrograms(d.repo, g, d.at, d.uncommitted) {
			if seen[u.path] {
				continue
			}
			seen[u.path] = true
			if u.hopeless(g) {
				d.problem("agent "+u.agent, u.fix(), "%s", u)
			} else {
				d.warn("agent "+u.agent, u.fix(), "%s", u)
			}
		}
	}
}

// harnesses lists the agents that are installed, whether the file uses them or not.
func (d *doctor) harnesses() {
	if list := harness.Present(); len(list) > 0 {
		d.ok("harnesses", "on PATH: %s", strings.Join(list, ", "))
		return
	}
	d.ok("harnesses", "no agent that foundry knows is on PATH; script, command and acp have none of their own")
}

func (d *doctor) agent(a *graph.Agent) {
	check := "agent " + a.Name
	if a.Harness == "" {
		d.problem(check, "set project.harness and project.argv in "+d.proj.name, "no harness is set for it")
		return
	}
	info, _ := harness.Find(a.Harness)
	_, err := harness.Named(a.Harness)
	var seen harness.Health
	if err == nil {
		seen, err = d.examine(info, a)
	}
	if err != nil {
		fix := drive.InstallFix(info, len(a.Argv) > 0, d.proj.name)
		if seen.Found {
			fix = "start it by hand and see; `foundry explain harness/" + a.Harness + "` says how it is run"
		}
		d.problem(check, fix, "%v", err)
		return
	}
	what := "harness " + a.Harness + " is ready"
	if seen.Version != "" {
		what += ", version " + seen.Version
	}
	switch seen.Login {
	case harness.NotLoggedIn:
		d.warn(check, info.LoginFix(), "%s, but there is no sign of a login", what)
		return
	case harness.LoggedIn:
		what += ", logged in (" + seen.By + ")"
	}
	d.ok(check, "%s", what)
}

// examine starts the program of an agent to see how it is, once for all agents that share it.
func (d *doctor) examine(info harness.Info, a *graph.Agent) (harness.Health, error) {
	key := strings.Join(append([]string{a.Harness}, a.Argv...), "\x00")
	if seen, ok := d.asked[key]; ok {
		return seen.health, seen.err
	}
	h, err := harness.Examine(d.s.ctx, info, harness.Config{Agent: a.Name, Argv: a.Argv, Script: make([]harness.ScriptTurn, len(a.Script)), Model: a.Model, Dir: d.proj.root})
	d.asked[key] = examinedAgent{h, err}
	return h, err
}

// examinedAgent is what Examine said.
type examinedAgent struct {
	health harness.Health
	err    error
}

// secrets looks whether the variables of project.secrets have values that can be masked.
func (d *doctor) secrets() {
	if d.proj == nil || d.proj.doc == nil || len(d.proj.doc.Project.Secrets.Items) == 0 {
		return
	}
	const check = "secrets"
	names := d.proj.doc.Project.Secrets.Values()
	found := d.s.notMasked(names)
	for _, text := range found {
		d.warn(check, "set it in the environment that foundry is started in, or take it out of project.secrets", "%s", text)
	}
	if len(found) == 0 {
		d.ok(check, "%s masked: %s", plural(len(names), "variable is", "variables are"), few(names))
	}
}

package cli

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"foundry/diag"
	"foundry/graph"
	"foundry/internal/drive"
	"foundry/internal/harness"
	"foundry/internal/journal"
	"foundry/internal/process"
	"foundry/internal/workspace"
	"foundry/schema"
)

// These are the checks of doctor, each by itself. A check whose ground an earlier one found missing says
// nothing.

// run starts a program for a question; nothing it prints is shown.
func (d *doctor) run(argv ...string) process.Result {
	return process.Run(d.s.ctx, process.Spec{Argv: argv, Dir: d.s.dir, Timeout: 10 * time.Second, Capture: 64 << 10})
}

func (d *doctor) git() {
	r := d.run("git", "version")
	if r.Reason == process.NotStarted {
		d.problem("git", "install git 2.25 or newer", "git was not found on PATH")
		return
	}
	d.ok("git", "%s", strings.TrimSpace(string(r.Stdout)))
}

func (d *doctor) repository() {
	repo, err := workspace.Open(d.s.ctx, d.s.dir)
	if err == nil {
		d.repo = repo
		d.ok("repository", "%s", repo.Root())
		return
	}
	fix := "see the message"
	for _, known := range []struct {
		is  error
		fix string
	}{
		{workspace.ErrGitMissing, "install git 2.25 or newer"},
		{workspace.ErrGitTooOld, "install git 2.25 or newer"},
		{workspace.ErrNotRepository, "git init, then make a first commit"},
		{workspace.ErrBare, "work in a checkout of it: git clone, or git worktree add"},
		{workspace.ErrUnsafeOwner, "git config --global --add safe.directory " + d.s.dir},
	} {
		if errors.Is(err, known.is) {
			fix = known.fix
			break
		}
	}
	d.problem("repository", fix, "%v", err)
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
	dirty, err := d.repo.Dirty(d.s.ctx)
	switch {
	case err != nil:
		d.problem(check, "see the message", "%v", err)
	case len(dirty) > 0:
		d.warn("checkout", "commit what a run is to see; a merge is refused only for files that it would change",
			"%s not committed: %s", plural(len(dirty), "file is", "files are"), few(dirty))
	default:
		d.ok("checkout", "nothing uncommitted")
	}
}

func (d *doctor) identity() {
	if d.repo == nil {
		return
	}
	r := d.run("git", "var", "GIT_COMMITTER_IDENT")
	if r.Reason != process.Exited || r.Exit != 0 {
		d.problem("identity", `git config --global user.name "…" && git config --global user.email "…"`, "git does not know who commits")
		return
	}
	who, _, _ := strings.Cut(string(r.Stdout), ">")
	d.ok("identity", "%s>", who)
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
			}
		}
		if d.repo == nil || d.at == "" || g.Isolation == graph.Checkout {
			continue
		}
		for _, u := range d.s.uncommittedPrograms(d.repo, g, d.at) {
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

// leftovers looks for runs that were cut off and for worktrees that no run owns any more.
func (d *doctor) leftovers() {
	const check = "earlier runs"
	if d.repo == nil {
		return
	}
	runs, err := journal.At(d.repo.Home()).List()
	if err != nil {
		d.problem(check, "see the message", "%v", err)
		return
	}
	known := map[string]bool{}
	var stopped, waiting []string
	for _, r := range runs {
		known[r.ID] = true
		switch {
		case r.Live:
		case r.Status == "interrupted":
			stopped = append(stopped, r.ID)
		case r.Status == "waiting" || r.Status == "paused":
			waiting = append(waiting, r.ID)
		}
	}
	if len(stopped) > 0 {
		d.warn(check, "foundry resume RUN, or foundry discard RUN", "%s cut off: %s", plural(len(stopped), "run was", "runs were"), few(stopped))
	}
	if len(waiting) > 0 {
		d.warn(check, "foundry show RUN says for what", "%s: %s", plural(len(waiting), "run waits", "runs wait"), few(waiting))
	}
	orphans := d.orphans(check, known)
	if len(stopped)+len(waiting)+orphans == 0 {
		d.ok(check, "%s, nothing left behind", plural(len(runs), "run", "runs"))
	}
}

// orphans reports worktrees whose run has no record, or whose directory is gone.
func (d *doctor) orphans(check string, known map[string]bool) int {
	trees, err := d.repo.Worktrees(d.s.ctx)
	if err != nil {
		d.problem(check, "see the message", "%v", err)
		return 1
	}
	n := 0
	for _, t := range trees {
		switch {
		case t.Run == "":
		case t.Missing || t.Prunable:
			n++
			d.warn(check, "git worktree prune", "the worktree %s is gone, but git still lists it", d.s.display(t.Dir))
		case !known[t.Run]:
			n++
			d.warn(check, "look at it, then: git worktree remove "+d.s.display(t.Dir), "the worktree %s belongs to no known run", d.s.display(t.Dir))
		}
	}
	return n
}

func (d *doctor) platform() {
	if runtime.GOOS == "windows" {
		d.warn("platform", "use WSL or a Linux container for unattended runs",
			"Windows: processes that leave their group are not found, and file modes are not compared")
	}
}

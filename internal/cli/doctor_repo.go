package cli

import (
	"path/filepath"
	"slices"
	"strings"

	"foundry/internal/process"
)

// These checks of doctor look at what a repository has that a fresh worktree lacks, and at what a commit of a run goes
// through.

// hooks says which hooks git_commit will run, and which it would have been meant to.
func (d *doctor) hooks() {
	const check = "hooks"
	if d.repo == nil {
		return
	}
	h, dir := d.facts.Hooks, d.s.display(d.facts.Hooks.Dir)
	off := d.proj != nil && d.proj.doc != nil && d.proj.doc.Project.Hooks.Set && !d.proj.doc.Project.Hooks.Value
	switch {
	case off && len(h.Ready) > 0:
		d.ok(check, "%s: git_commit runs none of them, as project.hooks says", strings.Join(h.Ready, ", "))
		return
	case off:
		d.ok(check, "none run, as project.hooks says")
		return
	case h.Set && h.Missing:
		d.warn(check, "have worktree.setup install them, commit the directory, or set project.hooks: false",
			"core.hooksPath names %s, which a run's worktree does not have: no hook will run there", dir)
	case len(h.Ready) > 0:
		d.ok(check, "git_commit runs %s of %s", strings.Join(h.Ready, ", "), dir)
	case len(h.Stuck) == 0:
		d.ok(check, "there are none for a commit")
	}
	if len(h.Stuck) > 0 {
		var paths []string
		for _, name := range h.Stuck {
			paths = append(paths, d.s.display(filepath.Join(h.Dir, name)))
		}
		d.warn(check, "chmod +x "+strings.Join(paths, " "), "git leaves out %s, which may not be executed", strings.Join(h.Stuck, ", "))
	}
}

// signing says that commits of runs are not signed.
func (d *doctor) signing() {
	if d.repo == nil || !d.facts.Signs {
		return
	}
	d.warn("signing", `sign them before they are pushed: git rebase --exec "git commit --amend --no-edit -S" BASE`,
		"commit.gpgSign is set, and commits of a run are not signed: nobody is there to unlock a key")
}

// submodules says which the worktree of a run will not have.
func (d *doctor) submodules() {
	const check = "submodules"
	if d.repo == nil || len(d.facts.Submodules) == 0 {
		return
	}
	var all, absent []string
	for _, m := range d.facts.Submodules {
		all = append(all, m.Path)
		if !m.Here {
			absent = append(absent, m.Path)
		}
	}
	if len(absent) > 0 {
		d.warn(check, "git submodule update --init", "not checked out here: %s", few(absent))
	}
	if d.setUp("submodule") {
		d.ok(check, "%s; worktree.setup sees to them", few(all))
		return
	}
	d.warn(check, "if a run needs them: project.worktree.setup: [git submodule update --init]", "a run's worktree has none of their files: %s", few(all))
}

// setUp says whether a command that makes worktrees ready speaks of something, or the runs have none.
func (d *doctor) setUp(word string) bool {
	if d.proj == nil || d.proj.doc == nil {
		return false
	}
	p := &d.proj.doc.Project
	if p.Isolation.Set && !p.Isolation.Value {
		return true
	}
	for _, script := range p.Worktree.Setup {
		if strings.Contains(script.Shell.Value, word) || slices.Contains(script.Argv.Values(), word) {
			return true
		}
	}
	return false
}

// filters looks for the programs of the content filters that files of the repository ask for, git-lfs above all.
func (d *doctor) filters() {
	const check = "filters"
	if d.repo == nil {
		return
	}
	for _, f := range d.facts.Filters {
		fix := "configure filter." + f.Name + ", or take it out of " + f.Where
		if f.Name == "lfs" {
			fix = "install git-lfs, then: git lfs install"
		}
		if !f.Set {
			d.warn(check, fix, "%s asks for the filter %s, which is not configured: files are taken as they are stored", f.Where, f.Name)
			continue
		}
		missing := ""
		for _, command := range f.Commands {
			if words, ok := process.Words(strings.ReplaceAll(command, "%f", "file")); ok && missing == "" && findProgram(words[0], d.repo.Root()) != nil {
				missing = words[0]
			}
		}
		switch {
		case missing == "":
			d.ok(check, "%s (%s) was found", f.Name, f.Where)
		case f.Required:
			d.problem(check, fix, "%s asks for the filter %s, git cannot do without, and %s was not found: no worktree can be made", f.Where, f.Name, missing)
		default:
			d.warn(check, fix, "%s asks for the filter %s, and %s was not found: files are taken as they are stored", f.Where, f.Name, missing)
		}
	}
}

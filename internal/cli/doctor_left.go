package cli

import (
	"fmt"
	"os"
	"path/filepath"

	"foundry/internal/journal"
	"foundry/internal/workspace"
)

// These checks of doctor look for what was left behind: by runs, and by a git that was killed.

// earlierRuns looks for runs that were cut off or wait, and for what no run owns any more.
func (d *doctor) earlierRuns() {
	const check = "earlier runs"
	if d.repo == nil {
		return
	}
	store := journal.At(d.repo.Home())
	remains, err := d.repo.Remains(d.s.ctx) // before the records: a run that begins meanwhile has its record first
	if err != nil {
		d.problem(check, "see the message", "%v", err)
		return
	}
	runs, err := store.List()
	if err != nil {
		d.problem(check, "see the message", "%v", err)
		return
	}
	known := map[string]*journal.Entry{}
	var stopped, waiting []string
	before := len(d.done)
	for i := range runs {
		r := &runs[i]
		known[r.ID] = r
		switch {
		case r.Problem != "":
			d.warn(check, "look at "+d.s.display(store.Dir(r.ID))+", and move it away when nothing of it is needed", "the record of %s cannot be read: %s", r.ID, r.Problem)
		case r.Live || r.Discarded:
		case r.Status == "interrupted":
			stopped = append(stopped, r.ID)
		case r.Status == "waiting" || r.Status == "paused":
			waiting = append(waiting, r.ID)
		}
	}
	if len(stopped) > 0 {
		d.warn(check, "foundry resume RUN goes on with one; foundry sweep closes those whose process is gone", "%s cut off: %s", plural(len(stopped), "run was", "runs were"), few(stopped))
	}
	if len(waiting) > 0 {
		d.warn(check, "foundry show RUN says for what", "%s: %s", plural(len(waiting), "run waits", "runs wait"), few(waiting))
	}
	var kept []string
	for _, m := range remains {
		if e := known[m.Run]; e == nil {
			d.ownerless(check, m)
		} else if dirs := d.gone(m); len(dirs) > 0 && !e.Live {
			d.sayGone(check, dirs)
		} else if m.Worktree() && !e.Live && e.Over() {
			kept = append(kept, m.Run)
		}
	}
	if len(kept) > 0 {
		d.ok(check, "%s kept until foundry merge or discard: %s", plural(len(kept), "worktree of an ended run is", "worktrees of ended runs are"), few(kept))
	}
	if len(d.done) == before {
		d.ok(check, "%s, nothing left behind", plural(len(runs), "run", "runs"))
	}
}

// gone are the directories of a run's worktrees that git still lists and that are not there.
func (d *doctor) gone(m workspace.Remains) []string {
	var dirs []string
	if m.Entry != "" && m.Dir == "" {
		dirs = append(dirs, d.repo.WorktreeDir(m.Run))
	}
	for _, a := range m.Aside {
		if dir := d.repo.AsideDir(m.Run, a); !isDir(dir) {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

func (d *doctor) sayGone(check string, dirs []string) {
	for _, dir := range dirs {
		d.warn(check, "git worktree prune", "the worktree %s is gone, but git still lists it", d.s.display(dir))
	}
}

// ownerless reports what a run has left that has no record.
func (d *doctor) ownerless(check string, m workspace.Remains) {
	const fix = "look at it; foundry sweep --prune takes it away when nothing is lost with it"
	dirs := []string{m.Dir}
	for _, a := range m.Aside {
		dirs = append(dirs, d.repo.AsideDir(m.Run, a))
	}
	for _, dir := range dirs {
		if isDir(dir) {
			d.warn(check, fix, "the worktree %s belongs to no known run", d.s.display(dir))
		}
	}
	d.sayGone(check, d.gone(m))
	if m.Branch != "" {
		d.warn(check, fix, "the branch foundry/%s belongs to no known run", m.Run)
	}
	if m.Refs > 0 {
		d.warn(check, "foundry sweep --prune deletes them, and with them what the run had made", "%s under refs/foundry/%s of no known run", plural(m.Refs, "ref", "refs"), m.Run)
	}
}

// gitLocks looks for locks that a git which was killed has left.
func (d *doctor) gitLocks() {
	const check = "git locks"
	if d.repo == nil {
		return
	}
	locks, err := d.repo.Locks()
	if err != nil {
		d.problem(check, "see the message", "%v", err)
		return
	}
	for _, l := range locks {
		path := l.Path
		if rel, err := filepath.Rel(d.s.dir, path); err == nil && filepath.IsLocal(rel) {
			path = rel
		}
		d.warn(check, fmt.Sprintf("when no git is at work in this repository: %s %s", remover(), path), "%s is there, %s old: git refuses to write while it is", path, l.Age)
	}
	if len(locks) == 0 {
		d.ok(check, "there are none")
	}
}

// remover is the command that deletes a file.
func remover() string {
	if os.PathSeparator == '\\' {
		return "del"
	}
	return "rm"
}

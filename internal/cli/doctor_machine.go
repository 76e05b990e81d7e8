package cli

import (
	"fmt"
	"path/filepath"
	"runtime"

	"foundry/internal/journal"
	"foundry/internal/watch"
)

// These checks of doctor look at the machine: the file system that the repository lies on, and the system.

// fileSystem looks at how names and changes of files behave.
func (d *doctor) fileSystem() {
	const check = "file system"
	if d.repo == nil {
		return
	}
	fine := true
	if why := watch.Remote(d.repo.Home()); why != "" {
		fine = false
		d.warn(check, "work on a local disk; foundry watch --mode poll looks at the files themselves", "%s", why)
	}
	if d.facts.FoldsCase != d.facts.SaysFolds {
		fine = false
		d.warn(check, fmt.Sprintf("git config core.ignoreCase %t", d.facts.FoldsCase),
			"core.ignoreCase is %t, and the file system says %t: git and the files disagree about names", d.facts.SaysFolds, d.facts.FoldsCase)
	}
	if len(d.facts.OneName) > 0 {
		fine = false
		d.warn(check, "git mv one of them to another name", "names that differ by case alone are one file here: %s", few(d.facts.OneName))
	}
	switch {
	case fine && d.facts.FoldsCase:
		d.ok(check, "names that differ by case alone are one file, as git knows")
	case fine:
		d.ok(check, "names that differ by case alone are different files")
	}
}

// locking tries the locks by which Foundry knows that a run is live.
func (d *doctor) locking() {
	const check = "file locks"
	if d.repo == nil {
		return
	}
	if err := journal.TryLocks(filepath.Join(d.repo.CommonDir(), "HEAD")); err != nil {
		d.problem(check, "work on a disk whose file system has locks: most local ones do", "%v; two processes could carry out one run", err)
		return
	}
	d.ok(check, "a lock that one process has is refused to another")
}

// roominess is how much of something a disk has left, in bytes or files.
type roominess struct {
	bytes uint64
	files uint64 // that can still be made
	every uint64 // all files that the file system can have; 0 when it has no such limit
}

// space compares what the disk has left with what a worktree takes.
func (d *doctor) space() {
	const check, fix = "disk space", "foundry sweep --prune takes away what runs have left and nobody needs"
	if d.repo == nil {
		return
	}
	left, ok := room(d.repo.Home())
	if !ok {
		return
	}
	const spare = 200 << 20
	bytes, files := uint64(d.facts.Bytes), uint64(d.facts.Files)
	switch {
	case left.bytes < bytes+spare/4:
		d.problem(check, fix, "%s are free, and a worktree takes %s", sized(left.bytes), sized(bytes))
	case left.every > 0 && left.files < files+1000:
		d.problem(check, fix, "%d more files can be made on the disk, and a worktree takes %d (df -i)", left.files, files)
	case left.bytes < 3*bytes+spare:
		d.warn(check, fix, "%s are free, and each worktree takes %s", sized(left.bytes), sized(bytes))
	case left.every > 0 && left.files < 3*files+10_000:
		d.warn(check, fix, "%d more files can be made on the disk, and each worktree takes %d (df -i)", left.files, files)
	default:
		d.ok(check, "%s are free; a worktree takes %s", sized(left.bytes), sized(bytes))
	}
}

// sized is a number of bytes for people.
func sized(n uint64) string {
	units := []string{"B", "kB", "MB", "GB", "TB"}
	i, v := 0, float64(n)
	for v >= 1000 && i < len(units)-1 {
		i, v = i+1, v/1000
	}
	if v < 10 && i > 0 {
		return fmt.Sprintf("%.1f %s", v, units[i])
	}
	return fmt.Sprintf("%.0f %s", v, units[i])
}

// platform says what this system does not give.
func (d *doctor) platform() {
	const check = "platform"
	switch runtime.GOOS {
	case "linux":
	case "windows":
		d.warn(check, "use WSL or a Linux container for unattended runs",
			"Windows: processes that leave their group are not found, a run is not known by the processes above a command, and file modes are not compared")
	default:
		d.ok(check, "%s: processes that leave their group are not found, and a run is not known by the processes above a command; on Linux both are", runtime.GOOS)
	}
}

package workspace

import (
	"errors"
)

// The states of a repository in which Foundry cannot work. Test with errors.Is; the error that wraps one is a
// sentence for a person.
var (
	ErrGitMissing    = errors.New("git is not installed, or not in PATH")
	ErrGitTooOld     = errors.New("git is too old")
	ErrNotRepository = errors.New("not a git repository")
	ErrBare          = errors.New("a bare repository has no checkout to work in")
	ErrNoCommits     = errors.New("the repository has no commits yet; make a first commit, or set isolation: false")
	ErrUnsafeOwner   = errors.New("git does not trust the owner of this repository")
	ErrNoSuchRef     = errors.New("no such branch or commit")
	ErrBrokenLink    = errors.New("the worktree is no longer linked to its repository")
)

// BlockedError is a refusal: nothing was touched. Paths, where they apply, are relative to the root of the
// repository or of the worktree that Reason speaks of, sorted.
type BlockedError struct {
	Reason string // lower case, no full stop
	Paths  []string
	Hint   string // what to do about it
}

// Error names the reason and the first paths.
func (e *BlockedError) Error() string {
	if len(e.Paths) == 0 {
		return e.Reason
	}
	return e.Reason + ": " + few(e.Paths)
}

// LockError says that a lock file of git was in the way for as long as Foundry waits. Foundry never removes a
// lock outside a worktree of its own.
type LockError struct {
	Path string
	Age  string      // how old the file is; empty when it is gone meanwhile
	Also []LockError // others that stand where the same work has to go
}

// Error names the files and their ages, and says what to do about them.
func (e *LockError) Error() string { return e.What() + "; " + e.Remedy() }

// What names the files and their ages.
func (e *LockError) What() string {
	s := "git is locked by " + e.file()
	for _, other := range e.Also {
		s += " and by " + other.file()
	}
	return s
}

func (e *LockError) file() string {
	if e.Age == "" {
		return e.Path
	}
	return e.Path + " (" + e.Age + " old)"
}

// Remedy says what a person is to do: nobody else can know that a lock is nobody's.
func (e *LockError) Remedy() string {
	if len(e.Also) > 0 {
		return "if no git command is running there, remove these files"
	}
	return "if no git command is running there, remove the file"
}

// WorktreeSpec says which worktree a run has.
type WorktreeSpec struct {
	Run      string // the run's id: the name of the directory and of its refs
	Commit   string // the branch point, a full commit id
	Branch   string // short name of the branch to make; not with Detached
	Detached bool
	// Scratch names directories whose ignored content may be lost with the worktree: a path from its root, or
	// a name that counts wherever it stands.
	Scratch []string
	// Again says that the making of this worktree was cut off before anything worked in it: what is left of it
	// is taken away first.
	Again bool
}

// Snapshot is the state of a workspace at one moment, kept by a commit at Ref. It is a value: it can be
// written to a log and loaded again by number or ref.
type Snapshot struct {
	N      int
	Ref    string // refs/foundry/<run>/<n>
	Commit string // the commit at Ref
	Tree   string // every file that is not ignored, with its literal bytes
	Head   string // the commit that HEAD was at; empty before a first commit
	Branch string // the branch that HEAD was on, as refs/heads/…; empty when detached
	// For names what compares with this snapshot: the snapshots that it takes are found by it again (see CutOff).
	For  string
	meta meta
}

// ChangeKind says how a path differs.
type ChangeKind uint8

// The kinds; the zero ChangeKind is invalid.
const (
	Created ChangeKind = iota + 1
	Modified
	Deleted
	Renamed
	TypeChanged
	ModeChanged
)

// String returns the word for the kind that the record uses.
func (k ChangeKind) String() string {
	switch k {
	case Created:
		return "created"
	case Modified:
		return "changed"
	case Deleted:
		return "deleted"
	case Renamed:
		return "renamed"
	case TypeChanged:
		return "type"
	case ModeChanged:
		return "mode"
	}
	return "invalid change"
}

// Change is one difference between two trees.
type Change struct {
	Path           string
	From           string // of a rename: the path before
	Kind           ChangeKind
	EOLOnly        bool // nothing but line endings differs
	Ignored        bool // an ignore rule matches and git does not track it: it would not be committed
	Added, Removed int  // lines; 0 for binary files
	Binary         bool
	OldMode        string // "100644", "100755", "120000"; "000000" where there was nothing
	NewMode        string

	oldBlob, newBlob string
}

// Violation is a change that was not allowed.
type Violation struct {
	Path   string
	Change string // created, changed, deleted, mode, type; head, index, nested; special
	Reason string
	Undone bool
	Note   string // why it was not undone, or what was kept where
}

// Enforced is what a check of the boundary found and did.
type Enforced struct {
	Before     Snapshot // as the phase left it; what was undone is still in it
	End        Snapshot // as it is now; the same as Before when nothing was undone
	Changes    []Change // that stay, sorted by path
	Violations []Violation
	LinkBroken bool // the worktree's link to its repository was broken, and has been mended
	Notes      []string
}

// MergeSpec says what is merged, and into what.
type MergeSpec struct {
	Run         string
	Branch      string // the run's branch, short
	Base        string // the branch to move, short
	BranchPoint string // the commit that Base must still be at
	Tree        string // the snapshot tree that was judged; what is merged must be that
	Message     string // for the commit of what the worktree has uncommitted
	Rebase      bool   // when Base has moved, replay the run's commits on it
	Untested    bool   // land what was replayed although nothing has judged it
}

// MergeResult says what a merge did.
type MergeResult struct {
	Commit   string   // where the base is now
	Was      string   // the commit that was replayed; empty when nothing was
	Files    []string // the paths that changed in it, sorted
	Checkout string   // the directory that was updated; empty when the base is checked out nowhere
	Notes    []string
}

// FileInfo is what is known of one path of a workspace, seen without following a link.
type FileInfo struct {
	Exists bool
	Type   string // file, dir, symlink, fifo, socket, device
	Size   int64  // of the file, or of the file that a link inside the workspace points to
	Exec   bool
	// Problem is why the path does not name something in the workspace: "absolute path", "leaves the
	// workspace", "links out of the workspace".
	Problem   string
	Data      []byte
	Truncated bool // Data is not all of it
}

// Worktree is one entry of git's list of worktrees.
type Worktree struct {
	Dir      string
	Head     string
	Branch   string // short name; empty when detached
	Run      string // of one of Foundry's worktrees of this repository: the run that it belongs to
	Bare     bool
	Missing  bool // the directory is gone
	Prunable bool
}

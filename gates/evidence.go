package gates

// Claim is a path that an envelope declares. Field is the field that holds it, as "changed_files"; Planned
// marks a path of a plan, which claims neither that the file exists nor that it changed.
type Claim struct {
	Field   string
	Path    string
	Planned bool
}

// Probe says what has to be looked at before a gate can be judged.
type Probe struct {
	Paths   []string // lstat these, sorted
	Read    []string // the bytes of these, up to the reader's cap, sorted
	Changes bool     // what this visit changed
	Earlier bool     // what the run changed since the branch point
	Sizes   bool     // added and removed lines of each change
	Run     bool     // the gate's command, or for tests_ran the output of the phase's own
}

// File is what was found at a path, without following a link at its end. Problem says why the path was not
// looked at at all: it is absolute, leaves the workspace, or goes through a link that does. Data is set for
// the paths of Probe.Read; Truncated says that the file is longer.
type File struct {
	Exists    bool
	Type      string // file, dir, symlink, fifo, socket or device
	Size      int64  // bytes
	Problem   string
	Data      []byte
	Truncated bool
}

// ChangeKind says how a path changed.
type ChangeKind uint8

// The kinds of changes; the zero value is invalid.
const (
	Created ChangeKind = iota + 1
	Modified
	Deleted
	Renamed
	TypeChanged
	ModeChanged
)

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
		return "type changed"
	case ModeChanged:
		return "mode changed"
	}
	return "invalid"
}

// Change is one changed path. From is the old path of a rename. Added and Removed count lines; they are 0
// for binary files.
type Change struct {
	Path    string
	From    string
	Kind    ChangeKind
	EOLOnly bool // only line endings differ
	Added   int
	Removed int
}

// Run is how a command went. Exit is -1 when there was no exit code. Passed is measured by the exit codes
// the command may have. Output is its tail. Failed says why the command could not be started; "" when it was.
type Run struct {
	Exit     int
	Passed   bool
	Output   string
	Millis   int64
	TimedOut bool
	Failed   string
}

// Evidence is what was found. Files has an entry for each path of the Probe; Changes are those of the visit,
// Earlier those of the run since its branch point.
type Evidence struct {
	Envelope map[string]any
	Claims   []Claim
	Files    map[string]File
	Changes  []Change
	Earlier  []Change
	Run      *Run
}

// LooksAround says whether the gate judges the workspace as it stands, and not what a visit changed, or reported, alone.
func (s Spec) LooksAround() bool {
	switch s.Kind {
	case ArtifactsExist, FilesNonEmpty, JSONParses, CommandPasses:
		return true
	case TestsRan:
		return s.File != ""
	case DiffMatchesClaims, VerdictConsistent, TestsUntouched, MaxDiff, Expression:
	}
	return false
}

// Probe says what Judge will need to know. The claims are those of the envelope, planned paths included.
func (s Spec) Probe(claims []Claim) Probe {
	switch s.Kind {
	case ArtifactsExist, FilesNonEmpty:
		return Probe{Paths: paths(declared(claims)), Changes: true}
	case JSONParses:
		json := paths(jsonClaims(claims))
		return Probe{Paths: json, Read: json, Changes: true}
	case DiffMatchesClaims:
		return Probe{Changes: true, Earlier: true}
	case CommandPasses:
		return Probe{Run: true}
	case TestsRan:
		if s.File != "" {
			return Probe{Paths: []string{s.File}, Read: []string{s.File}}
		}
		return Probe{Run: true}
	case TestsUntouched:
		return Probe{Changes: true}
	case MaxDiff:
		return Probe{Changes: true, Sizes: true}
	case VerdictConsistent, Expression:
	}
	return Probe{}
}

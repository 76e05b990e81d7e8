// Package gates owns the gate: a function from an envelope and what was found in the workspace to checks.
//
// A Spec says what a gate is to hold, Probe says what has to be looked at, somebody else looks, and Judge
// turns what was found into a Verdict. Nothing here reads a file or starts a program.
package gates

import "slices"

// Kind is the kind of a gate.
type Kind uint8

// The kinds of gates; the zero value is invalid.
const (
	ArtifactsExist Kind = iota + 1
	FilesNonEmpty
	JSONParses
	DiffMatchesClaims
	VerdictConsistent
	CommandPasses
	TestsRan
	TestsUntouched
	MaxDiff
	Expression // an expression holds; judged where expressions can be evaluated, not by Judge
)

// String is the name by which the language knows the kind.
func (k Kind) String() string {
	for i := range table {
		if table[i].Kind == k {
			return table[i].Name
		}
	}
	return "invalid"
}

// Spec is a gate with its arguments.
type Spec struct {
	Name    string // as the phase lists it: the name of a gate of the file, or of its kind
	Kind    Kind
	Require bool   // nothing to look at is a failure
	Message string // what to tell when it fails; "" for nothing more than the checks say

	MayExist   bool     // artifacts_exist: a declared file may be one that this visit did not write
	Globs      []string // tests_untouched
	Report     string   // tests_ran: go-json, junit, tap, go; "" to recognise it
	File       string   // tests_ran: the report's path; "" for the output of the phase's command
	Min        int      // tests_ran: how many tests must have run; 0 is 1
	MaxFiles   int      // max_diff; -1 is no limit, as for the next two
	MaxLines   int      // max_diff: added and removed lines
	MaxDeleted int      // max_diff: deleted files
	Label      string   // command_passes: the command as people know it
}

// ArgType is the type of a gate's argument.
type ArgType uint8

// The types of arguments; the zero value is invalid.
const (
	Flag ArgType = iota + 1
	Count
	Patterns
	Command
	Expr
	Word
	PathArg
)

// Arg is one argument of a kind of gate. Words are the values of an argument of type Word.
type Arg struct {
	Name     string
	Type     ArgType
	Words    []string
	Required bool
}

// Info is one row of the table of gates. Besides Args every gate takes require and message.
type Info struct {
	Name    string
	Kind    Kind
	Args    []Arg
	Short   string // the argument that a bare value stands for; "" when there is none
	Needs   string // the field of the envelope that the gate reads; "" for none. "artifacts" is in every kind
	Summary string // one line, for lists
}

var table = [...]Info{
	{Name: "artifacts_exist", Kind: ArtifactsExist, Needs: "artifacts",
		Args:    []Arg{{Name: "may_exist", Type: Flag}},
		Summary: "each declared path exists, and this visit created or changed it"},
	{Name: "files_non_empty", Kind: FilesNonEmpty, Needs: "artifacts",
		Summary: "declared files have bytes"},
	{Name: "json_parses", Kind: JSONParses, Needs: "artifacts",
		Summary: "declared .json files parse"},
	{Name: "diff_matches_claims", Kind: DiffMatchesClaims, Needs: "artifacts",
		Summary: "what changed is what the envelope claims, path by path"},
	{Name: "verdict_consistent", Kind: VerdictConsistent, Needs: "approved",
		Summary: "an approval has no unmet finding, a rejection names a problem"},
	{Name: "command_passes", Kind: CommandPasses, Short: "command",
		Args:    []Arg{{Name: "command", Type: Command, Required: true}},
		Summary: "a command exits as expected"},
	{Name: "tests_ran", Kind: TestsRan, Short: "report",
		Args: []Arg{{Name: "report", Type: Word, Words: []string{"go-json", "junit", "tap", "go"}},
			{Name: "file", Type: PathArg}, {Name: "min", Type: Count}},
		Summary: "a test report shows that tests ran and none failed"},
	{Name: "tests_untouched", Kind: TestsUntouched, Short: "globs",
		Args:    []Arg{{Name: "globs", Type: Patterns, Required: true}},
		Summary: "files matching the globs are as they were at the start of the visit"},
	{Name: "max_diff", Kind: MaxDiff,
		Args:    []Arg{{Name: "files", Type: Count}, {Name: "lines", Type: Count}, {Name: "deleted", Type: Count}},
		Summary: "files, changed lines and deleted files stay within the numbers"},
	{Name: "check", Kind: Expression, Short: "expr",
		Args:    []Arg{{Name: "expr", Type: Expr, Required: true}},
		Summary: "an expression holds"},
}

// Table returns all kinds of gates in the order of the documentation.
func Table() []Info {
	rows := slices.Clone(table[:])
	for i := range rows {
		rows[i].Args = slices.Clone(rows[i].Args)
	}
	return rows
}

// Find looks a kind of gate up by its name.
func Find(name string) (Info, bool) {
	for _, row := range table {
		if row.Name == name {
			row.Args = slices.Clone(row.Args)
			return row, true
		}
	}
	return Info{}, false
}

// Outcome is what a gate came to.
type Outcome uint8

// The outcomes; the zero value is invalid.
const (
	Passed Outcome = iota + 1 // at least one real check, all of them ok
	Failed
	Empty // there was nothing to look at
)

func (o Outcome) String() string {
	switch o {
	case Passed:
		return "passed"
	case Failed:
		return "failed"
	case Empty:
		return "empty"
	}
	return "invalid"
}

// Check is one thing that a gate looked at. The note says what was found and, when it is not ok, what to do.
type Check struct {
	Item string `json:"item"`
	OK   bool   `json:"ok"`
	Note string `json:"note,omitempty"`
}

// Verdict is a gate's outcome with the checks it rests on.
type Verdict struct {
	Outcome Outcome
	Checks  []Check
}

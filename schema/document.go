// Package schema owns the document: what a pipeline file says, with a place on every leaf and every name
// still unresolved. Decode makes one from bytes; nothing here knows what a route or a condition means.
package schema

import (
	"time"

	"foundry/diag"
)

// Text is a string leaf: its value and the place it was written. A Text that was not written is the zero
// value; Set tells the two apart from an empty string.
type Text struct {
	Value string
	Frag  diag.Fragment
	Set   bool
}

// Span is where the scalar stands, quotes included.
func (t Text) Span() diag.Span { return t.Frag.Whole() }

// Int is a whole-number leaf, written as a plain decimal.
type Int struct {
	Value int
	Span  diag.Span
	Set   bool
}

// Number is a decimal leaf.
type Number struct {
	Value float64
	Span  diag.Span
	Set   bool
}

// Bool is a leaf that was written as true or false.
type Bool struct {
	Value bool
	Span  diag.Span
	Set   bool
}

// Or is the value, or what stands in for it when it was not written.
func (b Bool) Or(absent bool) bool {
	if b.Set {
		return b.Value
	}
	return absent
}

// Duration is a leaf with a unit, such as 90s or 1h30m.
type Duration struct {
	Value time.Duration
	Span  diag.Span
	Set   bool
}

// Or is the value, or what stands in for it when it was not written.
func (d Duration) Or(absent time.Duration) time.Duration {
	if d.Set {
		return d.Value
	}
	return absent
}

// Texts is a list of strings. Set tells an empty list from an absent one.
type Texts struct {
	Items  []Text
	Span   diag.Span
	Set    bool
	Unread bool // it, or an entry, could not be read
}

// Values are the plain strings.
func (t Texts) Values() []string {
	out := make([]string, len(t.Items))
	for i := range t.Items {
		out[i] = t.Items[i].Value
	}
	return out
}

// Pair is one entry of a map of strings.
type Pair struct {
	Name  Text
	Value Text
}

// Pairs is a map of strings in file order.
type Pairs struct {
	Items []Pair
	Span  diag.Span
	Set   bool
}

// Prose is a text that may stand in a file of its own: `key: text` or `key: {file: path}`. For the second
// form File is set and Text is empty until the caller, who may read files, fills it.
type Prose struct {
	Text Text
	File Text
}

// Set says whether either form was written.
func (p Prose) Set() bool { return p.Text.Set || p.File.Set }

// Script is what a code phase, a command or a setup step starts: a string runs in a shell, a list is an argv.
type Script struct {
	Shell Text  // set when a string was written
	Argv  Texts // set when a list was written
}

// Set says whether either form was written.
func (s Script) Set() bool { return s.Shell.Set || s.Argv.Set }

// Span is where the script stands.
func (s Script) Span() diag.Span {
	if s.Shell.Set {
		return s.Shell.Span()
	}
	return s.Argv.Span
}

// ExitCodes is the set of exit codes that count as a pass; nil and not Nonzero means the default, [0].
type ExitCodes struct {
	Codes   []Int
	Nonzero bool
	Span    diag.Span
	Set     bool
}

// Data is a value of no fixed shape (a scripted reply, a default, a gate's arguments): nil, bool, int64,
// float64, string, []Data or Object inside, each with its place.
type Data struct {
	Value any           // nil, bool, int64, float64, string, []Data, []DataField
	Frag  diag.Fragment // of a string
	Span  diag.Span
	Set   bool
}

// DataField is one entry of an object in Data; an object is a []DataField in file order.
type DataField struct {
	Name  Text
	Value Data
}

// Document is one pipeline file.
type Document struct {
	Source    *diag.Source
	Broken    bool // not even the YAML could be read: nothing is known, and nothing may be called missing
	Unlisted  bool // a list or a mapping of definitions is none: which there are is not known
	Unread    bool // something beside pipelines and tests could not be read: what seems to be missing may be there
	Version   Int
	Default   Text
	Include   Texts // patterns from the directory of this file
	Project   Project
	Commands  []Command
	Envelopes []Envelope
	Gates     []Gate
	Agents    []Agent
	Pipelines []Pipeline
	Tests     []Test
}

// Project is the section that speaks of the whole repository.
type Project struct {
	Span      diag.Span
	Name      Text
	Base      Text
	Isolation Bool
	Merge     Text
	Protect   Texts
	Env       Pairs
	Harness   Text
	Argv      Texts
	Model     Text
	Models    Models
	Secrets   Texts
	Hooks     Bool
	Worktree  Worktree
	Keep      Keep
}

// Models are models by the weight of the work.
type Models struct {
	Light, Heavy Text
}

// Worktree says how a fresh worktree is made ready.
type Worktree struct {
	Copy    Texts
	Link    Texts
	Setup   []Script
	Scratch Texts
}

// Keep says how much of a record is kept. Log is in bytes, of one phase.
type Keep struct {
	Runs, Days, Log Int
}

// Command is a named command.
type Command struct {
	Name      Text
	Run       Script
	Dir       Text
	Env       Pairs
	Timeout   Duration
	ExitCodes ExitCodes
}

// Envelope is a kind of envelope that the file defines.
type Envelope struct {
	Name    Text
	Extends Text
	Fields  []Field
}

// Field is one field of an envelope kind.
type Field struct {
	Name     Text
	Type     Text // string int number bool list object path
	Untyped  bool // a type is written and is none of these, which is reported
	Of       Text // element type of a list
	Enum     Texts
	Required Bool
	Default  Data
	Fields   []Field // of an object, or of a list's objects
	Span     diag.Span
}

// Gate is a gate entry: a named one of the file's `gates` section, or one in place in a phase's list. An
// entry that only names (`- vet`) has Kind set to the name and no Args.
type Gate struct {
	Name    Text // in the `gates` section
	Kind    Text // artifacts_exist, check, …, or the name of a gate of the file
	Args    Data // the arguments, a []DataField, a string or a list as the gate wants it
	Require Bool
	Message Text
	Span    diag.Span
}

// Agent is an agent definition; what it extends is not merged yet.
type Agent struct {
	Name            Text
	Unread          bool // something in it could not be read
	Extends         Text
	Description     Text
	Harness         Text
	Argv            Texts
	Script          []ScriptTurn
	ScriptSet       bool
	Model           Text
	Models          Models
	Effort          Text
	Allow, Deny     Texts // tools
	System          Prose
	Prompt          Prose
	Envelope        Text
	EnvelopeRetries Int
	Writes          Texts
	Protect         Texts
	Permissions     Text
	Env             Pairs
	TurnTimeout     Duration
	StallTimeout    Duration
	Fallback        Texts
	Sandbox         Sandbox
	Span            diag.Span
}

// Sandbox says that the kernel keeps an agent from writing more than it has to.
type Sandbox struct {
	Set   bool
	Write Texts // further paths
	Span  diag.Span
}

// ScriptTurn is one entry of a scripted agent: what it writes and what it answers.
type ScriptTurn struct {
	Item  Text
	Files []ScriptFile
	Run   Text
	Reply Data
	Span  diag.Span
}

// ScriptFile is a file that a scripted turn writes; Delete when it was written as null.
type ScriptFile struct {
	Path   Text
	Text   Text
	Delete bool
}

// Pipeline is a pipeline definition.
type Pipeline struct {
	Name        Text
	Unread      bool // something in it could not be read
	Extends     Text
	Patch       []Patch   // changes of the phases of what it extends
	PatchSpan   diag.Span // of the key, nowhere when there is none
	Description Text
	Params      []Param
	Request     Text // optional, required, none
	Isolation   Text // "true", "false" or "detached"
	Merge       Text
	Protect     Texts
	Accept      Text
	Limits      Limits
	Criteria    []Criterion
	FailFast    Bool
	KeepGoing   Bool
	After       After
	Phases      []Phase
	Span        diag.Span
}

// After is what follows the end of a run.
type After struct{ Accepted, Rejected, Always AfterList }

// AfterList is one of its lists. Set: it was written, if only to say that nothing follows.
type AfterList struct {
	List []AfterPhase
	Set  bool
}

// AfterPhase is a command that follows the end of a run.
type AfterPhase struct {
	ID        Text
	When      Text
	Run       Script
	Command   Text
	Env       Pairs
	Dir       Text
	Timeout   Duration
	ExitCodes ExitCodes
	Span      diag.Span
}

// Param is a parameter of a pipeline.
type Param struct {
	Name     Text
	Type     Text // string text int bool choice list path
	Untyped  bool // a type is written and is none of these, which is reported
	Default  Data
	Required Bool
	Choices  Texts
	Span     diag.Span
}

// Limits are a pipeline's budgets.
type Limits struct {
	Time   Duration
	Turns  Int
	Tokens Int
	Cost   Number
	Phases Int
	Span   diag.Span
}

// Criterion is a check that runs before acceptance, and once before the work.
type Criterion struct {
	Name      Text
	Run       Script
	Command   Text
	ExitCodes ExitCodes
	Required  Bool
	Span      diag.Span
}

// Phase is one phase as written: which kind it is has not been judged yet.
type Phase struct {
	ID          Text
	Description Text
	Hint        Text
	Needs       Texts
	Detour      Bool
	When        Text
	Optional    Bool
	Route       Route
	Gates       []Gate
	Timeout     Duration
	Env         Pairs
	Dir         Text
	Writes      Texts
	Protect     Texts
	Commits     Text // deny, allow
	Parallel    Text // turns, worktree

	Agent    Text
	Prompt   Prose
	Inputs   Texts
	Envelope Text
	Model    Text
	Retries  Int
	Reuse    Bool

	Review         Text // an agent
	ReviewRetries  Int
	RevertRejected Bool
	Session        Text

	Run       Script
	Command   Text
	Builtin   Text
	Message   Text
	ExitCodes ExitCodes
	Outputs   []Output
	Repeat    Int
	Sources   Texts

	Ask Text

	Call Text
	Set  Pairs // params of the called pipeline

	Each Each

	Span diag.Span // of the whole phase
}

// Each says that a phase is repeated over a list.
type Each struct {
	In      Text // an expression
	As      Text // the name of an entry; absent: item
	Limit   Int
	Require Text // all, any
	Span    diag.Span
	Set     bool
}

// Patch changes a phase of an extended pipeline, or adds one behind another.
type Patch struct {
	Name  Text // the phase's id
	After Text // of a new phase: the one that it stands behind
	Phase Phase
	Keys  []Text // what was written, After and all of Phase
}

// Route is the rules of a phase: one block text, or a list of rules. Each entry is parsed by itself.
type Route struct {
	Rules []diag.Fragment
	Span  diag.Span
	Set   bool
}

// Output is a value that a code phase reads out of its output.
type Output struct {
	Name     Text
	Regex    Text
	JSON     Text // a pointer
	Type     Text
	Required Bool
	Span     diag.Span
}

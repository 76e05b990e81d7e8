package diag

import "slices"

// Rule is the stable kebab-case name of a kind of finding.
type Rule string

// RuleInfo is one row of the table of rules.
type RuleInfo struct {
	Name     Rule
	Severity Severity
	Summary  string // one line, for lists
}

// The closed table: a finding whose rule is not here cannot be made (Severity panics), and a test demands a
// section in docs/rules.md and a fixture for each row.
const (
	YAMLSyntax         Rule = "yaml-syntax"
	YAMLTag            Rule = "yaml-tag"
	YAMLComment        Rule = "yaml-comment"
	YAMLColon          Rule = "yaml-colon"
	YAMLBraces         Rule = "yaml-braces"
	YAMLFlow           Rule = "yaml-flow"
	YAMLStar           Rule = "yaml-star"
	DuplicateKey       Rule = "duplicate-key"
	UnknownKey         Rule = "unknown-key"
	WrongType          Rule = "wrong-type"
	NotBoolean         Rule = "not-boolean"
	BadNumber          Rule = "bad-number"
	BadDuration        Rule = "bad-duration"
	MissingKey         Rule = "missing-key"
	BadID              Rule = "bad-id"
	DuplicateID        Rule = "duplicate-id"
	ReservedID         Rule = "reserved-id"
	SeveralDocuments   Rule = "several-documents"
	AnchorCycle        Rule = "anchor-cycle"
	TooLarge           Rule = "too-large"
	Encoding           Rule = "encoding"
	UnsupportedVersion Rule = "unsupported-version"
	NotBuilt           Rule = "not-built"
	PhaseKind          Rule = "phase-kind"
	UnknownAgent       Rule = "unknown-agent"
	UnknownCommand     Rule = "unknown-command"
	UnknownGate        Rule = "unknown-gate"
	UnknownPhase       Rule = "unknown-phase"
	UnknownPipeline    Rule = "unknown-pipeline"
	UnknownEnvelope    Rule = "unknown-envelope"
	UnknownField       Rule = "unknown-field"
	UnknownParam       Rule = "unknown-param"
	UnknownBuiltin     Rule = "unknown-builtin"
	UnknownHarness     Rule = "unknown-harness"
	UnknownEnumValue   Rule = "unknown-enum-value"
	ExprSyntax         Rule = "expr-syntax"
	ExprType           Rule = "expr-type"
	RouteSyntax        Rule = "route-syntax"
	UnboundedLoop      Rule = "unbounded-loop"
	NeedsLater         Rule = "needs-later"
	DetourBack         Rule = "detour-back"
	ReadsParallelPhase Rule = "reads-parallel-phase"
	ReadsLaterPhase    Rule = "reads-later-phase"
	JumpSideways       Rule = "jump-sideways"
	Cycle              Rule = "cycle"
	AcceptNever        Rule = "accept-never"
	AcceptSkippable    Rule = "accept-skippable"
	OptionalAsk        Rule = "optional-ask"
	GateConfig         Rule = "gate-config"
	GateMismatch       Rule = "gate-mismatch"
	TemplateSyntax     Rule = "template-syntax"
	TemplateUnknown    Rule = "template-unknown"
	TemplateInShell    Rule = "template-in-shell"
	BadGlob            Rule = "bad-glob"
	MissingFile        Rule = "missing-file"
	EachLimit          Rule = "each-limit"
	Recursion          Rule = "recursion"
	FallbackCycle      Rule = "fallback-cycle"

	UnreachableRule         Rule = "unreachable-rule"
	UnreachablePhase        Rule = "unreachable-phase"
	DanglingPhase           Rule = "dangling-phase"
	NeedsBypassesRoute      Rule = "needs-bypasses-route"
	FeedbackUnread          Rule = "feedback-unread"
	ShellSyntax             Rule = "shell-syntax"
	FoldedScript            Rule = "folded-script"
	BoundaryProtected       Rule = "boundary-protected"
	ArtifactOutsideBoundary Rule = "artifact-outside-boundary"
	SelfReview              Rule = "self-review"
	VerdictThenWrite        Rule = "verdict-then-write"
	Unused                  Rule = "unused"
	FanOutCost              Rule = "fan-out-cost"
	Deprecated              Rule = "deprecated"
)

// Rules returns the whole table, errors first, in the order of the language's documentation.
func Rules() []RuleInfo { return slices.Clone(table[:]) }

// Severity is the rule's usual severity. An unknown rule is a broken invariant.
func (r Rule) Severity() Severity {
	for i := range table {
		if table[i].Name == r {
			return table[i].Severity
		}
	}
	panic("BUG: rule " + string(r) + " is not in the table")
}

// Package dsl owns what a text means by itself: a route's rules, a condition, a template. It knows types and
// names as a Scope gives them, and nothing of files, pipelines or runs.
//
// Rules are participle's to parse (grammar.go, route.go), expressions expr's (text.go). Expressions are typed
// against the scope by a pass of our own (check.go), rewritten so that reading what has no value fails, and
// then compiled by expr (compile.go, program.go). Evaluation (eval.go, logic.go) depends on nothing but the values given.
package dsl

import "foundry/diag"

// Trigger says after which outcome of a phase a rule is tried.
type Trigger uint8

// The triggers; the zero value is invalid.
const (
	Pass Trigger = iota + 1
	Reject
	Fail
	Timeout
	Skip
	Any // pass, reject, fail and timeout
)

var triggerNames = [...]string{Pass: "pass", Reject: "reject", Fail: "fail", Timeout: "timeout", Skip: "skip", Any: "any"}

// String is the trigger as it is written in a rule.
func (t Trigger) String() string {
	if t == 0 || int(t) >= len(triggerNames) {
		return "invalid"
	}
	return triggerNames[t]
}

// Action says what a rule does when it is taken.
type Action uint8

// The actions; the zero value is invalid.
const (
	Goto Action = iota + 1
	Next
	Finish
	Abort
)

var actionNames = [...]string{Goto: "goto", Next: "next", Finish: "finish", Abort: "abort"}

// String names the action; all but Goto are written so in a rule.
func (a Action) String() string {
	if a == 0 || int(a) >= len(actionNames) {
		return "invalid"
	}
	return actionNames[a]
}

// Rule is one rule of a route as written: the target is not resolved and the expressions are not compiled.
type Rule struct {
	Trigger   Trigger
	When      diag.Fragment // the condition; Text is "" when there is none
	Action    Action
	Target    diag.Fragment // the phase of a Goto; for the other actions the word itself
	HasRetry  bool
	Retry     int           // at least 1 when HasRetry
	RetrySpan diag.Span     // the number
	With      diag.Fragment // the text that is handed on; Text is "" when there is none
	Message   string        // of Abort
	Guessed   bool          // the trigger is no word of the language and was taken for the one it resembles, which is reported
	Frag      diag.Fragment // the whole rule without blanks and comments around it
}

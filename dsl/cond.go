package dsl

// The expression as others see it: compile it against a scope, ask what it reads and what it can still become,
// evaluate it.

import (
	"slices"
	"strings"

	"github.com/expr-lang/expr/ast"

	"foundry/diag"
)

// Cond is a compiled expression: a condition, or the text that a rule hands on. It is immutable and may be
// evaluated by any number of goroutines.
type Cond struct {
	text   string
	span   diag.Span
	typ    *Type
	reads  []Read
	values []*read // beside reads
	terms  []Term

	logic   *logic   // of a condition
	program *program // of anything else
	single  *read    // instead of a program, when the expression is nothing but a read
}

// Read is one value that an expression reads. Phase is "" for a name of the place where the expression
// stands, which for a route is the phase just ended. Field is the name itself, or the field of the phase
// ("" when the whole phase is named); Path adds the fields below it, joined by dots.
type Read struct {
	Phase, Field string
	Path         string
	Span         diag.Span
	Guarded      bool // to the right of a && whose left side asks whether this phase has a result
}

// Term is a part of a condition that says how a phase, or the whole run, ended. Func is passed, approved,
// all_phases_pass or last_phase_pass; Phase is "" for the last two. A comparison of a phase's status with
// "success" is passed.
type Term struct {
	Func  string
	Phase string
	Span  diag.Span
}

// Ternary is a truth value that may be unknown.
type Ternary uint8

// The truth values; the zero value is invalid.
const (
	False Ternary = iota + 1
	Unknown
	True
)

// Seen is a term of a condition, as written, with the value it had: true, false, "(no value)", or "(failed)"
// for one that could not be evaluated.
type Seen struct{ Term, Value string }

// Outcome is what an evaluation came to. Err is a *NoValueError or an *EvalError. Seen has the smallest
// boolean terms that were evaluated, in that order; it is empty for an expression that is no condition.
type Outcome struct {
	Value any
	Seen  []Seen
	Err   error
}

const (
	noValue = "(no value)"
	failed  = "(failed)"
)

// CompileCond compiles an expression against what its place can name. want is the type it must have: a
// condition is &Type{Kind: Bool}; nil takes any. With errors the Cond is nil. Nothing of the scope is kept.
func CompileCond(f diag.Fragment, s *Scope, want *Type) (*Cond, diag.List) {
	return compile(f, s, want, inCondition)
}

func compile(f diag.Fragment, s *Scope, want *Type, where place) (*Cond, diag.List) {
	k := checker{src: newSource(f), scope: s, place: where}
	c := &Cond{span: k.src.whole(), text: strings.TrimSpace(f.Text), typ: boolT}
	tree := k.parse()
	if tree == nil {
		return nil, k.diags
	}
	if isLogic(tree) || want != nil && want.Kind == Bool {
		c.logic = k.condition(tree)
	} else {
		node, t := k.node(tree)
		c.typ = t
		if c.single = plainRead(node); c.single == nil && !k.unusable() {
			c.program = k.program(node)
		}
	}
	if want != nil && want.Kind != Bool && !k.diags.HasErrors() && !c.typ.is(want.Kind) {
		k.diags.Report(diag.ExprType, c.span, "%s was expected, and this is %s", want.name(), c.typ.name())
	}
	if k.diags.HasErrors() {
		return nil, k.diags
	}
	c.reads, c.values, c.terms = k.reads, k.values, k.terms
	if k.absent {
		return &Cond{span: c.span, text: c.text, typ: anyT}, k.diags
	}
	return c, k.diags
}

// envelopePrefix begins the spelling envelope:plan.summary, which templates have for
// phases.plan.envelope.summary.
const envelopePrefix = "envelope:"

// parse reads the text into a tree; nil when something was reported.
func (k *checker) parse() ast.Node {
	whole := k.src.frag
	word := leadingName(whole.Text)
	rest, short := strings.CutPrefix(whole.Text[len(word):], ":")
	if !short || k.place == inCondition || word+":" != envelopePrefix && diag.Suggest(word, []string{"envelope"}) == "" {
		return k.src.parse(&k.diags)
	}
	prefix := word + ":"
	if prefix != envelopePrefix { // taken for what it resembles, so that what else is wrong shows too
		k.diags.Report(diag.ExprSyntax, whole.Span(0, len(prefix)), "%q is not a spelling that templates have", prefix).
			Hintf("did you mean %q?", envelopePrefix)
	}
	if strings.TrimSpace(rest) == "" {
		k.diags.Report(diag.ExprSyntax, k.src.whole(), "a phase was expected after \"envelope:\"").Hintf("write it as in envelope:plan.summary")
		return nil
	}
	k.src, k.prefix = newSource(whole.Slice(len(prefix), len(whole.Text))), envelopePrefix
	tree := k.src.parse(&k.diags)
	if tree == nil {
		return nil
	}
	// Put phases and envelope around the name at the root of the chain.
	root := &tree
	for {
		m, ok := (*root).(*ast.MemberNode)
		if !ok {
			break
		}
		root = &m.Node
	}
	id, ok := (*root).(*ast.IdentifierNode)
	if !ok {
		k.diags.Report(diag.ExprSyntax, k.src.whole(), "only a phase and a field of its envelope follow \"envelope:\"").
			Hintf("write phases.ID.envelope.FIELD inside an expression")
		return nil
	}
	place := func(n ast.Node) ast.Node {
		n.SetLocation(id.Location())
		return n
	}
	name := place(&ast.StringNode{Value: id.Value})
	phase := place(&ast.MemberNode{Node: place(&ast.IdentifierNode{Value: "phases"}), Property: name})
	*root = place(&ast.MemberNode{Node: phase, Property: place(&ast.StringNode{Value: "envelope"})})
	return tree
}

// Reads are the values that the expression reads, in the order of the text. The slice is not to be changed.
func (c *Cond) Reads() []Read { return c.reads }

// Text is the expression as written, without blanks around it.
func (c *Cond) Text() string { return c.text }

// Span is where the expression stands.
func (c *Cond) Span() diag.Span { return c.span }

// Type is the static type of the expression's value.
func (c *Cond) Type() *Type { return c.typ }

// Terms are the terms anywhere in the expression, in the order of the text. The slice is not to be changed.
func (c *Cond) Terms() []Term { return c.terms }

// Possible is the value that a condition has when its terms have the given ones and all else is unknown. It
// sees through !, && and ||; a term inside anything else is unknown.
func (c *Cond) Possible(assign func(Term) Ternary) Ternary {
	if c.logic == nil {
		return Unknown
	}
	return c.logic.possible(assign)
}

// Eval evaluates the expression.
func (c *Cond) Eval(v Values) Outcome {
	f := newFrame(v)
	defer f.release()
	var o Outcome
	switch {
	case c.logic != nil:
		var holds bool
		if holds, o.Err = c.logic.holds(f, &o.Seen); o.Err == nil {
			o.Value = holds
		}
	case c.single != nil:
		o.Value, o.Err = f.read(c.single)
	case c.program != nil:
		o.Value, o.Err = f.run(c.program.machine(), c.text)
	default: // it names a phase that this pipeline lacks
		o.Err = &NoValueError{Term: c.text}
	}
	return o
}

// Holds evaluates a condition. A term without a value that is reached is an error; Seen ends with it.
func (c *Cond) Holds(v Values) (bool, []Seen, error) {
	if c.logic == nil {
		panic("BUG: " + c.text + " is no condition")
	}
	f := newFrame(v)
	defer f.release()
	var seen []Seen
	holds, err := c.logic.holds(f, &seen)
	return holds, seen, err
}

// Accept evaluates an acceptance: a term without a value counts as false and is said in Seen, and whatever
// the condition makes of it, its opposite does not become true.
func (c *Cond) Accept(v Values) (bool, []Seen) {
	if c.logic == nil {
		panic("BUG: " + c.text + " is no condition")
	}
	f := newFrame(v)
	defer f.release()
	var seen []Seen
	return c.logic.accept(f, &seen) == True, seen
}

// String evaluates an expression and gives its value as text.
func (c *Cond) String(v Values) (string, []Seen, error) {
	o := c.Eval(v)
	if o.Err != nil {
		return "", o.Seen, o.Err
	}
	return Text(o.Value), o.Seen, nil
}

// Inputs are the values that the expression reads, as they are now, each name once: what a person wants to
// see beside the value of a condition. Long ones are cut.
func (c *Cond) Inputs(v Values) []Seen {
	f := newFrame(v)
	defer f.release()
	var out []Seen
	for _, r := range c.values {
		value, err := f.read(r)
		s := Seen{Term: r.term, Value: noValue}
		if err == nil {
			s.Value = brief(value)
		}
		if !slices.ContainsFunc(out, func(o Seen) bool { return o.Term == s.Term }) {
			out = append(out, s)
		}
	}
	return out
}

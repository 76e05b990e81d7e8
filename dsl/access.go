package dsl

// Names and fields: the part of the checking pass that looks things up in the scope.

import (
	"fmt"
	"slices"
	"strings"

	"github.com/expr-lang/expr/ast"

	"foundry/diag"
)

// placeNames are names that have a value in some places only; naming one elsewhere earns a hint.
var placeNames = []string{
	"request", "params", "status", "reason", "exit", "output", "outputs", "envelope", "changed", "violations", "answer",
	"attempt", "visit", "item", "feedback", "run_id", "branch", "base", "worktree", "handoff_dir", "handoff_files", "context",
}

// ofPhase are those that phases.<id> has too.
var ofPhase = []string{
	"status", "reason", "exit", "output", "outputs", "envelope", "changed", "violations", "answer", "attempt", "visit",
}

// name resolves a name that stands by itself.
func (k *checker) name(n *ast.IdentifierNode) (ast.Node, *Type) {
	if slices.Contains(words, n.Value) {
		k.terms = append(k.terms, Term{Func: n.Value, Span: k.src.spanOf(n)})
		return invoke(n, n.Value, boolT, environment(n)), boolT
	}
	if t, ok := k.scope.variable(n.Value); ok {
		return k.read(n, &read{path: []string{n.Value}, typ: t}), t
	}
	k.unknownName(n)
	return n, anyT
}

func (k *checker) unknownName(n *ast.IdentifierNode) {
	rule := diag.UnknownField
	if k.place != inCondition {
		rule = diag.TemplateUnknown
	}
	name := n.Value
	if name == "phases" {
		k.at(diag.ExprSyntax, n, `"phases" is not a value`).Hintf("name a phase and what is read of it: phases.build.exit")
		return
	}
	if find(name) != nil || slices.Contains(predicates, name) {
		k.at(diag.ExprSyntax, n, `"%s" is a function`, name).Hintf("call it: %s", usage(name))
		return
	}
	if slices.Contains(placeNames, name) {
		d := k.at(rule, n, `"%s" has no value here`, name)
		if slices.Contains(ofPhase, name) {
			d.Hintf("say of which phase: phases.ID.%s", name)
		} else if p := k.scope.variableNames(); len(p) > 0 {
			d.Hintf("known here: %s", strings.Join(p, ", "))
		}
		return
	}
	d := k.at(rule, n, `"%s" is not a name that is known here`, name)
	candidates := append(k.scope.variableNames(), words...)
	candidates = append(candidates, "phases")
	slices.Sort(candidates)
	switch near := diag.Suggest(name, candidates); {
	case k.scope.phase(name) != nil:
		d.Hintf("write phases.%s for what the phase has, or passed(%q)", name, name)
	case near != "":
		d.Hintf("did you mean %q?", near)
	case k.elementHas(name):
		d.Hintf("write .%s for the field of the element", name)
	default:
		d.Hintf("known here: %s; a text stands in quotes", strings.Join(candidates, ", "))
	}
}

// elementHas says whether the element of the innermost closure has a field.
func (k *checker) elementHas(name string) bool {
	if len(k.elems) == 0 {
		return false
	}
	elem := k.elems[len(k.elems)-1]
	_, ok := elem.field(name)
	return ok && elem.Kind == Object
}

// member resolves a.b.c, a["b"] and a[0]. A chain that begins with a name is one read, so that what has no
// value can be named as it was written.
func (k *checker) member(n *ast.MemberNode) (ast.Node, *Type) {
	if n.Optional || n.Method {
		k.at(diag.ExprSyntax, n, "values have fields and no methods")
		return n, anyT
	}
	chain := []*ast.MemberNode{n}
	root := n.Node
	for {
		m, ok := root.(*ast.MemberNode)
		if !ok || m.Optional || m.Method {
			break
		}
		chain = append(chain, m)
		root = m.Node
	}
	slices.Reverse(chain)
	if id, ok := root.(*ast.IdentifierNode); ok {
		if id.Value == "phases" {
			return k.phaseChain(id, chain)
		}
		t, ok := k.scope.variable(id.Value)
		if !ok {
			k.unknownName(id)
			return n, anyT
		}
		return k.chain(&read{path: []string{id.Value}, typ: t}, id, chain)
	}
	base, t := k.node(root)
	return k.steps(base, t, chain)
}

// phaseChain resolves phases.<id> and what is read of it.
func (k *checker) phaseChain(id *ast.IdentifierNode, chain []*ast.MemberNode) (ast.Node, *Type) {
	name, ok := chain[0].Property.(*ast.StringNode)
	if !ok {
		k.fail(diag.ExprSyntax, chain[0].Property, "a phase is named by its id").Hintf("write phases.ID")
		return chain[len(chain)-1], anyT
	}
	p := k.scope.phase(name.Value)
	if p == nil {
		k.unknownPhase(name, name.Value)
		return chain[len(chain)-1], anyT
	}
	return k.chain(&read{phase: p.Name, typ: known(p.Type)}, chain[0], chain[1:])
}

// unknownPhase reports a phase that the pipeline lacks. In a prompt, which several pipelines may share, that
// is no error.
func (k *checker) unknownPhase(n ast.Node, name string) {
	var d *diag.Diagnostic
	switch {
	case k.place == inPrompt:
		k.absent = true
		if k.scope.Elsewhere != nil && k.scope.Elsewhere(name) {
			return
		}
		d = k.at(diag.TemplateUnknown, n, `no pipeline has a phase "%s": the text will say "%s"`, name, notAvailable).As(diag.Warning)
	case k.place == inStrict:
		d = k.at(diag.TemplateUnknown, n, `phase "%s" is not defined`, name)
	default:
		d = k.at(diag.UnknownPhase, n, `phase "%s" is not defined`, name)
	}
	names := k.scope.phaseNames()
	if near := diag.Suggest(name, names); near != "" {
		d.Hintf("did you mean %q?", near)
	} else if len(names) > 0 && len(names) <= 12 {
		d.Hintf("there is: %s", strings.Join(names, ", "))
	}
}

// chain goes along the fields of a read as far as names lead; what is left (an index, and fields after it)
// are steps on the value. written is the part before the chain.
func (k *checker) chain(r *read, written ast.Node, chain []*ast.MemberNode) (ast.Node, *Type) {
	for len(chain) > 0 {
		name, ok := chain[0].Property.(*ast.StringNode)
		if !ok {
			break
		}
		t, ok := k.field(r.typ, name, r)
		if !ok {
			return written, anyT
		}
		r.path, r.typ = append(r.path, name.Value), t
		written, chain = chain[0], chain[1:]
	}
	return k.steps(k.read(written, r), r.typ, chain)
}

// read notes a read and gives the call that carries it out. written is the subtree that it was read from.
func (k *checker) read(written ast.Node, r *read) ast.Node {
	at := k.src.extent(written)
	r.term = k.prefix + k.src.at(at)
	note := Read{Phase: r.phase, Path: strings.Join(r.path, "."), Span: k.src.span(at)}
	note.Guarded = r.phase != "" && slices.Contains(k.guards, r.phase)
	if len(r.path) > 0 {
		note.Field = r.path[0]
	}
	k.reads = append(k.reads, note)
	k.values = append(k.values, r)
	return readCall(written, r)
}

// steps applies fields and indexes to a value that was computed.
func (k *checker) steps(base ast.Node, t *Type, chain []*ast.MemberNode) (ast.Node, *Type) {
	for _, m := range chain {
		s := &step{term: k.src.textOf(m)}
		switch p := m.Property.(type) {
		case *ast.StringNode:
			f, ok := k.field(t, p, nil)
			if !ok {
				return m, anyT
			}
			s.field, s.typ = p.Value, f
		default:
			i, ok := index(p)
			switch {
			case !ok:
				k.fail(diag.ExprSyntax, p, "an index is a whole number that stands there, not one that is computed").
					Hintf("write list[0], or use first, last or filter")
				return m, anyT
			case !t.is(List):
				k.fail(diag.ExprType, p, "only a list has an index, and this is %s", t.name())
				return m, anyT
			}
			s.index, s.typ = i, anyT
			if t.Kind == List {
				s.typ = t.elem()
			}
		}
		base, t = invoke(m, "step", s.typ, base, constant(m, s)), s.typ
	}
	return base, t
}

func index(n ast.Node) (int, bool) {
	switch n := n.(type) {
	case *ast.IntegerNode:
		return n.Value, true
	case *ast.UnaryNode:
		if i, ok := n.Node.(*ast.IntegerNode); ok && n.Operator == "-" {
			return -i.Value, true
		}
	}
	return 0, false
}

// field looks up one field; r is the read so far, for the words of the message.
func (k *checker) field(t *Type, name *ast.StringNode, r *read) (*Type, bool) {
	switch t.Kind {
	case AnyType:
		return anyT, true
	case Object:
		if f, ok := t.field(name.Value); ok {
			return f, true
		}
	case List:
		k.at(diag.ExprType, name, "a list has no fields").Hintf("ask its elements: any(list, .%s …), or take one: list[0].%s", name.Value, name.Value)
		return nil, false
	default:
		k.at(diag.ExprType, name, "%s has no fields", t.name())
		return nil, false
	}
	rule, what := diag.UnknownField, `there is no field "%s" here`
	switch {
	case r != nil && r.phase == "" && len(r.path) == 1 && r.path[0] == "params":
		rule, what = diag.UnknownParam, `param "%s" is not declared`
	case r != nil && r.phase != "" && len(r.path) == 0:
		what = `phase "` + strings.ReplaceAll(r.phase, "%", "%%") + `" has no "%s"`
	}
	d := k.at(rule, name, what, name.Value)
	if near := diag.Suggest(name.Value, t.fieldNames()); near != "" {
		d.Hintf("did you mean %q?", near)
		return nil, false
	}
	if len(t.Fields) > 0 {
		d.Hintf("there is: %s", strings.Join(t.fieldNames(), ", "))
	}
	if rule == diag.UnknownParam {
		declare := fmt.Sprintf("declare it: params: {%s: {%s}}", name.Value, k.guessParam(name))
		if d.Hint != "" {
			declare = d.Hint + "; or " + declare
		}
		d.Hintf("%s", declare)
	}
	return nil, false
}

// guessParam is the declaration of a param that was read without being declared: a switch where it stands alone in
// a condition, else a text.
func (k *checker) guessParam(name *ast.StringNode) string {
	after := strings.TrimSpace(k.src.frag.Text[k.src.offset(name.Location().To):])
	alone := after == "" || strings.HasPrefix(after, "&&") || strings.HasPrefix(after, "||") || after[0] == ')'
	if k.place == inCondition && alone {
		return "type: bool, default: false"
	}
	return `type: string, default: ""`
}

package dsl

import (
	"fmt"
	"strings"
	"testing"

	"foundry/diag"
)

// before stands in front of each text under test, so that a position that forgets to be mapped shows.
const before = "key: \"é\" # "

// in makes a fragment of a text that stands in the middle of a file.
func in(text string) diag.Fragment {
	src := diag.NewSource("foundry.yaml", before+text+"\nrest: 1\n")
	at := make([]int, len(text)+1)
	for i := range at {
		at[i] = len(before) + i
	}
	return diag.NewFragment(text, diag.Span{Source: src, Start: len(before), End: len(before) + len(text)}, at)
}

// found is a list of findings as "rule [spanned text] message; hint" lines.
func found(l diag.List) string {
	var out []string
	for _, d := range l.Sorted() {
		line := fmt.Sprintf("%s [%s] %s", d.Rule, d.Span.Text(), d.Message)
		if d.Severity == diag.Warning {
			line = "warning " + line
		}
		if d.Hint != "" {
			line += "; " + d.Hint
		}
		out = append(out, line)
	}
	return strings.Join(out, "\n")
}

func object(fields ...Field) *Type { return &Type{Kind: Object, Fields: fields} }

// scopeOf is a place after a review phase, in a pipeline of three phases.
func scopeOf() *Scope {
	status := &Type{Kind: String, Enum: []string{"fail", "queued", "rejected", "skipped", "success"}}
	paths := &Type{Kind: List, Elem: &Type{Kind: String}}
	finding := object(Field{"requirement", stringT}, Field{"met", boolT}, Field{"weight", intT})
	envelope := object(
		Field{"status", status}, Field{"summary", stringT}, Field{"approved", boolT}, Field{"blocking", paths},
		Field{"findings", &Type{Kind: List, Elem: finding}}, Field{"count", intT},
		Field{"severity", &Type{Kind: String, Enum: []string{"high", "low"}}}, Field{"extra", object()},
	)
	envelope.Fields[len(envelope.Fields)-1].Type = &Type{Kind: Object} // any fields
	phase := object(
		Field{"status", status}, Field{"visits", intT}, Field{"exit", intT}, Field{"output", stringT},
		Field{"envelope", envelope}, Field{"changed", paths},
	)
	return &Scope{
		Vars: []Var{
			{"request", stringT},
			{"params", object(Field{"area", stringT}, Field{"n", intT}, Field{"shaped", boolT})},
			{"status", status}, {"exit", intT}, {"output", stringT}, {"envelope", envelope},
			{"changed", paths}, {"score", numberT}, {"free", nil}, {"sizes", &Type{Kind: List, Elem: intT}},
		},
		Phases:    []PhaseVar{{"build", phase, false}, {"review", phase, true}, {"test", phase, false}},
		Elsewhere: func(phase string) bool { return phase == "plan" },
	}
}

// valuesOf are values for scopeOf: build has run and passed, test and review have not run.
func valuesOf() Values {
	return Values{
		Vars: map[string]any{
			"request": "do it", "params": map[string]any{"area": "api", "n": 3.0, "shaped": true},
			"status": "rejected", "exit": 2, "output": "one\ntwo\nthree\n", "score": 2, "free": "x", "sizes": []any{1.0, 2, int64(3)},
			"changed": []string{"a.go", "src/b.go"},
			"envelope": map[string]any{
				"approved": false, "summary": "s", "count": 4.0, "severity": "low", "blocking": []any{"x", "y"}, "extra": map[string]any{"k": 1},
				"findings": []any{
					map[string]any{"met": false, "requirement": "r1", "weight": 2},
					map[string]any{"met": true, "requirement": "r2", "weight": 3.0},
				},
			},
		},
		Phase: func(id string) map[string]any {
			if id == "build" {
				return map[string]any{"status": "success", "visits": 1, "exit": 0, "changed": []any{}, "envelope": map[string]any{"summary": "built"}}
			}
			return map[string]any{"status": "queued", "visits": 0}
		},
		Passed:   func(id string) bool { return id == "build" },
		Approved: func(string) bool { return false },
		AllPass:  func() bool { return true },
		LastPass: func() bool { return false },
	}
}

func condition(t testing.TB, text string) *Cond {
	t.Helper()
	c, bad := CompileCond(in(text), scopeOf(), boolT)
	if c == nil || bad.Len() > 0 {
		t.Fatalf("%s: %s", text, found(bad))
	}
	return c
}

// The documentation lists every function, with a line of its own.
func TestFunctionsAreDescribed(t *testing.T) {
	t.Parallel()
	list := Functions()
	if len(list) != len(functionNames()) {
		t.Errorf("%d functions are listed, %d can be called", len(list), len(functionNames()))
	}
	for _, f := range list {
		if f.Doc == "" || strings.HasSuffix(f.Doc, ".") || !strings.Contains(f.Usage, f.Name+"(") {
			t.Errorf("bad row %+v", f)
		}
	}
}

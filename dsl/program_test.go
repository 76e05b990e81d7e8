package dsl

import (
	"strings"
	"testing"
)

// machines makes every program of a condition that is made when it is first run; expr refusing one panics.
func (c *Cond) machines() (late int) {
	var walk func(*logic)
	make := func(p *program) {
		if p == nil {
			return
		}
		if p.made == nil {
			late++
		}
		p.machine()
	}
	walk = func(l *logic) {
		if l != nil {
			make(l.leaf.program)
			walk(l.left)
			walk(l.right)
		}
	}
	make(c.program)
	walk(c.logic)
	return late
}

// Whatever compiles also has a program: making one late hides no finding.
func TestLateProgramsCompile(t *testing.T) {
	t.Parallel()
	values := []string{"request", "params.area", "params.n", "params.shaped", "status", "exit", "score", "free", "sizes", "changed", "envelope", "envelope.count", "envelope.severity",
		"phases.build.status", "phases.build.exit", `"low"`, `""`, `"success"`, "2", "2.5", "true", "false", "-1", "tail(output, 3)", "(exit)", "sizes[0]", "len(changed)", "exit + 1"}
	compiled, late := 0, 0
	check := func(text string, want *Type) {
		if c, _ := CompileCond(in(text), scopeOf(), want); c != nil {
			compiled++
			late += c.machines()
			c.Eval(valuesOf())
		}
	}
	for _, a := range values {
		for _, b := range values {
			for _, op := range []string{"==", "!=", "<", ">", "<=", ">="} {
				check(strings.Join([]string{a, op, b}, " "), boolT)
			}
			check("tail("+a+", "+b+")", nil)
		}
	}
	if compiled < 500 || late < 200 {
		t.Errorf("%d expressions compiled, %d of them late", compiled, late)
	}
}

package dsl

import (
	"fmt"
	"strings"
	"testing"
)

func BenchmarkParseRule(b *testing.B) {
	f := in(`on fail when exit == 2 -> plan retry 1 with "does not compile:\n" + tail(output, 40)`)
	b.ReportAllocs()
	for b.Loop() {
		if _, bad := ParseRule(f); bad.Len() > 0 {
			b.Fatal(found(bad))
		}
	}
}

func BenchmarkCompileCond(b *testing.B) {
	s := scopeOf()
	for len(s.Phases) < 1000 { // the size of the pipeline is not to matter
		s.Phases = append(s.Phases, PhaseVar{Name: fmt.Sprintf("u%04d", len(s.Phases)), Type: s.Phases[0].Type})
	}
	for name, text := range map[string]string{"simple": `exit == 2`, "accept": `passed("test") && approved("review")`, "closure": `any(envelope.findings, !.met) && len(changed) < 5`} {
		f := in(text)
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, bad := CompileCond(f, s, boolT); bad.Len() > 0 {
					b.Fatal(found(bad))
				}
			}
		})
	}
}

func BenchmarkHolds(b *testing.B) {
	v := valuesOf()
	for name, text := range map[string]string{"read": `params.shaped`, "simple": `exit == 2`, "accept": `passed("build") && all_phases_pass`, "closure": `any(envelope.findings, !.met) && len(changed) < 5`} {
		c := condition(b, text)
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if ok, _, err := c.Holds(v); !ok || err != nil {
					b.Fatal(ok, err)
				}
			}
		})
	}
}

func BenchmarkTemplate(b *testing.B) {
	text := strings.Repeat("Some prose with {braces} and words.\n", 3000) + "{{request}} {{changed}}"
	s, v := scopeOf(), valuesOf()
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		tm, bad := CompileTemplate(in(text), s, Prompt)
		if tm == nil {
			b.Fatal(found(bad))
		}
		if _, err := tm.Render(v); err != nil {
			b.Fatal(err)
		}
	}
}

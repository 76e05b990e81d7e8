package dsl

import (
	"testing"

	"github.com/alecthomas/participle/v2/lexer"
)

// reference is the same lexer, made by participle of regular expressions. Rules whose names begin in lower case
// are dropped by it.
var reference = func() *lexer.StatefulDefinition {
	comment := lexer.Rule{Name: "comment", Pattern: `//[^\n]*`}
	quoted := lexer.Rule{Name: "String", Pattern: `"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|` + "`[^`]*`"}
	text := lexer.Rule{Name: "Text", Pattern: "[^\"'`/-]+|(?s:.)"}
	return lexer.MustStateful(lexer.Rules{
		"Root": {
			comment,
			{Name: "space", Pattern: `\s+`},
			{Name: "When", Pattern: `when\b`, Action: lexer.Push("Cond")},
			{Name: "With", Pattern: `with\b`, Action: lexer.Push("Rest")},
			{Name: "Word", Pattern: `(?:on|pass|reject|fail|timeout|skip|any|retry|next|finish|abort)\b`},
			{Name: "PhaseId", Pattern: `[\p{L}_][\p{L}\p{N}_]*(?:-[\p{L}\p{N}_]+)*`},
			{Name: "Int", Pattern: `[0-9][0-9A-Za-z_.]*`},
			{Name: "Arrow", Pattern: `->`},
			quoted,
			{Name: "Other", Pattern: `(?s:.)`},
		},
		"Cond": {
			comment,
			{Name: "Then", Pattern: `->`, Action: lexer.Pop()},
			quoted,
			text,
		},
		"Rest": {comment, quoted, text},
	})
}()

// FuzzRuleLexer compares the lexer with the reference, token by token.
func FuzzRuleLexer(f *testing.F) {
	for _, seed := range []string{
		"on fail when exit == 2 -> build retry 2 with tail(output, 20) // why\n-> x",
		"on pass-through -> Été-2--x_9-", "on\tany\u00a0->\fnext", `on fail when output contains "-> \" //" && 'a\'' == x-1 -> abort "no"`,
		"when->with `a\nb` `", "on fail whenx -> 12ab.c3 007", "\"a\\\nb\" 'x\n' \"\\", "on fail -> abort \"\xff\xfe\" ٣a a٣ ñ onñ /", "- -- --> / // \r\n -",
	} {
		f.Add(seed)
	}
	names := map[lexer.TokenType]string{}
	for name, kind := range (ruleTokens{}).Symbols() {
		names[kind] = name
	}
	wantNames := map[lexer.TokenType]string{}
	for name, kind := range reference.Symbols() {
		wantNames[kind] = name
	}
	f.Fuzz(func(t *testing.T, text string) {
		want, err := reference.LexString("", text)
		if err != nil {
			t.Fatal(err)
		}
		got, _ := ruleTokens{}.LexString("", text)
		for {
			w, err := want.Next()
			if err != nil {
				t.Fatalf("the reference: %v", err)
			}
			g, err := got.Next()
			if err != nil || g.Value != w.Value || g.Pos != w.Pos || names[g.Type] != wantNames[w.Type] {
				t.Fatalf("%s %q at %v, want %s %q at %v (%v)", names[g.Type], g.Value, g.Pos, wantNames[w.Type], w.Value, w.Pos, err)
			}
			if g.EOF() {
				return
			}
		}
	})
}

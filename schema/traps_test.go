package schema

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"foundry/diag"
)

// Lines that look innocent and that YAML reads differently. Each stands as part of a phase; the finding must
// have the rule, point at the given text, and its hint, applied to the line, must make it go away.
func TestTraps(t *testing.T) {
	t.Parallel()
	tests := []struct {
		line string
		rule diag.Rule
		at   string // the text under the caret
		hint string // part of the hint
	}{
		{`when: !envelope.approved`, diag.YAMLTag, `!envelope.approved`, `not envelope.approved`},
		{`when: ! envelope.approved`, diag.YAMLTag, `!`, `not envelope.approved`},
		{`when: !passed("a")`, diag.YAMLTag, `!`, `'!passed("a")'`},
		{`writes: [!vendor/**]`, diag.YAMLTag, `!vendor/**`, `vendor/**`},
		{"writes:\n          - !vendor/**", diag.YAMLTag, `!vendor/**`, `protect`},
		{"route:\n          - on fail -> fix retry 1 with \"see #12\"", diag.YAMLComment, `#`, `'on fail -> fix retry 1 with "see #12"'`},
		{`when: any(changed, # startsWith "src/")`, diag.YAMLComment, `#`, `'any(changed, # startsWith "src/")'`},
		{`run: echo closes #12 && make release`, diag.YAMLComment, `#`, `'echo closes #12 && make release'`},
		{"route:\n          - on fail -> abort \"broken: x\"", diag.YAMLColon, `:`, `'on fail -> abort "broken: x"'`},
		{"route:\n          - on fail -> fix retry 1 with \"error: \" + output", diag.YAMLColon, `:`, `'on fail -> fix retry 1 with "error: " + output'`},
		{`when: exit == 2 ? true : false`, diag.YAMLColon, `:`, `'exit == 2 ? true : false'`},
		{`gates: [{check: exit in [0, 3], message: m}]`, diag.YAMLFlow, `[`, `'exit in [0, 3]'`},
		{`gates: [{check: envelope?.approved}]`, diag.YAMLFlow, `?`, `'envelope?.approved'`},
		{`gates: [{check: len(filter(changed, true)) <= 20}]`, diag.YAMLFlow, `true)) <= 20`, `quote`},
		{`run: {{inputs.area}}`, diag.YAMLBraces, `{{`, `'{{inputs.area}}'`},
		{`hint: {{request}} please`, diag.YAMLBraces, `{{`, `hint: '{{request}} please'`},
		{`writes: [**/*.md]`, diag.YAMLStar, `*`, `'**/*.md'`},
		{"writes:\n          - *.md", diag.YAMLStar, `*`, `'*.md'`},
		{`writes: [docs/{a,b}/**]`, diag.YAMLFlow, `{`, `'docs/{a,b}/**'`},
		{`when: "fix" in request`, diag.YAMLSyntax, `in request`, `when: '"fix" in request'`},
		{`outputs: {v: {regex: "(\S+)"}}`, diag.YAMLSyntax, `\S`, `'(\S+)'`},
		{`run: [ -f go.mod ] && go vet`, diag.YAMLFlow, `[`, `'[ -f go.mod ] && go vet'`},
		{`hint: Plan: then build`, diag.YAMLColon, `:`, `'Plan: then build'`},
		{`run: sed -i "s/max: 1/max: 5/" conf`, diag.YAMLColon, `:`, `'sed -i "s/max: 1/max: 5/" conf'`},
		{`run: cut -f2 -d:`, diag.YAMLColon, `:`, `'cut -f2 -d:'`},
		{`run: @make`, diag.YAMLSyntax, `@`, `'@make'`},
		{"run: `date`", diag.YAMLSyntax, "`", "'`date`'"},
		{`run: && make`, diag.YAMLSyntax, `&`, `'&& make'`},
		{"run: | echo\n          make", diag.YAMLSyntax, `echo`, `next line`},
		{"run: make\n\thint: x", diag.YAMLSyntax, "\t", `spaces`},
		{`run: "C:\new\table.exe"`, diag.ShellSyntax, `\t`, `single quotes`},
		{`needs: build`, diag.WrongType, `build`, `[build]`},
		{`optional: yes`, diag.NotBoolean, `yes`, `true`},
		{`optional: "true"`, diag.NotBoolean, `"true"`, `true`},
		{`run: [true]`, diag.WrongType, `true`, `"true"`},
		{`run: [echo, ~]`, diag.WrongType, `~`, ``},
		{`env: {A: null}`, diag.WrongType, `null`, `""`},
		{"env:\n          A:", diag.WrongType, `A`, `""`},
		{`timeout: 1:30`, diag.BadDuration, `1:30`, `1m30s`},
		{`timeout: 90`, diag.BadDuration, `90`, `90s`},
		{`timeout: 0s`, diag.BadDuration, `0s`, ``},
		{`timeout: 2d`, diag.BadDuration, `2d`, `48h`},
		{`retries: 08`, diag.BadNumber, `08`, `8`},
		{`retries: 0o10`, diag.BadNumber, `0o10`, `8`},
		{`retries: 1_000`, diag.BadNumber, `1_000`, `1000`},
		{`retries: "2"`, diag.BadNumber, `"2"`, `2`},
		{`retries: 1.0`, diag.BadNumber, `1.0`, `1`},
		{`retries: -1`, diag.BadNumber, `-1`, ``},
		{`retries: 99999999999999999999`, diag.BadNumber, `99999999999999999999`, ``},
		{`run: >` + "\n          cd x\n          make", diag.FoldedScript, `>`, `|`},
		{`exit_codes: 3`, diag.WrongType, `3`, `[3]`},
		{`exit_codes: [300]`, diag.BadNumber, `300`, ``},
		{`commits: alow`, diag.UnknownEnumValue, `alow`, `allow`},
		{`Hint: x`, diag.UnknownKey, `Hint`, `hint`},
		{`depends_on: [a]`, diag.UnknownKey, `depends_on`, `needs`},
		{`if: exit == 0`, diag.UnknownKey, `if`, `when`},
		{`continue-on-error: true`, diag.UnknownKey, `continue-on-error`, `optional`},
		{`script: make`, diag.UnknownKey, `script`, `run`},
		{`matrix: {in: x, limit: 3}`, diag.UnknownKey, `matrix`, `each`},
		{`limits: {time: 1h}`, diag.UnknownKey, `limits`, `a pipeline`},
		{`depends_on: build`, diag.UnknownKey, `depends_on`, `write needs: [build]`},
		{`depends_on: [build, "größe"]`, diag.UnknownKey, `depends_on`, `write needs: [build, "größe"]`},
		{`steps: [a]`, diag.UnknownKey, `steps`, `make each one a phase`},
		{`on_fail: build`, diag.UnknownKey, `on_fail`, `write route: [on fail -> build retry 1]`},
		{`on_success: next`, diag.UnknownKey, `on_success`, `write route: [on pass -> next]`},
		{`protect: [!vendor/**, "go.sum"]`, diag.YAMLTag, `!vendor/**`, `remove it: what protect names has no exceptions`},
		{`protect: ["a", !vendor/**]`, diag.YAMLTag, `!vendor/**`, `remove it: what protect`},
		{`writes: [!vendor/**, x]`, diag.YAMLTag, `!vendor/**`, `name vendor/** under protect`},
		{`exit_codes: nonzeros`, diag.WrongType, `nonzeros`, `did you mean "nonzero"?`},
		{`timeout: 2`, diag.BadDuration, `2`, `2h for hours`},
		{`each: {in: x}`, diag.EachLimit, `each`, `limit: how many`},
		{`each: {in: x, limit: 0}`, diag.EachLimit, `0`, `limit: 200`},
		{`each: {in: x, limit: 201}`, diag.EachLimit, `201`, `limit: 200`},
		{`each: {in: x, limit: -1}`, diag.EachLimit, `-1`, `limit: 200`},
		{`each: {in: x, limit: 3, as: request}`, diag.ReservedID, `request`, `request_item`},
		{`each: {in: x, limit: 3, require: most}`, diag.UnknownEnumValue, `most`, ``},
		{`hint:`, diag.WrongType, `hint`, `remove`},
	}
	var hints atomic.Int32
	t.Cleanup(func() {
		if n := hints.Load(); int(n) < len(tests)*2/3 {
			t.Errorf("only %d hints could be followed", n)
		}
	})
	for _, tt := range tests {
		t.Run(strings.Fields(tt.line)[0]+tt.at, func(t *testing.T) {
			t.Parallel()
			kind := "run: make"
			key, _, _ := strings.Cut(tt.line, ":")
			switch key {
			case "run":
				kind = "hint: a"
			case "retries":
				kind = "agent: a"
			}
			file := "version: 1\npipelines:\n  p:\n    phases:\n      - id: größe\n"
			file = strings.Replace(file, "größe", "a\n        description: \"größe 日本\"", 1) + "        " + kind + "\n        " + tt.line + "\n"
			_, list := Decode(diag.NewSource("foundry.yaml", file))
			found := list.Sorted()
			if len(found) != 1 {
				t.Fatalf("%d findings: %v", len(found), show(found))
			}
			d := found[0]
			if d.Rule != tt.rule || d.Span.Text() != tt.at || !strings.Contains(d.Hint, tt.hint) {
				t.Fatalf("got %s, want %s at %q with a hint %q", show(found), tt.rule, tt.at, tt.hint)
			}
			if followed(t, file, d) {
				hints.Add(1)
			}
		})
	}
}

func show(found []diag.Diagnostic) string {
	var b strings.Builder
	for _, d := range found {
		p := d.Span.Position()
		fmt.Fprintf(&b, "\n  %d:%d %s: %s [%q] hint: %s", p.Line, p.Column, d.Rule, d.Message, d.Span.Text(), d.Hint)
	}
	return b.String()
}

func TestTrapsOfOtherPlaces(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, file string
		want       []string // line:column rule
	}{
		{"empty", "", []string{"1:1 missing-key"}},
		{"only comments", "# nothing\n\n", []string{"1:1 missing-key"}},
		{"only a marker", "---\n", []string{"1:1 missing-key"}},
		{"a list", "- a\n", []string{"1:1 wrong-type"}},
		{"a text", "hello\n", []string{"1:1 wrong-type"}},
		{"two documents", "version: 1\n---\nversion: 1\n", []string{"2:1 several-documents"}},
		{"prose after a rule", "version: 1\nagents:\n  a:\n    prompt: |\n      title\n---\nrest of the prompt: {\n", []string{"6:1 several-documents"}},
		{"leading marker and directive", "%YAML 1.2\n---\n# one\nversion: 1\n...\n", nil},
		{"comment documents", "# header\n---\nversion: 1\n---\n# nothing\n", nil},
		{"version absent", "default: a\n", []string{"1:1 missing-key"}},
		{"version 2", "version: 2\n", []string{"1:10 unsupported-version"}},
		{"version 1.10", "version: 1.10\n", []string{"1:10 unsupported-version"}},
		{"version quoted", "version: \"1\"\n", []string{"1:10 bad-number"}},
		{"extension keys", "version: 1\nx-anything: {a: [1, *b]}\n", []string{"2:21 yaml-star"}},
		{"extension keys hold anchors", "version: 1\nx-a: &a {run: make}\ncommands: {b: *a}\n", nil},
		{"nul", "version: 1\x00\n", []string{"1:11 encoding"}},
		{"latin 1", "version: 1 # gr\xf6\xdfe\n", []string{"1:16 encoding"}},
		{"utf-16", "\xff\xfev\x00", []string{"1:1 encoding"}},
		{"byte order mark", "\ufeffversion: 2\n", []string{"1:10 unsupported-version"}},
		{"line separator", "# a\u2028version: 2\n", []string{"1:4 encoding"}},
		{"lone return", "# a\rversion: 2\n", []string{"1:4 encoding"}},
		{"crlf", "version: 1\r\ndefault: 1.10\r\ncommands:\r\n  a: {run: x, timeout: 5}\r\n", []string{"4:24 bad-duration"}},
		{"self alias", "version: 1\npipelines: &p\n  a: {phases: [{id: x, run: y, note: *p}]}\n", []string{"3:32 unknown-key", "3:38 anchor-cycle"}},
		{"undefined alias", "version: 1\ncommands: {a: *nope}\n", []string{"2:15 yaml-star"}},
		{"keys twice", "version: 1\ncommands: {a: x}\nagents: {b: {writes: [], writes: [x], Writes: [y]}}\ncommands: {}\n",
			[]string{"3:26 duplicate-key", "3:39 unknown-key", "4:1 duplicate-key"}},
		{"ids twice", "version: 1\npipelines:\n  p:\n    phases:\n      - {id: a, run: x}\n      - {id: a, run: x}\n", []string{"6:14 duplicate-id"}},
		{"reserved id", "version: 1\npipelines: {p: {phases: [{id: yes, run: x}, {id: true, run: x}, {id: 007, run: x}]}}\n",
			[]string{"2:31 reserved-id", "2:50 reserved-id", "2:70 bad-id"}},
		{"bad names", "version: 1\ncommands: {My Test: x}\npipelines: {P: {phases: [{id: a-b, run: x}]}}\n", []string{"2:12 bad-id", "3:13 bad-id", "3:31 bad-id"}},
		{"no kind", "version: 1\npipelines: {p: {phases: [{id: a}, {id: b, run: x, agent: y}, {run: z}]}}\n",
			[]string{"2:31 phase-kind", "2:51 phase-kind", "2:62 missing-key"}},
		{"key of another kind", "version: 1\npipelines: {p: {phases: [{id: a, run: x, retries: 1}, {id: b, ask: q, outputs: {}}]}}\n",
			[]string{"2:42 unknown-key", "2:71 unknown-key"}},
		{"no phases", "version: 1\npipelines: {p: {}, q: {phases: []}}\n", []string{"2:13 missing-key", "2:32 missing-key"}},
		{"phases at the top", "version: 1\nphases: []\n", []string{"2:1 unknown-key"}},
		{"sections have no value", "version: 1\nagents:\ncommands: ~\n", []string{"2:1 wrong-type", "3:11 wrong-type"}},
		{"all at once", "version: 1\nnope: 1\nagents: {a: {retries: 1}}\ncommands: {b: {run: []}}\npipelines: {c: {phases: x}}\n",
			[]string{"2:1 unknown-key", "3:14 unknown-key", "4:21 wrong-type", "5:25 wrong-type"}},
		{"sandbox", "version: 1\nagents: {a: {sandbox: true}, b: {sandbox: }, c: {sandbox: {write: x, read: []}}, d: {sandbox: {}}}\n",
			[]string{"2:23 wrong-type", "2:34 wrong-type", "2:67 wrong-type", "2:70 unknown-key"}},
		{"two gates in one entry", "version: 1\ngates: {g: {a: 1, b: 2, require: true}, h: {require: true}}\n", []string{"2:19 unknown-key", "2:44 missing-key"}},
		{"unclosed list", "version: 1\ndefault: [a, b\ncommands: {}\n", []string{"2:10 yaml-syntax"}},
		{"unclosed quote", "version: 1\ndefault: \"a\ncommands: {}\n", []string{"2:10 yaml-syntax"}},
		{"bad indentation", "version: 1\nproject:\n  name: a\n base: b\n", []string{"4:2 yaml-syntax"}},
		{"missing colon", "version: 1\ndefault a\ncommands: {}\n", []string{"2:1 yaml-syntax"}},
		{"quote closed too late", "version: 1\ncommands:\n  a: 'make\n  b: don't\n", []string{"3:6 yaml-syntax"}},
		{"bracket too many", "version: 1\nproject: {protect: [a]]}\n", []string{"2:23 yaml-syntax"}},
		{"braces inside braces", "version: 1\nproject: {env: {A: {{request}}}}\n", []string{"2:20 yaml-braces"}},
		{"complex key", "version: 1\n? [a]\n: b\n", []string{"2:3 wrong-type"}},
		{"null key", "version: 1\n: b\n", []string{"2:1 yaml-syntax"}},
		{"explicit null key", "version: 1\n? ~\n: b\n", []string{"2:3 unknown-key"}},
		{"tagged key", "version: 1\n!x default: b\n", []string{"2:1 yaml-tag"}},
		{"explicit core tags", "version: 1\ndefault: !!str a\nproject: !!map {hooks: !!bool true}\n", []string{"3:24 yaml-tag"}},
		{"criterion", "version: 1\npipelines: {p: {criteria: [{name: a}, {name: b, run: x, command: y}], phases: [{id: a, run: x}]}}\n",
			[]string{"2:35 phase-kind", "2:57 phase-kind"}},
		{"isolation", "version: 1\nproject: {isolation: n}\npipelines: {p: {isolation: off, phases: [{id: a, run: x}]}}\n", []string{"2:22 not-boolean", "3:28 not-boolean"}},
		{"size", "version: 1\nproject: {keep: {log: 100, runs: 0}}\n", []string{"2:23 bad-number", "2:34 bad-number"}},
		{"folded route", "version: 1\npipelines:\n  p:\n    phases:\n      - id: a\n        run: x\n        route: >\n          on pass -> next\n          on fail -> abort\n", []string{"7:16 folded-script"}},
		{"tests", "version: 1\ntests:\n  - {name: a, expct: {}}\n  - {expect: {pth: []}}\n", []string{"3:15 unknown-key", "4:5 missing-key", "4:15 unknown-key"}},
		{"a finding behind an alias", "version: 1\nx-b: &b {run: x, nope: 1}\ncommands: {a: *b, c: {<<: *b}}\n", []string{"2:18 unknown-key"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, list := Decode(diag.NewSource("foundry.yaml", tt.file))
			var got []string
			for _, d := range list.Sorted() {
				p := d.Span.Position()
				got = append(got, fmt.Sprintf("%d:%d %s", p.Line, p.Column, d.Rule))
			}
			if strings.Join(got, "\n") != strings.Join(tt.want, "\n") {
				t.Errorf("got %q, want %q%s", got, tt.want, show(list.Sorted()))
			}
		})
	}
}

// TestHintsLead checks hints that say more than what is wrong.
func TestHintsLead(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, file, hint, not string }{
		{"the words of an argv", "version: 1\nproject: {harness: command, argv: claude -p --effort=low}\n", "write argv: [claude, -p, '--effort=low']", "-p --"},
		{"an argv that a shell would read", "version: 1\nproject:\n  argv: sh -c 'a b'\n", "write argv: [", ""},
		{"phases by name", "version: 1\npipelines:\n  p:\n    phases:\n      build: {agent: a}\n", "- id: build", ""},
		{"a key like no other", "version: 1\npipelines: {p: {phases: [{id: a, run: x, zzzzzzz: 1}]}}\n", "needs, optional, outputs, parallel, prompt", ""},
		{"nor kinds", "version: 1\npipelines: {p: {phases: [{id: a}]}}\n", "agent, run, command, builtin, ask or call", "each"},
	} {
		_, list := Decode(diag.NewSource("foundry.yaml", tt.file))
		found := list.Sorted()
		if len(found) != 1 || !strings.Contains(found[0].Hint, tt.hint) || (tt.not != "" && strings.Contains(found[0].Hint, tt.not)) {
			t.Errorf("%s: want one hint with %q:%s", tt.name, tt.hint, show(found))
		}
	}
}

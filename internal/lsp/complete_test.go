package lsp_test

import (
	"slices"
	"strings"
	"testing"
)

// whole is a file that lints; the cases put a line with the cursor into it.
const whole = `version: 1
default: fix
project: {harness: command, argv: [./agent.sh]}
commands:
  test: go test ./...
  vet: [go, vet, ./...]
envelopes:
  triage:
    extends: generic
    fields:
      severity: {type: string, enum: [low, high], required: true}
      spots: {type: list, of: object, fields: {line: {type: int}}}
gates:
  small: {max_diff: {files: 3}}
agents:
  sorter: {envelope: triage, writes: [], prompt: sort it}
pipelines:
  fix:
    params:
      level: {type: choice, choices: [lax, strict], default: lax}
    accept: passed("test")
    phases:
      - id: sort
        agent: sorter
      - id: build
        agent: builder
        gates: [small]
      - id: test
        command: test
        outputs: {count: {regex: "ok (\\d+)", type: int}}
        route: |
          on fail -> build retry 2
      - id: look
        agent: reviewer
        gates: [verdict_consistent]
      - id: ship
        ask: "Ship it?"
        route: |
          on reject -> undo
      - id: undo
        detour: true
        run: ./undo.sh
`

// in puts lines into the whole file, behind the line that ends with a text.
func in(t *testing.T, behind, lines string) string {
	t.Helper()
	if strings.Count(whole, behind+"\n") != 1 {
		t.Fatalf("%q is not one place of the file", behind)
	}
	return strings.Replace(whole, behind+"\n", behind+"\n"+lines+"\n", 1)
}

// swap puts a text in the place of another one.
func swap(t *testing.T, old, text string) string {
	t.Helper()
	if strings.Count(whole, old) != 1 {
		t.Fatalf("%q is not one place of the file", old)
	}
	return strings.Replace(whole, old, text, 1)
}

// TestCompletion looks at one place after the other: what is offered there, and what is not. A + stands before
// what must be offered, a - before what must not; "=" says that nothing else is.
func TestCompletion(t *testing.T) {
	t.Parallel()
	c := open(t)
	uri := repository(t, nil)("foundry.yaml")
	version := 0
	for _, tc := range []struct{ name, text, want string }{
		{"an empty file", "‸", "+version +pipelines +agents -include_ -phases"},
		{"a word at the top", "version: 1\npipe‸", "+pipelines +commands -version"},
		{"a key in the middle of a word", "version: 1\npi‸pe", "+pipelines"},
		{"keys of a phase", in(t, "        agent: sorter", "        ‸"), "+retries +inputs +prompt +route +gates -id -agent -run -command -exit_codes -sandbox"},
		{"keys of a phase that runs a command", in(t, "        command: test", "        ‸"), "+exit_codes +timeout -retries -run -prompt"},
		{"a new phase", in(t, "        gates: [small]", "      - ‸"), "+id +agent +run +ask +builtin"},
		{"a new phase with a word", in(t, "        gates: [small]", "      - i‸"), "+id"},
		{"a new phase above its keys", "version: 1\npipelines:\n  p:\n    phases:\n      - ‸\n        agent: builder\n", "+id +retries -run -agent"},
		{"keys of a pipeline", in(t, "    accept: passed(\"test\")", "    ‸"), "+limits +request -accept -phases -id"},
		{"keys of limits", in(t, "    accept: passed(\"test\")", "    limits:\n      ‸"), "+turns +time =time,turns,tokens,cost,phases"},
		{"keys in brackets", in(t, "    accept: passed(\"test\")", "    limits: {time: 1h, ‸}"), "+turns -time"},
		{"keys in open brackets", in(t, "    accept: passed(\"test\")", "    limits: {‸"), "+turns +time"},
		{"no keys on the line of the key", in(t, "    accept: passed(\"test\")", "    limits: ‸"), "="},
		{"keys of a param", swap(t, "default: lax}", "‸}"), "+default +required -type"},
		{"keys of an agent", swap(t, "sorter: {envelope: triage", "sorter: {envelope: triage, ‸"), "+harness +model +sandbox -envelope"},
		{"keys of a command in place", in(t, "  test: go test ./...", "  lint:\n    ‸"), "+run +timeout"},
		{"text in a file", in(t, "        agent: builder", "        prompt: {‸}"), "=file"},

		{"words of a key", in(t, "    accept: passed(\"test\")", "    request: ‸"), "=optional,required,none"},
		{"words of a switch", in(t, "        agent: sorter", "        optional: ‸"), "=true,false"},
		{"words in a list", swap(t, "enum: [low, high], required: true", "enum: [low, high], required: ‸"), "=true,false"},
		{"a type", swap(t, "line: {type: int}", "line: {type: ‸}"), "+string +object +path"},
		{"exit codes", in(t, "        command: test", "        exit_codes: ‸"), "=nonzero"},
		{"a harness", swap(t, "harness: command", "harness: ‸"), "+command +script +claude"},
		{"a built-in step", swap(t, "        run: ./undo.sh", "        builtin: ‸"), "+git_commit +noop"},

		{"agents", swap(t, "        agent: builder", "        agent: ‸"), "+sorter +builder +reviewer -small -triage -builtin/builder"},
		{"agents in quotes", swap(t, "        agent: builder", "        agent: \"bu‸\""), "+builder +sorter"},
		{"what an agent extends", swap(t, "envelope: triage, writes", "extends: ‸, writes"), "+builder +builtin/builder +sorter"},
		{"fallbacks", swap(t, "writes: [], prompt", "writes: [], fallback: [‸], prompt"), "+builder"},
		{"commands", swap(t, "        command: test", "        command: ‸"), "=test,vet"},
		{"commands of a gate", swap(t, "gates: [small]", "gates: [{command_passes: ‸}]"), "+vet +test"},
		{"commands of a gate by key", swap(t, "gates: [small]", "gates: [{command_passes: {command: ‸}}]"), "+vet"},
		{"gates", swap(t, "gates: [small]", "gates: [‸]"), "+small +diff_matches_claims +max_diff -test"},
		{"gates below", swap(t, "gates: [small]", "gates:\n          - ‸"), "+small +diff_matches_claims"},
		{"gates with arguments", swap(t, "gates: [small]", "gates: [{‸}]"), "+small +max_diff +require +message"},
		{"arguments of a gate", swap(t, "gates: [small]", "gates: [{max_diff: {‸}}]"), "+files +lines +require -min"},
		{"words of an argument", swap(t, "gates: [small]", "gates: [{tests_ran: {report: ‸}}]"), "+junit -xml"},
		{"kinds of a gate that is defined", swap(t, "small: {max_diff: {files: 3}}", "small: {‸}"), "+max_diff +require -small"},
		{"envelopes", swap(t, "envelope: triage", "envelope: ‸"), "+triage +review +generic"},
		{"the default", swap(t, "default: fix", "default: ‸"), "+fix +plan-build-test"},
		{"what a pipeline extends", in(t, "    accept: passed(\"test\")", "    extends: ‸"), "+builtin/plan-build-test +fix"},

		{"needs: further up only", in(t, "        agent: builder", "        needs: [‸]"), "=sort"},
		{"needs below", in(t, "        command: test", "        needs:\n          - so‸"), "=sort,build"},
		{"inputs", in(t, "        agent: builder", "        inputs: [‸]"), "+request +feedback +sort +test -build"},
		{"fields of inputs", in(t, "        agent: builder", "        inputs: [request, sort.‸]"), "+summary +severity -approved"},

		{"a rule", in(t, "          on fail -> build retry 2", "          ‸"), "=on"},
		{"triggers", in(t, "          on fail -> build retry 2", "          on ‸"), "=pass,reject,fail,timeout,skip,any"},
		{"a trigger in the middle", in(t, "          on fail -> build retry 2", "          on ti‸"), "+timeout"},
		{"behind a trigger", in(t, "          on fail -> build retry 2", "          on pass ‸"), "=when,->"},
		{"targets", in(t, "          on fail -> build retry 2", "          on pass -> ‸"), "+sort +build +test +look +undo +next +finish +abort"},
		{"a target in the middle", in(t, "          on fail -> build retry 2", "          on fail when exit == 2 -> bu‸"), "+build"},
		{"behind a target", in(t, "          on fail -> build retry 2", "          on fail -> sort ‸"), "=retry,with"},
		{"behind retry", in(t, "          on fail -> build retry 2", "          on fail -> sort retry ‸"), "="},
		{"behind a bound", in(t, "          on fail -> build retry 2", "          on fail -> sort retry 1 ‸"), "=with"},
		{"behind an action", in(t, "          on fail -> build retry 2", "          on fail -> abort ‸"), "="},
		{"a condition of a rule", in(t, "          on fail -> build retry 2", "          on fail when ‸"), "+exit +output +outputs +status +phases +passed +len +tail -envelope -feedback"},
		{"what is handed on", in(t, "          on fail -> build retry 2", "          on fail -> build retry 1 with ta‸"), "+tail +output"},
		{"outputs", in(t, "          on fail -> build retry 2", "          on fail when outputs.‸"), "=count"},
		{"a comment of a rule", in(t, "          on fail -> build retry 2", "          on fail -> sort retry 1 // ‸"), "="},
		{"a rule in a list", swap(t, "        route: |\n          on fail -> build retry 2", "        route: [\"on fail -> ‸\"]"), "+build +next"},
		{"a rule in a list below", swap(t, "        route: |\n          on fail -> build retry 2", "        route:\n          - on fail -> ‸"), "+build +next"},
		{"a rule without a block", swap(t, "        route: |\n          on fail -> build retry 2", "        route: on ‸"), "+fail +pass"},
		{"a rule that is a mess", in(t, "          on fail -> build retry 2", "          onn fail ‸"), "="},

		{"fields of the envelope", in(t, "        agent: sorter", "        route: |\n          on pass when envelope.‸"), "+severity +summary +status +spots -approved"},
		{"fields of another's envelope", in(t, "          on fail -> build retry 2", "          on fail when phases.look.envelope.‸"), "+approved +findings -severity"},
		{"fields of an item", in(t, "          on fail -> build retry 2", "          on fail when phases.sort.envelope.spots[0].‸"), "=line"},
		{"phases", in(t, "          on fail -> build retry 2", "          on fail when phases.‸"), "+sort +build +undo"},
		{"what a phase has", in(t, "          on fail -> build retry 2", "          on fail when phases.build.‸"), "+status +visits +envelope -answer"},
		{"passed", swap(t, "accept: passed(\"test\")", "accept: passed(\"test\") && passed(\"‸"), "+sort +build +ship -next"},
		{"approved", swap(t, "accept: passed(\"test\")", "accept: approved(\"‸\")"), "=look,ship"},
		{"passed in a quoted text", swap(t, "accept: passed(\"test\")", "accept: \"passed(\\\"‸\\\")\""), "+sort +build"},
		{"values", in(t, "        agent: sorter", "        when: params.level == \"‸\""), "=lax,strict"},
		{"values of a status", in(t, "          on fail -> build retry 2", "          on any when phases.sort.status in [\"fail\", '‸'"), "+success +skipped"},
		{"values of nothing", in(t, "          on fail -> build retry 2", "          on any when nothing == \"‸\""), "="},
		{"params", swap(t, "accept: passed(\"test\")", "accept: params.‸"), "=level"},
		{"acceptance", swap(t, "accept: passed(\"test\")", "accept: ‸"), "+passed +all_phases_pass +phases +request -exit -feedback"},
		{"a check", swap(t, "gates: [small]", "gates: [{check: {expr: ‸}}]"), "+envelope +changed +passed"},
		{"a check in short", swap(t, "gates: [small]", "gates: [{check: \"envelope.‸\"}]"), "+changed_files"},

		{"a template", swap(t, "ask: \"Ship it?\"", "ask: \"Ship {{‸\""), "+request +phases +feedback +context"},
		{"a template of an envelope", swap(t, "ask: \"Ship it?\"", "ask: \"Ship {{envelope:‸}}?\""), "+sort +build"},
		{"a template of a field", swap(t, "ask: \"Ship it?\"", "ask: \"Ship {{envelope:build.‸}}?\""), "+summary +commit_message"},
		{"outside a template", swap(t, "ask: \"Ship it?\"", "ask: \"Ship {{request}} ‸\""), "="},
		{"a literal brace", swap(t, "ask: \"Ship it?\"", "ask: \"Ship {{{{ ‸\""), "="},
		{"an agent's prompt", swap(t, "prompt: sort it", "prompt: \"{{phases.‸\""), "+sort +build +plan"},
		{"a field in an agent's prompt", swap(t, "prompt: sort it", "prompt: \"{{phases.sort.envelope.‸}}\""), "+severity"},
		{"a prompt over lines", in(t, "        agent: builder", "        prompt: |\n          Do this:\n          {{ phases.sort.‸"), "+envelope +status"},
		{"an environment", in(t, "        command: test", "        env: {A: \"{{‸}}\"}"), "+request"},
		{"a shell", swap(t, "run: ./undo.sh", "run: \"echo {{‸}}\""), "="},
		{"an argv", swap(t, "run: ./undo.sh", "run: [echo, \"{{‸}}\"]"), "+request"},

		{"a patch", whole + "  mine:\n    extends: fix\n    patch:\n      ‸\n", "+build +test +undo -id"},
		{"keys of a patch", whole + "  mine:\n    extends: fix\n    patch:\n      build: {‸}\n", "+after +retries +agent -id"},
		{"a rule of a patch", whole + "  mine:\n    extends: fix\n    patch:\n      build: {route: [\"on fail when envelope.‸\"]}\n", "+changed_files"},
		{"a target of a patch", whole + "  mine:\n    extends: fix\n    patch:\n      test: {route: [\"on fail -> ‸\"]}\n", "+build +undo"},
		{"where a new phase stands", whole + "  mine:\n    extends: fix\n    patch:\n      new: {after: ‸}\n", "+build +test"},

		{"a test", whole + "tests:\n  - name: x\n    ‸\n", "+given +expect -name"},
		{"phases of a test", whole + "tests:\n  - name: x\n    given:\n      ‸\n", "+sort +build +test"},
		{"entries of a test", whole + "tests:\n  - name: x\n    given:\n      sort: [{‸}]\n", "+reply +exit +repeat"},
		{"the path of a test", whole + "tests:\n  - name: x\n    expect: {path: [sort, ‸]}\n", "+build"},
		{"the end of a test", whole + "tests:\n  - name: x\n    expect: {status: ‸}\n", "+accepted +rejected"},
		{"the pipeline of a test", whole + "tests:\n  - name: x\n    pipeline: ‸\n", "+fix +plan-build-test"},

		{"any text", in(t, "        agent: builder", "        description: ‸"), "="},
		{"a comment", in(t, "        agent: builder", "        # ‸"), "="},
		{"below an unknown key", in(t, "        agent: builder", "        nonsense:\n          ‸"), "="},
		{"our own corner", in(t, "version: 1", "x-mine:\n  ‸"), "="},
	} {
		text, p := cut(t, tc.text)
		version++
		if version == 1 {
			c.didOpen(uri, text)
		} else {
			c.didChange(uri, text, version)
		}
		items := c.complete(uri, p)
		check(t, tc.name, labels(items), tc.want)
		for _, i := range items {
			if i.TextEdit.Range.End != p || i.TextEdit.Range.Start.Line != p.Line {
				t.Errorf("%s: %s replaces %s, and the cursor is at %v", tc.name, i.Label, i.TextEdit.Range, p)
				break
			}
		}
	}
	if c.log.String() != "" {
		t.Errorf("the log says:\n%s", c.log)
	}
}

func check(t *testing.T, name string, got []string, want string) {
	t.Helper()
	for _, w := range strings.Fields(want) {
		word := w[1:]
		switch {
		case w[0] == '+' && !slices.Contains(got, word):
			t.Errorf("%s: %s is not offered among %v", name, word, got)
		case w[0] == '-' && slices.Contains(got, word):
			t.Errorf("%s: %s is offered among %v", name, word, got)
		case w[0] == '=' && strings.Join(got, ",") != word:
			t.Errorf("%s: %v are offered, want %s", name, got, word)
		}
	}
	for i, label := range got {
		if slices.Contains(got[:i], label) {
			t.Errorf("%s: %s is offered twice", name, label)
		}
	}
}

// TestCompletionWithoutParsing: the text before the mistake, and after it, still has its names.
func TestCompletionWithoutParsing(t *testing.T) {
	t.Parallel()
	c := open(t)
	uri := repository(t, nil)("foundry.yaml")
	c.didOpen(uri, whole)
	c.findings(uri, 1)
	// A phase is added, and an agent that nobody knows yet, in a text that is no YAML.
	broken := strings.Replace(whole, "      - id: build\n", "      - id: prepare\n        agent: newcomer\n        prompt: \"not closed\n      - id: build\n", 1)
	broken = strings.Replace(broken, "  sorter: {", "  newcomer: {envelope: review\n  sorter: {", 1)
	text, p := cut(t, strings.Replace(broken, "on fail -> build retry 2", "on fail -> ‸", 1))
	c.didChange(uri, text, 2)
	check(t, "targets", labels(c.complete(uri, p)), "+prepare +sort +undo")
	text, p = cut(t, strings.Replace(broken, "agent: builder", "agent: ‸", 1))
	c.didChange(uri, text, 3)
	check(t, "agents", labels(c.complete(uri, p)), "+newcomer +sorter +builder")
	// The fields are those of the last text that could be read.
	text, p = cut(t, strings.Replace(broken, "on fail -> build retry 2", "on fail when phases.sort.envelope.‸", 1))
	c.didChange(uri, text, 4)
	check(t, "fields", labels(c.complete(uri, p)), "+severity")
	if found := c.findings(uri, 4); len(found) == 0 {
		t.Error("the broken text has no findings")
	}
}

// TestInsertedText: what a key is written with.
func TestInsertedText(t *testing.T) {
	t.Parallel()
	c := open(t)
	uri := repository(t, nil)("foundry.yaml")
	text, p := cut(t, in(t, "        agent: builder", "        ‸"))
	c.didOpen(uri, text)
	want := map[string]string{"retries": "retries: ", "outputs": "", "gates": "gates: ", "env": "env:", "route": "route: "}
	for _, i := range c.complete(uri, p) {
		if w, listed := want[i.Label]; listed && w != i.TextEdit.NewText {
			t.Errorf("%s is written as %q", i.Label, i.TextEdit.NewText)
		}
		if i.Documentation == nil || i.Detail == "" {
			t.Errorf("%s is not explained: %+v", i.Label, i)
		}
	}
	text, p = cut(t, swap(t, "        gates: [small]", "        ga‸: [small]"))
	c.didChange(uri, text, 2)
	for _, i := range c.complete(uri, p) {
		if strings.Contains(i.TextEdit.NewText, ":") {
			t.Errorf("the colon is there already: %q", i.TextEdit.NewText)
		}
	}
	// A blank that is indentation asks for nothing.
	var list struct{ Items []item }
	text, p = cut(t, in(t, "        agent: builder", "   ‸"))
	c.didChange(uri, text, 3)
	c.call("textDocument/completion", strings.TrimSuffix(at(uri, p), "}")+`,"context":{"triggerKind":2,"triggerCharacter":" "}}`, &list)
	if len(list.Items) != 0 {
		t.Errorf("a blank offers %v", labels(list.Items))
	}
}

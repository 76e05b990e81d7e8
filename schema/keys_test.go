package schema

import (
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"foundry/diag"
)

// allKeys is the table of the language's documentation.
var allKeys = map[string]string{
	"file":        "version default include project commands envelopes gates agents pipelines tests",
	"project":     "name base isolation merge protect env harness argv model models secrets hooks worktree keep",
	"worktree":    "copy link setup scratch",
	"keep":        "runs days log",
	"command":     "run dir env timeout exit_codes",
	"envelope":    "extends fields",
	"field":       "type of enum required default fields",
	"gate":        "require message",
	"agent":       "extends description harness argv script model models effort tools system prompt envelope envelope_retries writes protect permissions env turn_timeout stall_timeout fallback sandbox",
	"models":      "light heavy",
	"tools":       "allow deny",
	"sandbox":     "write",
	"script":      "item files run reply",
	"pipeline":    "extends patch description params request isolation merge protect accept limits criteria fail_fast keep_going after phases",
	"param":       "type default required choices",
	"limits":      "time turns tokens cost phases",
	"criterion":   "name run command exit_codes required",
	"after":       "accepted rejected always",
	"after_phase": "id when run command env dir timeout exit_codes",
	"phase": "id description hint needs detour when optional route gates timeout env dir writes protect commits parallel agent prompt inputs envelope model retries session review review_retries " +
		"revert_rejected reuse run command builtin message exit_codes outputs repeat sources ask call set each",
	"each":   "in as limit require",
	"patch":  "after",
	"output": "regex json type required",
	"test":   "name pipeline request params given criteria expect j",
	"entry":  "reply stop files changed gates conflict usage review exit output timeout reject repeat",
	"usage":  "tokens cost calls",
	"review": "verdict reason evidence",
	"expect": "status reason text exit path not_run visits routes feedback",
}

func TestTableIsTheLanguage(t *testing.T) {
	t.Parallel()
	got := map[string][]string{}
	for _, k := range Keys() {
		got[k.Where] = append(got[k.Where], k.Name)
		if k.Doc == "" || strings.HasSuffix(k.Doc, ".") || strings.ToLower(k.Doc[:1]) != k.Doc[:1] || k.Shape == 0 || k.Min > k.Max {
			t.Errorf("bad row %+v", k)
		}
		if nested := k.Shape == ShapeSection || k.Shape == ShapeList || k.Shape == ShapeMap || k.Shape == ShapeEntries; nested != (k.Of != "") || k.Of != "" && allKeys[k.Of] == "" {
			t.Errorf("%s.%s: shape %d of %q", k.Where, k.Name, k.Shape, k.Of)
		}
		if k.Shape == ShapeInt && k.Where == "limits" && k.Name == "turns" && (k.Min != 1 || k.Max != math.MaxInt) {
			t.Errorf("bounds of %+v", k)
		}
	}
	for where, names := range allKeys {
		if !slices.Equal(got[where], strings.Fields(names)) {
			t.Errorf("%s has %v, want %v", where, got[where], strings.Fields(names))
		}
	}
	if len(got) != len(allKeys) {
		t.Errorf("%d sections, want %d", len(got), len(allKeys))
	}
}

// Each key of each section looks at its value: a tag is never taken in silence.
func TestEveryKeyReadsItsValue(t *testing.T) {
	t.Parallel()
	wrap := map[string]string{
		"file": "%", "project": "project: {%}", "worktree": "project: {worktree: {%}}", "keep": "project: {keep: {%}}", "command": "commands: {a: {%}}", "envelope": "envelopes: {a: {%}}",
		"field": "envelopes: {a: {fields: {f: {%}}}}", "gate": "gates: {g: {check: a, %}}", "agent": "agents: {a: {%}}", "models": "agents: {a: {models: {%}}}", "tools": "agents: {a: {tools: {%}}}", "sandbox": "agents: {a: {sandbox: {%}}}",
		"script": "agents: {a: {script: [{%}]}}", "pipeline": "pipelines: {p: {%}}", "param": "pipelines: {p: {params: {a: {%}}}}", "limits": "pipelines: {p: {limits: {%}}}",
		"criterion": "pipelines: {p: {criteria: [{%}]}}", "after": "pipelines: {p: {after: {%}}}", "after_phase": "pipelines: {p: {after: {always: [{%}]}}}", "phase": "pipelines: {p: {phases: [{%}]}}", "each": "pipelines: {p: {phases: [{each: {%}}]}}", "patch": "pipelines: {p: {extends: q, patch: {a: {%}}}}", "output": "pipelines: {p: {phases: [{outputs: {o: {%}}}]}}",
		"test": "tests: [{%}]", "expect": "tests: [{expect: {%}}]", "entry": "tests: [{given: {a: [{%}]}}]", "usage": "tests: [{given: {a: [{usage: {%}}]}}]", "review": "tests: [{given: {a: [{review: {%}}]}}]",
	}
	for _, k := range Keys() {
		text := strings.Replace(wrap[k.Where], "%", k.Name+": !x y", 1) + "\n"
		_, list := Decode(diag.NewSource("f", text))
		if !slices.ContainsFunc(list.Sorted(), func(d diag.Diagnostic) bool { return d.Rule == diag.YAMLTag }) {
			t.Errorf("%s.%s took %q:%s", k.Where, k.Name, text, show(list.Sorted()))
		}
	}
}

func TestForeignWordsLeadSomewhere(t *testing.T) {
	t.Parallel()
	l := newLanguage()
	for word, key := range foreign {
		if len(l.legal(key)) == 0 {
			t.Errorf("%q leads to %q, which is no key", word, key)
		}
	}
}

var wanted = regexp.MustCompile(`# want ([a-z-]+) ("(?:[^"\\]|\\.)*")`)

// A fixture says on the line what must be found there; nothing else may be found.
func TestFixtures(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/lint/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal("no fixtures", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			src := diag.NewSource(file, string(text))
			_, list := Decode(src)
			found := list.Sorted()
			for i, line := range strings.Split(src.Text, "\n") {
				for _, m := range wanted.FindAllStringSubmatch(line, -1) {
					part, err := strconv.Unquote(m[2])
					if err != nil {
						t.Fatal(err)
					}
					at := slices.IndexFunc(found, func(d diag.Diagnostic) bool {
						return d.Span.Position().Line == i+1 && string(d.Rule) == m[1] && strings.Contains(d.Message, part)
					})
					if at < 0 {
						t.Errorf("line %d: no %s with %q", i+1, m[1], part)
						continue
					}
					found = slices.Delete(found, at, at+1)
				}
			}
			if len(found) > 0 {
				t.Errorf("not wanted:%s", show(found))
			}
			if rule := strings.TrimSuffix(filepath.Base(file), ".yaml"); !slices.ContainsFunc(list.Sorted(), func(d diag.Diagnostic) bool { return string(d.Rule) == rule }) {
				t.Errorf("the fixture does not trigger %s", rule)
			}
		})
	}
}

// What one finding points at does not hide what else the file says.
func TestWhatIsMeantIsReadToo(t *testing.T) {
	t.Parallel()
	const phase = "pipelines:\n  p:\n    phases:\n      - id: a\n        run: make\n"
	for name, tt := range map[string]struct {
		file string
		want []string // rule and place of each finding
	}{
		"a section with a slip in its name": {"version: 1\nprojct:\n  merge: maybe\n  protect: [go.sum]\n" + phase, []string{"unknown-key projct", "unknown-enum-value maybe"}},
		"beside the section itself":         {"version: 1\nproject: {merge: ask}\nprojct: {merge: maybe}\n" + phase, []string{"unknown-key projct"}},
		"a type that there is not":          {"version: 1\nenvelopes: {e: {fields: {n: {type: integer, of: string}, o: {type: dict, fields: {x: {type: int}}}}}}\n" + phase, []string{"unknown-enum-value integer", "unknown-enum-value dict"}},
		"limits":                            {"version: 1\n" + phase + "    limits: {turns: 0}\n", []string{"bad-number 0"}},
		"a rule beside a route":             {"version: 1\n" + phase + "        route: [on fail -> a retry 1]\n        on_fail: a\n", []string{"unknown-key on_fail"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, list := Decode(diag.NewSource("foundry.yaml", tt.file))
			var got []string
			for _, d := range list.Sorted() {
				got = append(got, string(d.Rule)+" "+d.Span.Text())
				if d.Hint == "" && d.Rule != diag.UnknownEnumValue { // whose message lists the words
					t.Errorf("no hint: %s", d.Message)
				}
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// A condition that YAML takes for a tag is known all the same.
func TestTaggedConditionIsRead(t *testing.T) {
	t.Parallel()
	for written, want := range map[string]string{
		"when: !params.skip":                "!params.skip",
		"when: !params.skip and exit == 2":  "!params.skip and exit == 2",
		"when: !params.skip # unless asked": "!params.skip",
		"when: !!str params.skip":           "params.skip",
	} {
		doc, list := Decode(diag.NewSource("foundry.yaml", "version: 1\npipelines:\n  p:\n    phases:\n      - id: a\n        run: make\n        "+written+"\n"))
		if doc.Broken {
			t.Fatalf("%s: %s", written, show(list.Sorted()))
		}
		when := doc.Pipelines[0].Phases[0].When
		if when.Value != want || !strings.HasSuffix(when.Span().Text(), want) {
			t.Errorf("%s: read as %q at %q: %s", written, when.Value, when.Span().Text(), show(list.Sorted()))
		}
	}
}

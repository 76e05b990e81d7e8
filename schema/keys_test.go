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
	"file":      "version default include project commands envelopes gates agents pipelines tests",
	"project":   "name base isolation merge protect env harness argv model secrets hooks worktree keep",
	"worktree":  "copy link setup scratch",
	"keep":      "runs days log",
	"command":   "run dir env timeout exit_codes",
	"envelope":  "extends fields",
	"field":     "type of enum required default fields",
	"gate":      "require message",
	"agent":     "extends description harness argv script model models effort tools system prompt envelope envelope_retries writes protect permissions env turn_timeout stall_timeout fallback sandbox",
	"models":    "light heavy",
	"tools":     "allow deny",
	"script":    "item files run reply",
	"pipeline":  "extends patch description params request isolation merge protect accept limits criteria fail_fast keep_going after phases",
	"param":     "type default required choices",
	"limits":    "time turns tokens cost phases",
	"criterion": "name run command exit_codes required",
	"phase": "id description hint needs detour when optional route gates timeout env dir writes protect commits parallel agent prompt inputs envelope model retries session review review_retries " +
		"revert_rejected reuse run command builtin message exit_codes outputs repeat sources ask call set each",
	"patch":  "after",
	"output": "regex json type required",
	"test":   "name pipeline request params given criteria expect j",
	"entry":  "reply stop files changed gates usage review exit output timeout reject repeat",
	"usage":  "tokens cost calls",
	"expect": "status reason text exit path not_run visits routes feedback",
}

const notBuiltKeys = "secrets runs days sandbox after parallel session review review_retries revert_rejected reuse repeat sources call set each review"

func TestTableIsTheLanguage(t *testing.T) {
	t.Parallel()
	got := map[string][]string{}
	var unbuilt []string
	for _, k := range Keys() {
		got[k.Where] = append(got[k.Where], k.Name)
		if !k.Built {
			unbuilt = append(unbuilt, k.Name)
		}
		if k.Doc == "" || strings.HasSuffix(k.Doc, ".") || strings.ToLower(k.Doc[:1]) != k.Doc[:1] || k.Shape == 0 || k.Min > k.Max {
			t.Errorf("bad row %+v", k)
		}
		if nested := k.Shape == ShapeSection || k.Shape == ShapeList || k.Shape == ShapeMap || k.Shape == ShapeEntries; k.Built && nested != (k.Of != "") || k.Of != "" && allKeys[k.Of] == "" {
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
	if !slices.Equal(unbuilt, strings.Fields(notBuiltKeys)) {
		t.Errorf("not built: %v", unbuilt)
	}
}

// Each built key of each section looks at its value: a tag is never taken in silence.
func TestEveryKeyReadsItsValue(t *testing.T) {
	t.Parallel()
	wrap := map[string]string{
		"file": "%", "project": "project: {%}", "worktree": "project: {worktree: {%}}", "keep": "project: {keep: {%}}", "command": "commands: {a: {%}}", "envelope": "envelopes: {a: {%}}",
		"field": "envelopes: {a: {fields: {f: {%}}}}", "gate": "gates: {g: {check: a, %}}", "agent": "agents: {a: {%}}", "models": "agents: {a: {models: {%}}}", "tools": "agents: {a: {tools: {%}}}",
		"script": "agents: {a: {script: [{%}]}}", "pipeline": "pipelines: {p: {%}}", "param": "pipelines: {p: {params: {a: {%}}}}", "limits": "pipelines: {p: {limits: {%}}}",
		"criterion": "pipelines: {p: {criteria: [{%}]}}", "phase": "pipelines: {p: {phases: [{%}]}}", "patch": "pipelines: {p: {extends: q, patch: {a: {%}}}}", "output": "pipelines: {p: {phases: [{outputs: {o: {%}}}]}}",
		"test": "tests: [{%}]", "expect": "tests: [{expect: {%}}]", "entry": "tests: [{given: {a: [{%}]}}]", "usage": "tests: [{given: {a: [{usage: {%}}]}}]",
	}
	for _, k := range Keys() {
		text := strings.Replace(wrap[k.Where], "%", k.Name+": !x y", 1) + "\n"
		_, list := Decode(diag.NewSource("f", text))
		want := diag.YAMLTag
		if !k.Built {
			want = diag.NotBuilt
		}
		if !slices.ContainsFunc(list.Sorted(), func(d diag.Diagnostic) bool { return d.Rule == want }) {
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

package envelope

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
)

// triage is a kind as a file would define it, with a field of each type.
func triage() *Kind {
	return Extend(nil, "triage", []Field{
		{Name: "severity", Type: String, Enum: []string{"low", "high"}, Required: true},
		{Name: "count", Type: Int, Default: int64(3)},
		{Name: "id", Type: Int},
		{Name: "ratio", Type: Number},
		{Name: "half", Type: Number, Default: int64(1)},
		{Name: "tags", Type: List, Of: String, Enum: []string{"a", "b"}, Default: []string{"a"}},
		{Name: "main", Type: Path},
		{Name: "where", Type: Nested, Fields: []Field{
			{Name: "file", Type: Path},
			{Name: "line", Type: Int},
		}},
		{Name: "places", Type: List, Of: Nested, Fields: []Field{{Name: "file", Type: Path, Required: true}, {Name: "sure", Type: Bool}}},
	})
}

func TestBuiltins(t *testing.T) {
	t.Parallel()
	base := []string{"status", "summary", "artifacts", "notes_for_next_agent", "blocked"}
	own := map[string][]string{
		"generic":  nil,
		"plan":     {"commit_message", "steps", "change_limits"},
		"build":    {"changed_files", "commit_message"},
		"scout":    {"findings"},
		"review":   {"approved", "findings", "blocking"},
		"document": {"document_path", "documented_files"},
	}
	kinds := Builtins()
	if len(kinds) != len(own) || kinds[0].Name != "generic" {
		t.Errorf("got %d kinds, the first %q", len(kinds), kinds[0].Name)
	}
	for _, k := range kinds {
		want := append(append([]string{}, base...), own[k.Name]...)
		var got []string
		for _, f := range k.Fields {
			got = append(got, f.Name)
			if f.Required != (f.Name == "status" || f.Name == "approved") {
				t.Errorf("%s.%s: required is %v", k.Name, f.Name, f.Required)
			}
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s has %v, want %v", k.Name, got, want)
		}
		if k.Approves() != (k.Name == "review") {
			t.Errorf("%s: Approves is %v", k.Name, k.Approves())
		}
	}
	if _, ok := Builtin("triage"); ok {
		t.Error("there is a builtin triage")
	}
}

func TestExtend(t *testing.T) {
	t.Parallel()
	base := builtin(t, "review")
	before := len(base.Fields)
	k := Extend(base, "strict", []Field{{Name: "score", Type: Int}, {Name: "summary", Type: String, Required: true}})
	if len(base.Fields) != before || base.Fields[1].Required {
		t.Error("the base was changed")
	}
	if f, ok := k.Lookup("summary"); !ok || !f.Required || k.Fields[1].Name != "summary" {
		t.Errorf("summary was not replaced in place: %+v", k.Fields)
	}
	if !k.Approves() || k.Fields[before].Name != "score" {
		t.Errorf("got %+v", k)
	}
}

func TestTypeWords(t *testing.T) {
	t.Parallel()
	for _, word := range []string{"string", "int", "number", "bool", "list", "object", "path"} {
		if typ, ok := TypeOf(word); !ok || typ.String() != word {
			t.Errorf("TypeOf(%q) = %v, %v", word, typ, ok)
		}
	}
	if _, ok := TypeOf("invalid"); ok {
		t.Error("invalid is a type")
	}
}

// An agent that repeats the example must not have reported anything by it; with the words filled in, the
// example is a report.
func TestExampleIsNoReport(t *testing.T) {
	t.Parallel()
	for _, k := range append(Builtins(), *triage()) {
		example := k.Example()
		if !json.Valid([]byte(example)) {
			t.Errorf("%s: not JSON: %s", k.Name, example)
		}
		if !strings.HasPrefix(example, "{\n  \"status\": \"success | fail | blocked\",\n") {
			t.Errorf("%s: status does not come first: %s", k.Name, example)
		}
		if o, _ := decode(&k, []byte(example)); o != nil {
			t.Errorf("%s: the example is accepted: %v", k.Name, o)
		}
		filled := strings.NewReplacer("success | fail | blocked", "success", "trivial | normal | complex", "normal",
			"low | high", "low", "a | b", "a").Replace(example)
		if _, problems := decode(&k, []byte(filled)); problems != nil {
			t.Errorf("%s: the filled in example is refused: %v\n%s", k.Name, problems, filled)
		}
		for _, f := range k.Fields {
			if !strings.Contains(example, "  \""+f.Name+"\": ") {
				t.Errorf("%s: the example has no %s", k.Name, f.Name)
			}
		}
	}
}

// decode checks bytes that are one JSON object and nothing else; nothing is repaired. The object is nil when there are
// problems.
func decode(k *Kind, raw []byte) (Object, []Problem) {
	source := string(bytes.TrimSpace(raw))
	r := &reader{source: source}
	var n node
	if !r.value(&n) {
		return nil, []Problem{{"", "not valid JSON: " + r.bad.describe(source)}}
	}
	if r.pos < len(source) {
		return nil, []Problem{{"", fmt.Sprintf("something follows the JSON value at byte %d%s", r.pos, near(source, r.pos))}}
	}
	if n.shape != object {
		return nil, []Problem{{"", "must be an object, got " + n.shape.String()}}
	}
	c := check(k, n)
	if len(c.problems) > 0 {
		return nil, c.problems
	}
	return k.Fill(c.object), nil
}

func TestDecode(t *testing.T) {
	t.Parallel()
	got, problems := decode(triage(), []byte(` {"status":"success","severity":"low","count":3.0,"id":9007199254740993,"ratio":1e-2,
		"tags":["b"],"main":"a.go","where":{"file":"b.go"},"places":[{"file":"c.go","sure":true},{"file":"d.go"}],
		"extra":{"n":null,"i":7,"f":0.5,"e":1.0,"big":123456789012345678901234567890,"l":[true,"x"]}}
	`))
	want := Object{
		"status": "success", "summary": "", "artifacts": []any{}, "notes_for_next_agent": "", "blocked": Object{"reason": "", "needs": ""},
		"severity": "low", "count": 3, "id": 9007199254740993, "ratio": 0.01, "half": 1.0,
		"tags": []any{"b"}, "main": "a.go", "where": Object{"file": "b.go", "line": 0},
		"places": []any{Object{"file": "c.go", "sure": true}, Object{"file": "d.go", "sure": false}},
		"extra": Object{"n": nil, "i": 7, "f": 0.5, "e": json.Number("1.0"), "big": json.Number("123456789012345678901234567890"),
			"l": []any{true, "x"}},
	}
	if problems != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("problems %v, got\n%#v, want\n%#v", problems, got, want)
	}
}

func TestDecodeRefuses(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		``:                                 "not valid JSON: the text ends",
		`{"status":"success"`:              "not valid JSON: the text ends inside it",
		`{"status":"success",}`:            "trailing comma",
		`{"status":"success"/**/}`:         "comment at byte 19",
		"{\"status\":\"suc\ncess\"}":       "control character U+000A",
		`{"status":"success"} {}`:          "something follows the JSON value at byte 20",
		`[{"status":"success"}]`:           "must be an object, got a list",
		`"success"`:                        "must be an object, got a string",
		`nul`:                              "the text ends",
		`{"status":"success","count":01}`:  "invalid number",
		`{"status":"success","count":1.}`:  "invalid number",
		`{"status":"success","count":.5}`:  "expected a value",
		`{"status":"success","count":+5}`:  "expected a value",
		`{"status":"success","count":1e}`:  "invalid number",
		`{"status":"success","count":0x1}`: "invalid number",
		`{"status":"success","severity":"low","count":"3"}`:                     "count: must be a whole number, got a string",
		`{"status":"success","severity":"low","count":3.5}`:                     "count: must be a whole number of at most 64 bits, got 3.5",
		`{"status":"success","severity":"low","count":9223372036854775808}`:     "got 9223372036854775808",
		`{"status":"success","severity":"low","count":1e999999999999999999999}`: "must be a whole number",
		`{"status":"success","severity":"low","ratio":9007199254740993}`:        "ratio: cannot be held exactly",
		`{"status":"success","severity":"low","ratio":1e999}`:                   "ratio: cannot be held exactly",
		`{"status":"success","severity":"low","tags":["c"]}`:                    `tags[0]: must be one of a, b, got "c"`,
		`{"status":"success","severity":"low","places":[{}]}`:                   "places[0].file: is missing",
		`{"status":"success","severity":"low","places":[{"file":""}]}`:          "places[0].file: is empty",
		`{"status":"success","severity":"low","where":{"file":"a","Line":1}}`:   `where.Line: the key is spelled "line"`,
	} {
		o, problems := decode(triage(), []byte(raw))
		if o != nil || !strings.Contains(joined(problems), want) {
			t.Errorf("%s: got %v, %q; want %q", raw, o, joined(problems), want)
		}
	}
}

func TestExactInt(t *testing.T) {
	t.Parallel()
	for literal, want := range map[string]int{
		"0": 0, "-0": 0, "0.0": 0, "0e9": 0, "3": 3, "3.0": 3, "3e2": 300, "-1.50e1": -15, "120e-1": 12,
		"9007199254740993": 9007199254740993, "9223372036854775807": 9223372036854775807, "-9223372036854775808": -9223372036854775808,
		"0.0000000000000000001e19": 1,
	} {
		if got, ok := exactInt(literal); !ok || got != want {
			t.Errorf("exactInt(%s) = %d, %v", literal, got, ok)
		}
	}
	for _, literal := range []string{"0.5", "1e-1", "9223372036854775808", "1e19", "1e400", "0.00000000000000000001e19"} {
		if got, ok := exactInt(literal); ok {
			t.Errorf("exactInt(%s) = %d", literal, got)
		}
	}
}

func TestFillSharesNothing(t *testing.T) {
	t.Parallel()
	k := triage()
	in := Object{"status": "success", "severity": "low", "tags": []any{"a"}, "places": []any{Object{}}}
	out := k.Fill(in)
	out["tags"].([]any)[0] = "b"
	out["places"].([]any)[0].(Object)["file"] = "x"
	if in["tags"].([]any)[0] != "a" || len(in["places"].([]any)[0].(Object)) != 0 || len(in) != 4 {
		t.Errorf("the object was changed: %v", in)
	}
	again := k.Fill(Object{})
	again["tags"].([]any)[0] = "b"
	if k.Fill(Object{})["tags"].([]any)[0] != "a" {
		t.Error("a default was changed")
	}
	inner := Extend(nil, "inner", []Field{{Name: "o", Type: Nested, Fields: []Field{{Name: "file", Type: Path, Required: true}}}})
	if got := inner.Fill(Object{})["o"]; !reflect.DeepEqual(got, Object{"file": ""}) {
		t.Errorf("an object that is not there is %v", got)
	}
	if _, has := again["status"]; has {
		t.Error("a required field was invented")
	}
}

func TestPaths(t *testing.T) {
	t.Parallel()
	plan, problems := decode(builtin(t, "plan"), []byte(`{"status":"success","artifacts":["specs/p.md"],
		"steps":[{"id":"a","files":["x.go"]},{"id":"b","files":["y.go","x.go"]}],"change_limits":[{"quote":"q","paths":["api/"]}]}`))
	if problems != nil {
		t.Fatal(problems)
	}
	want := []Claim{{"artifacts", "specs/p.md", false}, {"steps.files", "x.go", true}, {"steps.files", "y.go", true},
		{"steps.files", "x.go", true}, {"change_limits.paths", "api/", true}}
	if got := builtin(t, "plan").Paths(plan); !reflect.DeepEqual(got, want) {
		t.Errorf("got %v", got)
	}
	if got := builtin(t, "plan").Claims(plan); !reflect.DeepEqual(got, []string{"specs/p.md"}) {
		t.Errorf("claims are %v", got)
	}
	if got := (*Kind)(nil).Paths(plan); got != nil {
		t.Errorf("no kind has the paths %v", got)
	}
	k := triage()
	o := k.Fill(Object{"artifacts": []any{"a", "m"}, "main": "m", "where": Object{"file": "w"}, "places": []any{Object{"file": "p"}, Object{}}})
	if got := k.Claims(o); !reflect.DeepEqual(got, []string{"a", "m", "w", "p"}) {
		t.Errorf("claims are %v", got)
	}
	build := builtin(t, "build")
	if got := build.Claims(Object{"artifacts": []any{"b"}, "changed_files": []any{"a", "b"}}); !reflect.DeepEqual(got, []string{"b", "a"}) {
		t.Errorf("claims are %v", got)
	}
	document := builtin(t, "document")
	if got := document.Claims(Object{"document_path": "", "documented_files": []any{"d"}}); !reflect.DeepEqual(got, []string{"d"}) {
		t.Errorf("claims are %v", got)
	}
}

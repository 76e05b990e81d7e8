package diag

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

func TestTableIsSound(t *testing.T) {
	t.Parallel()
	seen := map[Rule]bool{}
	warnings := false
	for _, r := range Rules() {
		if seen[r.Name] || r.Summary == "" || strings.HasSuffix(r.Summary, ".") || strings.ToLower(string(r.Name)) != string(r.Name) {
			t.Errorf("bad row %+v", r)
		}
		seen[r.Name] = true
		if warnings && r.Severity == Error {
			t.Errorf("%s: errors come first", r.Name)
		}
		warnings = warnings || r.Severity == Warning
		if got := r.Name.Severity(); got != r.Severity {
			t.Errorf("%s is a %s", r.Name, got)
		}
	}
	for _, r := range []Rule{YAMLFlow, NotBuilt, UnknownPipeline, FallbackCycle, Deprecated, AcceptSkippable} {
		if !seen[r] {
			t.Errorf("%s has no row", r)
		}
	}
	if AcceptSkippable.Severity() != Warning || NotBuilt.Severity() != Error {
		t.Error("severities")
	}
	defer func() {
		if recover() == nil {
			t.Error("an unknown rule passed")
		}
	}()
	Rule("no-such-rule").Severity()
}

func TestPositionsRoundTrip(t *testing.T) {
	t.Parallel()
	s := NewSource("f", "\ufeffkey: é\r\n\tx: 日本\nlast")
	tests := []struct {
		at   string
		want Position
	}{{"key", Position{1, 1}}, {"é", Position{1, 6}}, {"x:", Position{2, 2}}, {"本", Position{2, 6}}, {"last", Position{3, 1}}}
	for _, tt := range tests {
		i := strings.Index(s.Text, tt.at)
		if got := s.Position(i); got != tt.want {
			t.Errorf("%q is at %v, want %v", tt.at, got, tt.want)
		}
		if got := s.Offset(tt.want); got != i {
			t.Errorf("%v is offset %d, want %d", tt.want, got, i)
		}
	}
	if got := s.Line(1); got != "\ufeffkey: é" {
		t.Errorf("line 1 is %q", got)
	}
}

func find(s *Source, text string) Span {
	i := strings.Index(s.Text, text)
	return Span{s, i, i + len(text)}
}

func TestRenderText(t *testing.T) {
	t.Parallel()
	long := "key: " + strings.Repeat("abcdefghi ", 30) + "wrong" + strings.Repeat(" tail", 60)
	tests := []struct {
		name, text, at string
		want           string
	}{
		{"plain", "a: 1\n      - on fail -> reveiw retry 1\n", "reveiw",
			"f.yaml:2:20: error: phase \"x\" is not defined [unknown-phase]\n    2 |       - on fail -> reveiw retry 1\n      |                    ^^^^^^\n"},
		{"tab", "\ta:\twrong\n", "wrong",
			"f.yaml:1:5: error: phase \"x\" is not defined [unknown-phase]\n    1 |     a:  wrong\n      |         ^^^^^\n"},
		{"wide", "日本é: wrong\r\n", "wrong",
			"f.yaml:1:6: error: phase \"x\" is not defined [unknown-phase]\n    1 | 日本é: wrong\n      |        ^^^^^\n"},
		{"wide marked", "a: 日本 x", "日本",
			"f.yaml:1:4: error: phase \"x\" is not defined [unknown-phase]\n    1 | a: 日本 x\n      |    ^^^^\n"},
		{"combining", "e\u0301: wrong", "wrong",
			"f.yaml:1:5: error: phase \"x\" is not defined [unknown-phase]\n    1 | e\u0301: wrong\n      |    ^^^^^\n"},
		{"mark", "\ufeffwrong", "wrong",
			"f.yaml:1:1: error: phase \"x\" is not defined [unknown-phase]\n    1 | wrong\n      | ^^^^^\n"},
		{"several lines", "a: |\n  one\n  two\n", "|\n  one\n  two",
			"f.yaml:1:4: error: phase \"x\" is not defined [unknown-phase]\n    1 | a: |\n      |    ^\n"},
		{"terminal codes", "a\x1b[31m: wrong\u202e", "wrong",
			"f.yaml:1:9: error: phase \"x\" is not defined [unknown-phase]\n    1 | a\ufffd[31m: wrong\ufffd\n      |         ^^^^^\n"},
		{"empty", "", "",
			"f.yaml:1:1: error: phase \"x\" is not defined [unknown-phase]\n    1 |\n      | ^\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var l List
			l.Report(UnknownPhase, find(NewSource("f.yaml", tt.text), tt.at), "phase %q is not defined", "x")
			var b strings.Builder
			if err := RenderText(&b, l.Sorted(), false); err != nil || b.String() != tt.want {
				t.Errorf("got\n%s\nwant\n%s", b.String(), tt.want)
			}
		})
	}
	t.Run("long line", func(t *testing.T) {
		t.Parallel()
		var l List
		l.Report(UnknownPhase, find(NewSource("f", long), "wrong"), "m")
		var b strings.Builder
		if err := RenderText(&b, l.Sorted(), false); err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(b.String(), "\n")
		shown, caret := []rune(lines[1]), []rune(lines[2])
		if i := strings.IndexRune(lines[2], '^'); len(shown) > windowSize+12 || string(shown[i:i+5]) != "wrong" || string(caret[i:]) != "^^^^^" || !strings.HasSuffix(lines[1], "…") {
			t.Errorf("got\n%s", b.String())
		}
	})
}

func TestRenderNotesAndHints(t *testing.T) {
	t.Parallel()
	s := NewSource("f.yaml", "a: 1\nb: 2\na: 3\n")
	var l List
	l.Report(DuplicateKey, Span{s, 10, 11}, "%q is set twice", "a").Notef(Span{s, 0, 1}, "the first is here").Notef(Span{s, 10, 11}, "and so on").Notef(Span{}, "nowhere").Hintf("keep one\nof the two")
	l.Report(Unused, Span{}, "no place")
	want := `warning: no place [unused]
f.yaml:3:1: error: "a" is set twice [duplicate-key]
    3 | a: 3
      | ^
   note: f.yaml:1:1: the first is here
    1 | a: 1
      | ^
   note: and so on
   hint: keep one
         of the two
`
	var b strings.Builder
	if err := RenderText(&b, l.Sorted(), false); err != nil || b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
	var c strings.Builder
	if err := RenderText(&c, l.Sorted(), true); err != nil || !strings.Contains(c.String(), "\x1b[1;31merror:\x1b[0m") {
		t.Errorf("no colour in %q", c.String())
	}
}

func TestRenderMachineFormats(t *testing.T) {
	t.Parallel()
	s := NewSource("a b,c.yaml", "é: x: y\n")
	var l List
	l.Report(YAMLColon, Span{s, 5, 6}, "50%% of\nit").Hintf("quote it: <a>")
	var none, some, github, sarif bytes.Buffer
	for _, err := range []error{RenderJSON(&none, nil), RenderJSON(&some, l.Sorted()), RenderGitHub(&github, l.Sorted()), RenderSARIF(&sarif, l.Sorted(), "1.2.3")} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if got := strings.TrimSpace(none.String()); got != "[]" {
		t.Errorf("nothing is %s", got)
	}
	var records []map[string]any
	if err := json.Unmarshal(some.Bytes(), &records); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"file": "a b,c.yaml", "line": 1.0, "column": 5.0, "end_line": 1.0, "end_column": 6.0, "rule": "yaml-colon", "severity": "error", "message": "50% of\nit", "hint": "quote it: <a>"}
	if len(records) != 1 || len(records[0]) != len(want) {
		t.Fatalf("got %v", records)
	}
	for k, v := range want {
		if records[0][k] != v {
			t.Errorf("%s is %v, want %v", k, records[0][k], v)
		}
	}
	if want := "::error file=a b%2Cc.yaml,line=1,endLine=1,col=5,endColumn=6,title=yaml-colon::50%25 of%0Ait [yaml-colon]%0Ahint: quote it: <a>\n"; github.String() != want {
		t.Errorf("github: %q", github.String())
	}
	var log struct {
		Version string
		Runs    []struct {
			Tool struct {
				Driver struct{ Rules []struct{ ID string } }
			}
			Results []struct {
				RuleID    string
				RuleIndex int
				Locations []struct {
					PhysicalLocation struct {
						ArtifactLocation struct{ URI string }
						Region           struct{ StartColumn int }
					}
				}
			}
		}
	}
	if err := json.Unmarshal(sarif.Bytes(), &log); err != nil {
		t.Fatal(err)
	}
	r := log.Runs[0].Results[0]
	if log.Version != "2.1.0" || len(log.Runs[0].Tool.Driver.Rules) != len(Rules()) || log.Runs[0].Tool.Driver.Rules[r.RuleIndex].ID != r.RuleID ||
		r.Locations[0].PhysicalLocation.ArtifactLocation.URI != "a%20b,c.yaml" || r.Locations[0].PhysicalLocation.Region.StartColumn != 5 {
		t.Errorf("sarif: %s", sarif.String())
	}
}

func TestSortedIsByPlaceAndWithoutRepetitions(t *testing.T) {
	t.Parallel()
	a, b := NewSource("a", "xxxx"), NewSource("b", "xxxx")
	var l, more List
	l.Report(Unused, Span{b, 0, 1}, "3")
	l.Report(Unused, Span{a, 2, 3}, "2")
	more.Report(Unused, Span{a, 2, 3}, "2")
	more.Report(BadID, Span{a, 2, 3}, "1")
	l.Merge(more)
	var got []string
	for _, d := range l.Sorted() {
		got = append(got, d.Message)
	}
	if !slices.Equal(got, []string{"1", "2", "3"}) || l.Len() != 4 || !l.HasErrors() {
		t.Errorf("got %v", got)
	}
}

func TestUnsilenced(t *testing.T) {
	t.Parallel()
	s := NewSource("f", "a: 1 # foundry:ignore unused\n# foundry:ignore unused, deprecated\nb: 2\nc: 3 # foundry:ignore cycle\nd: 4#foundry:ignore unused\ne: 5\nx: 1 # foundry:ignore unused\ny: 2\n")
	var l List
	for _, k := range []string{"a:", "b:", "c:", "d:", "e:", "y: 2"} {
		l.Report(Unused, find(s, k), "%s", k)
	}
	l.Report(Deprecated, find(s, "b:"), "b deprecated")
	l.Report(Cycle, find(s, "c:"), "c cycle")
	var got []string
	for _, d := range Unsilenced(l.Sorted()) {
		got = append(got, d.Message)
	}
	if want := []string{"c cycle", "c:", "d:", "e:", "y: 2"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestSuggest(t *testing.T) {
	t.Parallel()
	tests := []struct {
		word       string
		candidates []string
		want       string
	}{
		{"reveiw", []string{"build", "review"}, "review"},
		{"feedbackTo", []string{"feed", "feedback_to"}, "feedback_to"},
		{"Retries", []string{"retries"}, "retries"},
		{"xyz", []string{"phase"}, ""},
		{"tset", []string{"test"}, "test"},
		{"a", []string{"b"}, ""},
		{"plans", []string{"plan", "plant"}, "plan"},
		{"build", []string{"build"}, ""},
		{"", []string{"a"}, ""},
		{"größe", []string{"grösse", "größen"}, "größen"},
		{"x", nil, ""},
	}
	for _, tt := range tests {
		if got := Suggest(tt.word, tt.candidates); got != tt.want {
			t.Errorf("%q among %v: %q, want %q", tt.word, tt.candidates, got, tt.want)
		}
	}
}

func TestFragments(t *testing.T) {
	t.Parallel()
	s := NewSource("f", `k: "a\u00e9b\
   c''d"`)
	whole := Span{s, 3, len(s.Text)}
	// a é(2 bytes, one escape) b c ' ' d
	at := []int{4, 5, 5, 11, 17, 18, 19, 20, 21}
	f := NewFragment("aébc''d", whole, at)
	for _, tt := range []struct {
		find, want string
	}{{"a", "a"}, {"é", `\u00e9`}, {"éb", `\u00e9b`}, {"b", "b"}, {"c'", "c'"}, {"''d", "''d"}} {
		i := strings.Index(f.Text, tt.find)
		if got := f.Span(i, i+len(tt.find)).Text(); got != tt.want {
			t.Errorf("%q is %q, want %q", tt.find, got, tt.want)
		}
		if got := f.Slice(i, i+len(tt.find)); got.Span(0, len(got.Text)) != f.Span(i, i+len(tt.find)) || got.Text != tt.find {
			t.Errorf("the slice %q is %q", tt.find, got.Span(0, len(got.Text)).Text())
		}
	}
	if got := f.Span(1, 1); got.Start != 5 || got.End != 5 {
		t.Errorf("an empty range is %v", got)
	}
	v := NewVerbatim("a", Span{s, 3, 10}, 4)
	if v.Span(0, 9).Text() != "a" || v.Slice(0, 1).Whole().Text() != "a" || FileFragment(s).Span(0, 1).Text() != "k" {
		t.Error("verbatim")
	}
	if (Fragment{Text: "x"}).Span(0, 1) != (Span{}) || NewFragment("xyz", whole, nil).Span(1, 2) != whole {
		t.Error("without a map the whole is the answer")
	}
}

func FuzzRenderText(f *testing.F) {
	f.Add("a: \t日本\x1b\n", 3, 7)
	f.Add(strings.Repeat("é\t", 200), 100, 120)
	f.Fuzz(func(t *testing.T, text string, from, to int) {
		from = min(max(from, 0), len(text))
		to = min(max(to, from), len(text))
		var l List
		l.Report(Unused, Span{NewSource("f", text), from, to}, "%s", text).Hintf("%s", text)
		var b strings.Builder
		if err := RenderText(&b, l.Sorted(), false); err != nil {
			t.Fatal(err)
		}
		for _, r := range b.String() {
			if r < ' ' && r != '\n' {
				t.Fatalf("a control character %q came through", r)
			}
		}
	})
}

func TestReplaceKeepsPlaces(t *testing.T) {
	t.Parallel()
	src := NewSource("f", "a: größe = 2 && x\nb: 'it''s = 1'\n")
	verbatim := NewVerbatim("größe = 2 && x", Span{src, 3, 19}, 3)
	at := strings.Index(verbatim.Text, "=")
	got := verbatim.Replace(at, at+1, "==")
	if got.Text != "größe == 2 && x" || got.Span(0, len("größe")).Text() != "größe" || got.Span(at, at+2).Text() != "=" {
		t.Errorf("%q: %q, %q", got.Text, got.Span(0, len("größe")).Text(), got.Span(at, at+2).Text())
	}
	if last := got.Span(len(got.Text)-1, len(got.Text)); last.Text() != "x" || got.Slice(at+3, at+4).Whole().Text() != "2" {
		t.Errorf("after the part: %q, %q", last.Text(), got.Slice(at+3, at+4).Whole().Text())
	}
	if f := NewFragment("x = 1", Span{src, 0, 4}, nil).Replace(2, 3, "=="); f.Text != "x == 1" || f.Span(5, 6) != (Span{src, 0, 4}) {
		t.Errorf("without a map: %q at %v", f.Text, f.Span(5, 6))
	}
}

package gates

import (
	"reflect"
	"slices"
	"strings"
	"testing"
)

// want is what a gate must come to.
type want struct {
	outcome Outcome
	checks  string // as show writes them
}

func judge(t *testing.T, s Spec, e Evidence, w want) {
	t.Helper()
	if s.Name == "" {
		s.Name = "gate"
	}
	got := s.Judge(e)
	if got.Outcome != w.outcome || show(got) != w.checks {
		t.Errorf("%v\n%s\nwant %v\n%s", got.Outcome, show(got), w.outcome, w.checks)
	}
}

func artifacts(paths ...string) []Claim {
	var out []Claim
	for _, p := range paths {
		out = append(out, Claim{Field: "artifacts", Path: p})
	}
	return out
}

func changedFiles(paths ...string) []Claim {
	var out []Claim
	for _, p := range paths {
		out = append(out, Claim{Field: "changed_files", Path: p})
	}
	return out
}

func regular(text string) File {
	return File{Exists: true, Type: "file", Size: int64(len(text)), Data: []byte(text)}
}

func TestTable(t *testing.T) {
	t.Parallel()
	seen := make(map[Kind]bool)
	for _, row := range Table() {
		if row.Name != row.Kind.String() || row.Summary == "" || seen[row.Kind] {
			t.Errorf("row %+v", row)
		}
		seen[row.Kind] = true
		if found, ok := Find(row.Name); !ok || !reflect.DeepEqual(found, row) {
			t.Errorf("Find(%q) = %+v, %v", row.Name, found, ok)
		}
		if row.Short != "" && !slices.ContainsFunc(row.Args, func(a Arg) bool { return a.Name == row.Short }) {
			t.Errorf("%s: the bare value stands for %q, which is no argument", row.Name, row.Short)
		}
	}
	for k := ArtifactsExist; k <= Expression; k++ {
		if !seen[k] {
			t.Errorf("kind %d is not in the table", k)
		}
	}
	if _, ok := Find("artifact_exists"); ok {
		t.Error("found a gate that does not exist")
	}
	if k := Kind(0); k.String() != "invalid" {
		t.Errorf("the zero kind is %s", k)
	}
}

func TestUnknownKindFails(t *testing.T) {
	t.Parallel()
	judge(t, Spec{}, Evidence{}, want{Failed, `no gate: a gate of kind "invalid" cannot be judged here`})
	judge(t, Spec{Kind: Expression}, Evidence{}, want{Failed, `no gate: a gate of kind "check" cannot be judged here`})
}

func TestConclude(t *testing.T) {
	t.Parallel()
	good, bad := Check{Item: "a", OK: true}, Check{Item: "b"}
	for name, tc := range map[string]struct {
		spec   Spec
		checks []Check
		want   want
	}{
		"none":                      {Spec{}, nil, want{Empty, ""}},
		"none, required":            {Spec{Require: true}, nil, want{Failed, "no gate: there was nothing to look at"}},
		"none, required, a message": {Spec{Require: true, Message: "do it"}, nil, want{Failed, "no gate: do it\nno gate: there was nothing to look at"}},
		"good, required":            {Spec{Require: true, Message: "do it"}, []Check{good}, want{Passed, "ok a"}},
		"one bad":                   {Spec{}, []Check{good, bad}, want{Failed, "ok a\nno b"}},
		"one bad, a message":        {Spec{Message: "do it"}, []Check{good, bad}, want{Failed, "no gate: do it\nok a\nno b"}},
	} {
		tc.spec.Name = "gate"
		got := tc.spec.Conclude(tc.checks)
		if got.Outcome != tc.want.outcome || show(got) != tc.want.checks {
			t.Errorf("%s: %v %s", name, got.Outcome, show(got))
		}
	}
}

func TestArtifactsExist(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		spec Spec
		e    Evidence
		want want
	}{
		"nothing declared": {Spec{}, Evidence{}, want{Empty, ""}},
		"nothing declared, required": {Spec{Require: true}, Evidence{},
			want{Failed, "no gate: no file is declared: list what was written under artifacts"}},
		"only planned, required": {Spec{Require: true}, Evidence{Claims: []Claim{{"steps.files", "a", true}}},
			want{Failed, "no gate: no file is declared: list what was written under artifacts"}},
		"created": {Spec{}, Evidence{Claims: artifacts("p.md"), Files: map[string]File{"p.md": regular("x")}, Changes: []Change{{Path: "p.md", Kind: Created}}},
			want{Passed, "ok p.md: written in this visit, 1 byte"}},
		"missing": {Spec{}, Evidence{Claims: artifacts("p.md"), Files: map[string]File{"p.md": {}}},
			want{Failed, "no p.md: does not exist: write it, or take it out of artifacts"}},
		"old": {Spec{}, Evidence{Claims: artifacts("p.md"), Files: map[string]File{"p.md": regular("x")}},
			want{Failed, "no p.md: exists, but this visit did not write it, or git ignores it: write it, or take it out of artifacts"}},
		"old, may exist": {Spec{MayExist: true}, Evidence{Claims: artifacts("p.md"), Files: map[string]File{"p.md": regular("xy")}},
			want{Passed, "ok p.md: 2 bytes"}},
		"missing, may exist": {Spec{MayExist: true}, Evidence{Claims: artifacts("p.md"), Files: map[string]File{"p.md": {}}},
			want{Failed, "no p.md: does not exist: write it, or take it out of artifacts"}},
		"absolute": {Spec{MayExist: true}, Evidence{Claims: artifacts("/etc/passwd"), Files: map[string]File{"/etc/passwd": {Problem: "absolute path"}}},
			want{Failed, "no /etc/passwd: absolute path: name a file of the repository, from its root"}},
		"one of two": {Spec{}, Evidence{Claims: artifacts("a", "b"), Files: map[string]File{"a": regular("x"), "b": {}}, Changes: []Change{{Path: "a", Kind: Modified}}},
			want{Failed, "ok a: written in this visit, 1 byte\nno b: does not exist: write it, or take it out of artifacts"}},
		"a directory with a new file": {Spec{}, Evidence{Claims: artifacts("docs/"), Files: map[string]File{"docs/": {Exists: true, Type: "dir"}}, Changes: []Change{{Path: "docs/a.md", Kind: Created}}},
			want{Passed, "ok docs/: written in this visit, dir"}},
		"a file in a sibling": {Spec{}, Evidence{Claims: artifacts("docs"), Files: map[string]File{"docs": {Exists: true, Type: "dir"}}, Changes: []Change{{Path: "docs2/a.md", Kind: Created}, {Path: "docs/old.md", Kind: Deleted}}},
			want{Failed, "no docs: exists, but this visit did not write it, or git ignores it: write it, or take it out of artifacts"}},
		"renamed to": {Spec{}, Evidence{Claims: artifacts("b"), Files: map[string]File{"b": regular("x")}, Changes: []Change{{Path: "b", From: "a", Kind: Renamed}}},
			want{Passed, "ok b: written in this visit, 1 byte"}},
		"a deletion among changed files": {Spec{}, Evidence{Claims: changedFiles("a", "b"), Files: map[string]File{"a": {}, "b": {}}, Changes: []Change{{Path: "a", Kind: Deleted}, {Path: "c", From: "b", Kind: Renamed}}},
			want{Passed, "ok a: deleted in this visit\nok b: deleted in this visit"}},
		"a deletion as an artifact": {Spec{}, Evidence{Claims: append(changedFiles("a"), artifacts("a")...), Files: map[string]File{"a": {}}, Changes: []Change{{Path: "a", Kind: Deleted}}},
			want{Failed, "no a: was deleted in this visit: take it out of artifacts, or write it"}},
		"not looked at": {Spec{}, Evidence{Claims: artifacts("a")}, want{Failed, "no a: was not looked at"}},
		"handoff": {Spec{}, Evidence{Claims: artifacts(".foundry-handoff/n.md"), Files: map[string]File{".foundry-handoff/n.md": regular("x")}, Changes: []Change{{Path: ".foundry-handoff/n.md", Kind: Created}}},
			want{Passed, "ok .foundry-handoff/n.md: written in this visit, 1 byte"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tc.spec.Kind = ArtifactsExist
			judge(t, tc.spec, tc.e, tc.want)
		})
	}
}

func TestFilesNonEmpty(t *testing.T) {
	t.Parallel()
	s := Spec{Kind: FilesNonEmpty}
	judge(t, s, Evidence{}, want{Empty, ""})
	judge(t, s, Evidence{Claims: artifacts("a", "d"), Files: map[string]File{"a": regular("xyz"), "d": {Exists: true, Type: "dir"}}}, want{Passed, "ok a: 3 bytes"})
	judge(t, s, Evidence{Claims: artifacts("d"), Files: map[string]File{"d": {Exists: true, Type: "dir"}}}, want{Empty, ""})
	judge(t, s, Evidence{Claims: artifacts("a"), Files: map[string]File{"a": regular("")}}, want{Failed, "no a: is empty: write its content, or take it out of artifacts"})
	judge(t, s, Evidence{Claims: artifacts("a"), Files: map[string]File{"a": {}}}, want{Failed, "no a: does not exist: write it, or take it out of artifacts"})
	judge(t, s, Evidence{Claims: changedFiles("a"), Files: map[string]File{"a": {}}, Changes: []Change{{Path: "a", Kind: Deleted}}}, want{Passed, "ok a: deleted in this visit"})
	s.Require = true
	judge(t, s, Evidence{}, want{Failed, "no gate: no file is declared: list what was written under artifacts"})
}

func TestJSONParses(t *testing.T) {
	t.Parallel()
	s := Spec{Kind: JSONParses}
	judge(t, s, Evidence{Claims: artifacts("a.md", "json")}, want{Empty, ""})
	for text, w := range map[string]want{
		`{"a": 1}`:       {Passed, "ok A.Json: object, 8 bytes"},
		"[1]\n":          {Passed, "ok A.Json: array, 4 bytes"},
		`"x"`:            {Passed, "ok A.Json: string, 3 bytes"},
		`true`:           {Passed, "ok A.Json: boolean, 4 bytes"},
		`null`:           {Passed, "ok A.Json: null, 4 bytes"},
		`-1`:             {Passed, "ok A.Json: number, 2 bytes"},
		"{\n \"a\": 1,}": {Failed, "no A.Json: does not parse: line 2, column 9: invalid character '}' looking for beginning of object key string"},
		"{} {}":          {Failed, "no A.Json: does not parse: line 1, column 4: invalid character '{' after top-level value"},
		"{":              {Failed, "no A.Json: does not parse: line 1, column 1: unexpected end of JSON input"},
		" \n":            {Failed, "no A.Json: is empty, and that is not JSON"},
		"\ufeff{}":       {Failed, "no A.Json: begins with a byte order mark, which JSON does not have: remove it"},
	} {
		judge(t, s, Evidence{Claims: artifacts("A.Json", "a.md"), Files: map[string]File{"A.Json": regular(text)}}, w)
	}
	judge(t, s, Evidence{Claims: artifacts("a.json"), Files: map[string]File{"a.json": {Exists: true, Type: "file", Size: 9, Data: []byte("[1"), Truncated: true}}},
		want{Failed, "no a.json: 9 bytes are more than can be checked, only 2 were read"})
	judge(t, s, Evidence{Claims: artifacts("a.json"), Files: map[string]File{"a.json": {Exists: true, Type: "dir"}}},
		want{Failed, "no a.json: is a dir, not a file that could be parsed"})
	judge(t, s, Evidence{Claims: artifacts("a.json"), Files: map[string]File{"a.json": {}}},
		want{Failed, "no a.json: does not exist: write it, or take it out of artifacts"})
	s.Require = true
	judge(t, s, Evidence{}, want{Failed, "no gate: no .json file is declared: list what was written under artifacts"})
}

func TestDiffMatchesClaims(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		claims  []Claim
		changes []Change
		earlier []Change
		want    want
	}{
		"nothing":              {nil, nil, nil, want{Empty, ""}},
		"only handoff":         {artifacts(".foundry-handoff/n.md"), []Change{{Path: ".foundry-handoff/n.md", Kind: Created}}, nil, want{Empty, ""}},
		"only planned":         {[]Claim{{"steps.files", "a", true}}, nil, nil, want{Empty, ""}},
		"claimed":              {changedFiles("a", "b"), []Change{{Path: "a", Kind: Created}, {Path: "b", Kind: Modified}}, nil, want{Passed, "ok a: created\nok b: changed"}},
		"claimed as artifact":  {artifacts("a"), []Change{{Path: "a", Kind: ModeChanged}}, nil, want{Passed, "ok a: mode changed"}},
		"not claimed":          {changedFiles("a"), []Change{{Path: "a", Kind: Created}, {Path: "b", Kind: Created}}, nil, want{Failed, "ok a: created\nno b: created, but not claimed: list it, or undo the change"}},
		"planned is no claim":  {[]Claim{{"steps.files", "a", true}}, []Change{{Path: "a", Kind: Created}}, nil, want{Failed, "no a: created, but not claimed: list it, or undo the change"}},
		"deletion not claimed": {nil, []Change{{Path: "a", Kind: Deleted}}, nil, want{Failed, "no a: deleted, but not claimed: list it, or undo the change"}},
		"one side of a rename": {changedFiles("b"), []Change{{Path: "b", From: "a", Kind: Renamed}}, nil, want{Failed, "no a: renamed to b, but not claimed: list it, or undo the change\nok b: renamed from a"}},
		"both sides":           {changedFiles("b", "a"), []Change{{Path: "b", From: "a", Kind: Renamed}}, nil, want{Passed, "ok a: renamed to b\nok b: renamed from a"}},
		"out of handoff":       {changedFiles("b"), []Change{{Path: "b", From: ".foundry-handoff/b", Kind: Renamed}}, nil, want{Passed, "ok b: renamed from .foundry-handoff/b"}},
		"into handoff":         {nil, []Change{{Path: ".foundry-handoff/b", From: "b", Kind: Renamed}}, nil, want{Failed, "no b: renamed to .foundry-handoff/b, but not claimed: list it, or undo the change"}},
		"line endings":         {nil, []Change{{Path: "a", Kind: Modified, EOLOnly: true}}, nil, want{Passed, "ok a: line endings only"}},
		"no change":            {changedFiles("a"), nil, nil, want{Failed, "no a: did not change: take it out of changed_files, or make the change"}},
		"from before":          {changedFiles("a"), nil, []Change{{Path: "a", Kind: Created}}, want{Passed, "ok a: from an earlier visit"}},
		"renamed before":       {changedFiles("a", "b"), nil, []Change{{Path: "b", From: "a", Kind: Renamed}}, want{Passed, "ok a: from an earlier visit\nok b: from an earlier visit"}},
		"dot slash":            {changedFiles("./a"), []Change{{Path: "a", Kind: Created}}, nil, want{Failed, "no a: created, but not claimed: list it, or undo the change\nno ./a: is not how the changed file is named: write a"}},
		"case":                 {changedFiles("A"), []Change{{Path: "a", Kind: Created}}, nil, want{Failed, "no a: created, but not claimed: list it, or undo the change\nno A: differs from the changed file in case: write a"}},
		"directory":            {changedFiles("src/"), []Change{{Path: "src/b", Kind: Created}, {Path: "src/a", Kind: Created}}, nil, want{Failed, "no src/b: created, but not claimed: list it, or undo the change\nno src/a: created, but not claimed: list it, or undo the change\nno src/: is a directory: name the files in it, such as src/a"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			judge(t, Spec{Kind: DiffMatchesClaims}, Evidence{Claims: tc.claims, Changes: tc.changes, Earlier: tc.earlier}, tc.want)
		})
	}
	judge(t, Spec{Kind: DiffMatchesClaims, Require: true}, Evidence{}, want{Failed, "no gate: nothing changed and nothing is claimed: make the change, and list its files"})
}

func TestVerdictConsistent(t *testing.T) {
	t.Parallel()
	met := map[string]any{"requirement": "a", "met": true, "evidence": ""}
	unmet := map[string]any{"requirement": "b", "met": false, "evidence": ""}
	for name, tc := range map[string]struct {
		envelope map[string]any
		want     want
	}{
		"approved":               {map[string]any{"approved": true, "findings": []any{met}, "blocking": []any{}}, want{Passed, "ok approved: 1 finding, all met, nothing blocking"}},
		"approved bare":          {map[string]any{"approved": true}, want{Passed, "ok approved: 0 findings, all met, nothing blocking"}},
		"approved, unmet":        {map[string]any{"approved": true, "findings": []any{met, unmet}}, want{Failed, "no findings[1]: approved, but not met: b; reject, or say why it is met"}},
		"approved, blocking":     {map[string]any{"approved": true, "blocking": []any{"data loss"}}, want{Failed, "no blocking[0]: approved, but this blocks: data loss; reject, or take it out"}},
		"rejected, unmet":        {map[string]any{"approved": false, "findings": []any{met, unmet}}, want{Passed, "ok approved: rejected for 1 problem"}},
		"rejected, blocking":     {map[string]any{"approved": false, "blocking": []any{"data loss", "x"}}, want{Passed, "ok approved: rejected for 2 problems"}},
		"rejected, nothing":      {map[string]any{"approved": false, "findings": []any{met}, "blocking": []any{}}, want{Failed, "no approved: rejected, but neither blocking nor a finding that is not met names a problem: name it"}},
		"rejected, blank":        {map[string]any{"approved": false, "blocking": []any{" "}}, want{Failed, "no approved: rejected, but neither blocking nor a finding that is not met names a problem: name it"}},
		"approved is no boolean": {map[string]any{"approved": "true"}, want{Failed, "no approved: must be true or false"}},
		"no envelope":            {nil, want{Failed, "no approved: must be true or false"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			judge(t, Spec{Kind: VerdictConsistent}, Evidence{Envelope: tc.envelope}, tc.want)
		})
	}
}

func TestCommandPasses(t *testing.T) {
	t.Parallel()
	s := Spec{Kind: CommandPasses, Label: "go vet ./..."}
	judge(t, s, Evidence{Run: &Run{Exit: 0, Passed: true, Millis: 1200, Output: "fine"}}, want{Passed, "ok go vet ./...: exit 0 in 1.2s"})
	judge(t, s, Evidence{Run: &Run{Exit: 3, Passed: true}}, want{Passed, "ok go vet ./...: exit 3 in 0s"})
	judge(t, s, Evidence{Run: &Run{Exit: 1, Millis: 20, Output: "a.go:1: bad\n\n"}}, want{Failed, "no go vet ./...: exit 1 in 20ms:\na.go:1: bad"})
	judge(t, s, Evidence{Run: &Run{Exit: 1}}, want{Failed, "no go vet ./...: exit 1 in 0s, without output"})
	judge(t, s, Evidence{Run: &Run{Exit: 0, Passed: true, TimedOut: true, Millis: 60000, Output: "x"}}, want{Failed, "no go vet ./...: timed out after 1m0s:\nx"})
	judge(t, s, Evidence{Run: &Run{Exit: -1, Output: "x"}}, want{Failed, "no go vet ./...: was ended by a signal after 0s:\nx"})
	judge(t, s, Evidence{Run: &Run{Exit: -1, Failed: "no such file"}}, want{Failed, "no go vet ./...: could not be started: no such file"})
	judge(t, s, Evidence{}, want{Failed, "no go vet ./...: the command was not run"})
	long := s.Judge(Evidence{Run: &Run{Exit: 1, Output: strings.Repeat("line\n", 100) + "last"}})
	if note := long.Checks[0].Note; strings.Count(note, "\n") != tailLines || !strings.HasSuffix(note, "last") {
		t.Errorf("the tail has %d lines: %q", strings.Count(note, "\n"), note)
	}
}

func TestTestsUntouched(t *testing.T) {
	t.Parallel()
	s := Spec{Kind: TestsUntouched, Globs: []string{"**/*_test.go", "testdata/"}}
	judge(t, s, Evidence{}, want{Passed, "ok **/*_test.go: unchanged\nok testdata/: unchanged"})
	judge(t, s, Evidence{Changes: []Change{{Path: "a.go", Kind: Modified}, {Path: ".foundry-handoff/a_test.go", Kind: Created}}}, want{Passed, "ok **/*_test.go: unchanged\nok testdata/: unchanged"})
	judge(t, s, Evidence{Changes: []Change{{Path: "x/a_test.go", Kind: Modified}}}, want{Failed, "no x/a_test.go: changed, but must stay as it was at the start: put it back\nok testdata/: unchanged"})
	judge(t, s, Evidence{Changes: []Change{{Path: "a.go", From: "a_test.go", Kind: Renamed}, {Path: "testdata/b_test.go", Kind: Deleted}}},
		want{Failed, "no a_test.go: renamed, but must stay as it was at the start: put it back\nno testdata/b_test.go: deleted, but must stay as it was at the start: put it back"})
	judge(t, s, Evidence{Changes: []Change{{Path: "a_test.go", Kind: Modified, EOLOnly: true}}},
		want{Failed, "no a_test.go: changed (line endings only), but must stay as it was at the start: put it back\nok testdata/: unchanged"})
	judge(t, Spec{Kind: TestsUntouched, Require: true}, Evidence{}, want{Failed, "no gate: there was nothing to look at"})
}

func TestMaxDiff(t *testing.T) {
	t.Parallel()
	s := Spec{Kind: MaxDiff, MaxFiles: 2, MaxLines: 10, MaxDeleted: 0}
	judge(t, s, Evidence{}, want{Empty, ""})
	judge(t, s, Evidence{Changes: []Change{{Path: ".foundry-handoff/x", Kind: Created, Added: 99}, {Path: "b", Kind: Modified, EOLOnly: true, Added: 50, Removed: 50}}}, want{Empty, ""})
	judge(t, s, Evidence{Changes: []Change{{Path: "a", Kind: Modified, Added: 6, Removed: 4}, {Path: "b", Kind: Created}}},
		want{Passed, "ok files: 2 of at most 2\nok lines: 10 of at most 10\nok deleted: 0 of at most 0"})
	judge(t, s, Evidence{Changes: []Change{{Path: "a", Kind: Modified, Added: 6, Removed: 5}, {Path: "b", Kind: Deleted}, {Path: "c", Kind: Created}}},
		want{Failed, "no files: 3, at most 2 are allowed: change fewer files\nno lines: 11, at most 10 are allowed: make a smaller change\nno deleted: 1, at most 0 are allowed: put back what need not go"})
	judge(t, Spec{Kind: MaxDiff, MaxFiles: -1, MaxLines: 5, MaxDeleted: -1}, Evidence{Changes: []Change{{Path: "a", Kind: Modified, Added: 1}}}, want{Passed, "ok lines: 1 of at most 5"})
	s.Require = true
	judge(t, s, Evidence{}, want{Failed, "no gate: nothing changed"})
}

func TestProbe(t *testing.T) {
	t.Parallel()
	claims := append(changedFiles("b.go", "a.JSON"), artifacts("b.go", "r.json")...)
	claims = append(claims, Claim{"steps.files", "later.json", true})
	for kind, want := range map[Kind]Probe{
		ArtifactsExist:    {Paths: []string{"a.JSON", "b.go", "r.json"}, Changes: true},
		FilesNonEmpty:     {Paths: []string{"a.JSON", "b.go", "r.json"}, Changes: true},
		JSONParses:        {Paths: []string{"a.JSON", "r.json"}, Read: []string{"a.JSON", "r.json"}, Changes: true},
		DiffMatchesClaims: {Changes: true, Earlier: true},
		CommandPasses:     {Run: true},
		TestsRan:          {Run: true},
		TestsUntouched:    {Changes: true},
		MaxDiff:           {Changes: true, Sizes: true},
		VerdictConsistent: {},
		Expression:        {},
	} {
		if got := (Spec{Kind: kind}).Probe(claims); !reflect.DeepEqual(got, want) {
			t.Errorf("%v: got %+v, want %+v", kind, got, want)
		}
	}
	if got := (Spec{Kind: TestsRan, File: "r.xml"}).Probe(nil); !reflect.DeepEqual(got, Probe{Paths: []string{"r.xml"}, Read: []string{"r.xml"}}) {
		t.Errorf("got %+v", got)
	}
}

// A gate that breaks has failed, and says so.
func TestJudgeSurvivesAPanic(t *testing.T) {
	t.Parallel()
	v := judgeWith("gate", func() Verdict { panic("index out of range") })
	if v.Outcome != Failed || show(v) != "no gate: the gate itself broke: index out of range" {
		t.Errorf("%v %s", v.Outcome, show(v))
	}
}

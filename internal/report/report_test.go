package report

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"foundry/gates"
	"foundry/graph"
	"foundry/runner"
)

var update = flag.Bool("update", false, "write the golden files anew")

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

const id = "run_261130_a1b2c3"

// golden compares text with a file of testdata.
func golden(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), text); diff != "" {
		t.Errorf("%s differs (-update writes it anew):\n%s", path, diff)
	}
}

func plain(l *tape, s Style) string {
	var b strings.Builder
	p := NewPlain(s, nil)
	for _, e := range l.events {
		b.WriteString(p.Event(e))
	}
	return b.String()
}

func TestRendered(t *testing.T) {
	t.Parallel()
	at80 := Style{Width: 80}
	facts := Facts{Records: ".foundry/runs/" + id, Verbose: true, Now: noon.Add(100 * time.Second)}
	changed := facts
	changed.Changed = &DiffStat{Files: 3, Added: 1204, Removed: 4}
	detail := func(l *tape, phase string, visit int) string {
		text, err := TraceOf(id, l.events).Detail(phase, visit, at80, facts)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	for name, text := range map[string]string{
		"plain-80":        plain(repaired(), at80),
		"plain-pipe":      plain(refused(), Style{}),
		"plain-color":     plain(refused(), Style{Width: 80, Color: true}),
		"final-accepted":  TraceOf(id, repaired().events).Final(at80, changed),
		"final-rejected":  TraceOf(id, refused().events).Final(at80, facts) + "\n" + TraceOf(id, refused().events).LastLine(facts) + "\n",
		"last-lines":      lastLinesOf(facts),
		"final-waiting":   plain(waiting(), at80) + "\n" + TraceOf(id, waiting().events).Final(at80, facts),
		"final-blocked":   plain(blocked(), at80) + "\n" + TraceOf(id, blocked().events).Final(at80, facts),
		"final-limited":   plain(limited(), at80) + "\n" + TraceOf(id, limited().events).Final(at80, facts),
		"final-kept":      TraceOf(id, kept().events).Final(at80, changed),
		"final-merged":    TraceOf(id, merged().events).Final(at80, changed),
		"final-setup":     plain(failedSetup(), at80) + "\n" + TraceOf(id, failedSetup().events).Final(at80, facts),
		"final-color":     TraceOf(id, repaired().events).Final(Style{Width: 80, Color: true}, facts),
		"detail-agent":    detail(repaired(), "build", 1),
		"detail-revisit":  detail(repaired(), "build", 0),
		"detail-code":     detail(repaired(), "test", 1),
		"detail-rejected": detail(refused(), "review", 2),
		"runs":            Rows(rows(), at80, noon.Add(3*time.Hour)),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			golden(t, name, text)
		})
	}
}

func lastLinesOf(f Facts) string {
	var b strings.Builder
	for _, l := range []*tape{repaired(), refused(), waiting(), failedSetup(), blocked(), limited(), start("a").on("a", 1, entered),
		start("a").add(runner.Event{Kind: runner.RunInterrupted}), start("a").add(runner.Event{Kind: runner.RunKilled, Who: "me"}),
		start("a").add(runner.Event{Kind: runner.RunEnded, Status: "rejected", Reason: "budget:turns"})} {
		t := TraceOf(id, l.events)
		b.WriteString(pad(t.Status, 12) + t.LastLine(f) + "\n")
	}
	return b.String()
}

func rows() []Row {
	done := runner.OutlineOf(id, repaired().events)
	merged := "9a8b7c6d"
	done.Merged = &merged
	bad := runner.NewOutline("run_261129_000001")
	bad.Status, bad.Reason = "failed", "journal"
	return []Row{
		{Outline: runner.OutlineOf("x", waiting().events[:6]), Live: true},
		{Outline: done},
		{Outline: runner.OutlineOf("x", refused().events)},
		{Outline: bad, Problem: "events.jsonl:7: the log is damaged: an empty line"},
	}
}

func TestNoLineIsWiderThanTheTerminal(t *testing.T) {
	t.Parallel()
	for _, columns := range []int{60, 80, 120} {
		s := Style{Width: columns}
		facts := Facts{Records: ".foundry/runs/" + id, Verbose: true, Now: noon.Add(time.Hour)}
		for name, l := range map[string]*tape{"repaired": repaired(), "refused": refused(), "waiting": waiting(), "setup": failedSetup(), "blocked": blocked(), "limited": limited(), "kept": kept()} {
			final := strings.TrimRight(TraceOf(id, l.events).Final(s, facts), "\n")
			lines := strings.Split(plain(l, s)+final, "\n")
			for _, line := range lines {
				if !strings.Contains(line, "foundry ") && width(line) > columns { // a command to copy is never cut
					t.Errorf("%s at %d columns: %d in %q", name, columns, width(line), line)
				}
			}
		}
	}
}

func TestSummaryJSON(t *testing.T) {
	t.Parallel()
	for name, l := range map[string]*tape{"repaired": repaired(), "refused": refused(), "waiting": waiting(), "setup": failedSetup()} {
		data, err := json.MarshalIndent(TraceOf(id, l.events).Summary(nil), "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		golden(t, "show-"+name+".json", string(data)+"\n")
	}
}

// TestSummaryKeys pins the shape that scripts rely on, for a run of which nothing is known yet too.
func TestSummaryKeys(t *testing.T) {
	t.Parallel()
	for _, events := range [][]runner.Event{nil, repaired().events} {
		data, err := json.Marshal(TraceOf(id, events).Summary(nil))
		if err != nil {
			t.Fatal(err)
		}
		var run map[string]any
		if err := json.Unmarshal(data, &run); err != nil {
			t.Fatal(err)
		}
		want := strings.Fields("after base branch branch_point criteria discarded ended id merged phases pipeline reason request started status usage worktree")
		if diff := cmp.Diff(want, keys(run)); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff(strings.Fields("cost seconds tokens turns"), keys(run["usage"])); diff != "" {
			t.Error(diff)
		}
		for _, p := range run["phases"].([]any) {
			want := strings.Fields("attempts ended envelope exit gates id items kind reason reused reviews started status violations visits")
			if diff := cmp.Diff(want, keys(p)); diff != "" {
				t.Error(diff)
			}
		}
	}
}

func keys(v any) []string {
	m := v.(map[string]any)
	var out []string
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

func TestUnknownCostIsNeverZero(t *testing.T) {
	t.Parallel()
	l := start("a").on("a", 1, entered, sent("x"), turn(5, 0.25), sent("x"), turn(5, -1), ended("success", "", ""))
	run := TraceOf(id, l.events).Summary(nil)
	if run.Usage.Cost != nil || run.Usage.Turns != 2 || run.Usage.Tokens == nil || *run.Usage.Tokens != 10 {
		t.Errorf("%+v", run.Usage)
	}
	if text := TraceOf(id, l.events).Final(Style{}, Facts{}); !strings.Contains(text, "2 turns, 10 tokens, cost not reported") || strings.Contains(text, "$") {
		t.Error(text)
	}
	if c := TraceOf(id, start("a").events).Summary(nil).Usage.Cost; c == nil || *c != 0 {
		t.Errorf("a run without turns costs %v", c)
	}
}

func TestJSONIsTheEventItself(t *testing.T) {
	t.Parallel()
	for _, e := range repaired().events {
		line, err := JSON(e)
		if err != nil || strings.ContainsAny(string(line), "\n") || strings.Contains(string(line), `\u003e`) {
			t.Fatalf("%q %v", line, err)
		}
		var back runner.Event
		if err := json.Unmarshal(line, &back); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(e, back); diff != "" {
			t.Error(diff)
		}
	}
}

// TestNothingRuns holds that no phase is said to run when no process carries the run on.
func TestNothingRuns(t *testing.T) {
	t.Parallel()
	cut := start("a").on("a", 1, entered)
	stopped := start("a").on("a", 1, entered).add(runner.Event{Kind: runner.RunInterrupted})
	for name, c := range map[string]struct {
		log   *tape
		facts Facts
		want  string
	}{
		"live":        {cut, Facts{Live: true}, "running"},
		"crashed":     {cut, Facts{}, "cut off"},
		"interrupted": {stopped, Facts{}, "cut off"},
	} {
		if text := TraceOf(id, c.log.events).Final(Style{}, c.facts); !strings.Contains(text, "  a      "+c.want) {
			t.Errorf("%s: want phase a %s in\n%s", name, c.want, text)
		}
	}
}

func TestNext(t *testing.T) {
	t.Parallel()
	end := func(status, reason string) runner.Event {
		return runner.Event{Kind: runner.RunEnded, Status: status, Reason: reason}
	}
	cut := start("a").on("a", 1, entered)
	for name, c := range map[string]struct {
		log   *tape
		facts Facts
		want  string
	}{
		"accepted":    {repaired(), Facts{}, "foundry diff " + id},
		"merged":      {merged(), Facts{}, "foundry diff " + id},
		"spent":       {refused(), Facts{}, "foundry show " + id + " review"},
		"asks":        {waiting(), Facts{}, "foundry approve " + id + " ship"},
		"budget":      {start("a").add(end("rejected", "budget:turns")), Facts{}, "foundry resume " + id + " --limit turns=+20"},
		"interrupted": {start("a").add(runner.Event{Kind: runner.RunInterrupted}), Facts{}, "foundry resume " + id},
		"crashed":     {cut, Facts{}, "foundry resume " + id},
		"running":     {cut, Facts{Live: true}, "foundry logs -f " + id},
		"setup":       {failedSetup(), Facts{}, "foundry resume " + id},
		"killed":      {start("a").add(runner.Event{Kind: runner.RunKilled}), Facts{}, "foundry show " + id},
		"test failed": {start("test").on("test", 1, entered, command("x", 1, ""), ended("fail", "exit", "exit 1")).add(end("rejected", "unmatched")), Facts{}, "foundry logs " + id + " test"},
	} {
		if got := TraceOf(id, c.log.events).Next(c.facts); len(got) == 0 || got[0].Command != c.want {
			t.Errorf("%s: got %+v, want %s", name, got, c.want)
		}
	}
}

func TestCulprit(t *testing.T) {
	t.Parallel()
	falsy := runner.Event{Kind: runner.RunEnded, Status: "rejected", Reason: "acceptance", Seen: []runner.Seen{{Term: `passed("a")`, Value: "true"}, {Term: `passed("b")`, Value: "false"}}}
	whole := runner.Event{Kind: runner.RunEnded, Status: "rejected", Reason: "acceptance", Seen: []runner.Seen{{Term: "all_phases_pass", Value: "false"}}}
	unmatched := runner.Event{Kind: runner.RunEnded, Status: "rejected", Reason: "unmatched", Culprit: "a"}
	for name, c := range map[string]struct {
		log  *tape
		want string
	}{
		"spent":                 {refused(), "review"},
		"repaired":              {repaired(), ""},
		"a term that is false":  {start("a", "b").on("a", 1, entered, ended("success", "", "")).add(falsy), "b"},
		"not verified":          {start("a", "b").on("a", 1, entered, ended("success", "", "")).on("b", 1, entered, ended("unverified", "", "")).add(whole), "b"},
		"the one of the term":   {start("a", "b").on("a", 1, entered, ended("fail", "exit", "")).at(9).on("b", 1, entered, ended("fail", "gate", "")).add(falsy), "b"},
		"the one of the reason": {start("a", "b").on("a", 1, entered, ended("fail", "exit", "")).at(9).on("b", 1, entered, ended("fail", "gate", "")).add(unmatched), "a"},
		"nobody":                {start("a").on("a", 1, entered, ended("fail", "exit", "")).add(runner.Event{Kind: runner.RunEnded, Status: "rejected", Reason: "criterion"}), ""},
		"the first in a call":   {start("a", "a/x", "a/y").on("a", 1, entered).on("a/y", 1, entered, ended("fail", "exit", "")).on("a/x", 1, entered, ended("fail", "exit", "")).on("a", 1, ended("fail", "unmatched", "")), "a/x"},
		"forgotten by a resume": {refused().add(runner.Event{Kind: runner.RunResumed}).on("review", 2, runner.Event{Kind: runner.PhaseQueued}), ""},
	} {
		if got := TraceOf(id, c.log.events).Culprit(); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}

func TestLookup(t *testing.T) {
	t.Parallel()
	tr := TraceOf(id, repaired().events)
	for arg, says := range map[string]string{
		"build": "", "build@1": "", "build@2": "",
		"build@3": `phase "build" of run ` + id + ` was entered twice, so there is no build@3`,
		"biuld":   "has no phase", "note": "was not entered: it is not run, no route led to it", "build@x": "is no visit", "build@0": "is no visit",
	} {
		name, visit, err := PhaseArg(arg)
		if err == nil {
			_, _, err = tr.Lookup(name, visit)
		}
		if (err == nil) != (says == "") || (err != nil && !strings.Contains(err.Error(), says)) {
			t.Errorf("%s: %v, want %q", arg, err, says)
		}
	}
}

func TestHostileTextCannotDriveTheTerminal(t *testing.T) {
	t.Parallel()
	evil := "\x1b]0;owned\x07\x1b[2Jnice\x1b[31m\r\u202ebad\x07\n\x9b31m"
	l := start("a").on("a", 1, runner.Event{Kind: runner.PhaseStarted, Feedback: evil}, attempt, sent("x"),
		runner.Event{Kind: runner.EnvelopeRejected, Problems: []string{evil}}, reply(`{"status":"success","summary":"\u001b[2Jx"}`),
		runner.Event{Kind: runner.BoundaryChecked, Changed: []string{evil}, Outside: []runner.Violation{{Path: evil, Change: "created", Reason: evil, Note: evil}}},
		gate("g", "failed", gates.Check{Item: evil, Note: evil}), command(evil, 1, evil), runner.Event{Kind: runner.AskRaised, Text: evil},
		runner.Event{Kind: runner.AskAnswered, Answer: "reject", Who: evil, Text: evil}, runner.Event{Kind: runner.RouteTaken, Rule: evil, Target: "abort", Text: evil,
			Seen: []runner.Seen{{Term: evil, Value: evil}}}, ended("fail", "exit", evil)).
		add(runner.Event{Kind: runner.Warned, Text: evil}, runner.Event{Kind: runner.ProcessLeft, Text: evil}, runner.Event{Kind: runner.OutsideChanged, Changed: []string{evil}},
			runner.Event{Kind: runner.RunEnded, Status: "rejected", Reason: "abort", Text: evil, Seen: []runner.Seen{{Term: evil, Value: evil}}})
	tr := TraceOf(id, l.events)
	text, err := tr.Detail("a", 1, Style{}, Facts{})
	if err != nil {
		t.Fatal(err)
	}
	row := Row{Outline: tr.Outline}
	row.Request, row.Problem = evil, evil
	all := plain(l, Style{}) + text + tr.Final(Style{}, Facts{Verbose: true, Now: noon}) + Rows([]Row{row}, Style{}, noon)
	for i, r := range all {
		if (r < 0x20 && r != '\n') || (r >= 0x7f && r < 0xa0) || r == 0x202e {
			t.Fatalf("%q at %q", r, all[max(0, i-60):min(len(all), i+20)])
		}
	}
	if !strings.Contains(all, "nice") {
		t.Error("the words themselves are gone")
	}
}

func TestWithAGraph(t *testing.T) {
	t.Parallel()
	g := &graph.Graph{Agents: []graph.Agent{{Name: "coder"}}, Phases: []graph.Phase{
		{Name: "build", Kind: graph.AgentWork}, {Name: "test", Kind: graph.Code, Command: "test", Script: graph.Script{Label: "go test ./..."}},
		{Name: "vet", Kind: graph.Code, Script: graph.Script{Label: "go vet ./..."}}, {Name: "commit", Kind: graph.Commit}, {Name: "state", Kind: graph.Status},
		{Name: "nothing", Kind: graph.Noop}, {Name: "ship", Kind: graph.Ask}, {Name: "a_phase_with_a_name_that_is_long", Kind: graph.Noop, Hint: "look there"},
	}}
	l := start()
	kinds := map[string]string{}
	for _, p := range g.Phases {
		l.on(p.Name, 1, entered)
		kinds[p.Name] = ""
	}
	for _, p := range TraceOf(id, l.events).Summary(g).Phases {
		kinds[p.ID] = p.Kind
	}
	want := map[string]string{"build": "agent", "test": "command", "vet": "run", "commit": "builtin", "state": "builtin", "nothing": "builtin", "ship": "ask", "a_phase_with_a_name_that_is_long": "builtin"}
	if diff := cmp.Diff(want, kinds); diff != "" {
		t.Error(diff)
	}
	p := NewPlain(Style{Width: 80}, g)
	var b strings.Builder
	for _, e := range l.events {
		b.WriteString(p.Event(e))
	}
	golden(t, "plain-graph", b.String())
	l.on("a_phase_with_a_name_that_is_long", 1, ended("fail", "exit", "")).add(runner.Event{Kind: runner.RunEnded, Status: "rejected", Reason: "unmatched"})
	if text := TraceOf(id, l.events).Final(Style{}, Facts{Graph: g}); !strings.Contains(text, "hint: look there") {
		t.Error(text)
	}
}

func FuzzClean(f *testing.F) {
	f.Add("a\x1b[1;31mb\x1b]0;t\x07c\x9b")
	f.Add("\x1bP\x1b\\\u202e\t\n")
	f.Fuzz(func(t *testing.T, text string) {
		for _, r := range clean(text) {
			if (r < 0x20 && r != '\n') || (r >= 0x7f && r < 0xa0) {
				t.Fatalf("%q is left of %q", r, text)
			}
		}
		for _, n := range []int{1, 5, 20} {
			if got := cut(flat(text), n); width(got) > n {
				t.Fatalf("cut to %d columns: %q", n, got)
			}
			if n < 2 {
				continue // a wide rune fits no line
			}
			for _, line := range wrap(flat(text), n) {
				if width(line) > n {
					t.Fatalf("wrapped to %d columns: %q", n, line)
				}
			}
		}
	})
}

func TestWords(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		-time.Second: "0.0s", 0: "0.0s", 40 * time.Millisecond: "0.0s", 80 * time.Millisecond: "0.1s", 8120 * time.Millisecond: "8.1s",
		9949 * time.Millisecond: "9.9s", 9960 * time.Millisecond: "10s", 59400 * time.Millisecond: "59s", 59600 * time.Millisecond: "1m00s",
		72 * time.Second: "1m12s", 3599600 * time.Millisecond: "1h00m", 125 * time.Minute: "2h05m",
	} {
		if got := Duration(d); got != want {
			t.Errorf("Duration(%s) = %q, want %q", d, got, want)
		}
	}
	for text, want := range map[string]int{"": 0, "abc": 3, "é": 1, "e\u0301": 1, "中文": 4, "…": 1, "█": 1} {
		if got := width(text); got != want {
			t.Errorf("width(%q) = %d, want %d", text, got, want)
		}
	}
	for _, c := range []struct {
		text string
		n    int
		want string
	}{{"abcdef", 0, "abcdef"}, {"abcdef", 6, "abcdef"}, {"abcdef", 5, "abcd…"}, {"中文字", 5, "中文…"}, {"中文字", 4, "中…"}, {"ab", 1, "…"}} {
		if got := cut(c.text, c.n); got != c.want {
			t.Errorf("cut(%q, %d) = %q, want %q", c.text, c.n, got, c.want)
		}
	}
	if thousands(1234567) != "1,234,567" || thousands(-1234) != "-1,234" || thousands(12) != "12" {
		t.Error("thousands")
	}
}

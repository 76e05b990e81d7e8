package live

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"

	"foundry/runner"
)

var update = flag.Bool("update", false, "write the golden files anew")

// golden compares a screen with a file of testdata. What stands at the end of lines is the whole width of the terminal.
func golden(t *testing.T, name string, m *Model) {
	t.Helper()
	text := m.View() + "\n"
	for i, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		if n := ansi.StringWidth(line); n != m.width {
			t.Errorf("line %d takes %d columns of %d: %q", i+1, n, m.width, line)
		}
	}
	if n := strings.Count(text, "\n"); n != m.height {
		t.Errorf("the screen has %d lines, the terminal %d", n, m.height)
	}
	var trimmed strings.Builder
	for line := range strings.Lines(text) {
		trimmed.WriteString(strings.TrimRight(line, " \n") + "\n")
	}
	path := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.WriteFile(path, []byte(trimmed.String()), 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), trimmed.String()); diff != "" {
		t.Errorf("%s differs (-update writes it anew):\n%s", path, diff)
	}
}

func TestScreens(t *testing.T) {
	t.Parallel()
	color := Options{Color: true}
	open := func(l *tape, keys ...string) *tape {
		l.keys(keys...)
		return l
	}
	for name, l := range map[string]*tape{
		"start-80x24":          play(repair(), Options{}).at(0.1),
		"repair-80x24":         toRepair(Options{}),
		"repair-200x60":        toRepair(Options{}).size(200, 60),
		"repair-40x10":         toRepair(Options{}).size(40, 10),
		"repair-20x5":          toRepair(Options{}).size(20, 5),
		"repair-color":         toRepair(color),
		"ask-80x24":            toAsk(Options{}),
		"ask-color":            toAsk(color),
		"ask-40x10":            toAsk(Options{}).size(40, 10),
		"answer-80x24":         open(toAsk(Options{}), "a").typed("approve but fix the typo"),
		"kill-80x24":           open(toRepair(Options{}), "K"),
		"help-80x24":           open(toRepair(Options{}), "?"),
		"evidence-80x24":       open(toRepair(Options{}), "home", "down", "enter", "left"),
		"failed-80x24":         open(toRepair(Options{}), "enter", "left"),
		"to-come-80x24":        open(toRepair(Options{}), "end"),
		"long-80x24":           long(Options{}),
		"long-200x60":          long(Options{}).size(200, 60),
		"long-40x10":           long(Options{}).size(40, 10),
		"watch-start-80x24":    watchStart(Options{}),
		"watch-failed-80x24":   watchFailed(Options{}),
		"watch-failed-color":   watchFailed(color),
		"watch-next-80x24":     watchNext(Options{}),
		"watch-next-200x60":    watchNext(Options{}).size(200, 60),
		"watch-findings-80x24": watchFindings(Options{}),
		"watch-findings-40x10": watchFindings(Options{}).size(40, 10),
		"watch-mended-80x24":   watchMended(Options{}),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			golden(t, name, l.Model)
		})
	}
}

// TestOnlyMessagesCount plays the same messages twice, with looks at the screen between them once: looking changes nothing.
func TestOnlyMessagesCount(t *testing.T) {
	t.Parallel()
	quiet, looked := toAsk(Options{Color: true}), toAsk(Options{Color: true})
	for _, k := range []string{"home", "down", "enter", "pgdown", "right", "esc", "esc", "a", "x", "backspace"} {
		looked.View()
		quiet.keys(k)
		looked.keys(k)
	}
	quiet.size(100, 30)
	looked.size(100, 30)
	looked.View()
	if a, b := quiet.View(), looked.View(); a != b {
		t.Error(cmp.Diff(a, b))
	}
}

// TestLinesStayInPlace holds every row of the list to its line while the run goes on.
func TestLinesStayInPlace(t *testing.T) {
	t.Parallel()
	l := play(repair(), Options{})
	place := func() map[string]int {
		out := map[string]int{}
		for i, line := range strings.Split(l.View(), "\n") {
			for _, r := range l.rows {
				if f := strings.Fields(strings.TrimPrefix(line, "›")); i >= 4 && i < 12 && len(f) > 1 && f[1] == r.label {
					out[r.name] = i
				}
			}
		}
		return out
	}
	before := place()
	if len(before) != len(l.rows) {
		t.Fatalf("%d rows are seen, want %d:\n%s", len(before), len(l.rows), l.View())
	}
	*l = *toAsk(Options{})
	if diff := cmp.Diff(before, place()); diff != "" {
		t.Error(diff)
	}
}

func TestSizes(t *testing.T) {
	t.Parallel()
	for _, l := range []*tape{play(repair(), Options{}), toRepair(Options{Color: true}), toAsk(Options{}), long(Options{})} {
		for _, keys := range [][]string{nil, {"enter"}, {"esc", "?"}, {"esc", "K"}, {"esc", "a"}} {
			l.keys(keys...)
			for _, width := range []int{1, 9, 20, 39, 60, 80, 139, 140, 210} {
				for _, height := range []int{1, 2, 5, 8, 13, 16, 20, 24, 61} {
					lines := strings.Split(l.size(width, height).View(), "\n")
					if len(lines) != height {
						t.Fatalf("%dx%d: %d lines", width, height, len(lines))
					}
					for _, line := range lines {
						if n := ansi.StringWidth(line); n != width {
							t.Fatalf("%dx%d: a line of %d columns: %q", width, height, n, line)
						}
					}
				}
			}
		}
	}
}

func TestNoAnswerButAWord(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		typed string
		want  Effect
	}{
		{"yes", "ay\n", Effect{}},
		{"nothing", "a\n", Effect{}},
		{"without the line", "approve\n", Effect{}},
		{"a prefix", "aappr\n", Effect{}},
		{"a word", "aapprove\n", Effect{Kind: Answered, Answer: Answer{Approve: true}}},
		{"a word with a note", "areject  it is Friday \n", Effect{Kind: Answered, Answer: Answer{Note: "it is Friday"}}},
		{"a word after a wrong one", "ay\napprove\n", Effect{Kind: Answered, Answer: Answer{Approve: true}}},
	} {
		l := toAsk(Options{})
		var got Effect
		for _, r := range c.typed {
			k := Key{Name: string(r), Text: string(r)}
			if r == '\n' {
				k = Key{Name: "enter"}
			}
			if e := l.Update(k); e.Kind != 0 {
				got = e
			}
		}
		if got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}

// TestNoTypeAhead: what was typed before a question is on the screen is no part of its answer, not even when an
// earlier question was being answered.
func TestNoTypeAhead(t *testing.T) {
	t.Parallel()
	l := toRepair(Options{})
	l.keys("a").Kind.none(t)
	l.typed("approve")
	l.Update(Asked{Question{Phase: "ship", Text: "Ship it?"}})
	l.keys("enter").Kind.none(t)
	l.keys("esc", "a")
	l.typed("approve")
	l.Update(Withdrawn{})
	l.Update(Asked{Question{Phase: "ship", Text: "Ship it now?"}})
	l.keys("enter").Kind.none(t)
	l.keys("esc", "a", "enter").Kind.none(t)
}

func (k EffectKind) none(t *testing.T) {
	t.Helper()
	if k != 0 {
		t.Errorf("effect %d, want none", k)
	}
}

func TestKeys(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		keys string
		want EffectKind
	}{
		{"K y", Kill}, {"K n", 0}, {"K enter", 0}, {"K K", 0}, {"y", 0}, {"q", Leave}, {"enter q", 0}, {"enter q q", Leave},
		{"ctrl+c", Interrupt}, {"a ctrl+c", Interrupt}, {"K ctrl+c", Interrupt}, {"ctrl+z", Suspend}, {"? q", 0}, {"a q", 0},
	} {
		if got := toAsk(Options{}).keys(strings.Fields(c.keys)...).Kind; got != c.want {
			t.Errorf("%s: effect %d, want %d", c.keys, got, c.want)
		}
	}
}

// TestSelection: it goes with the run until somebody moves it, and again after esc.
func TestSelection(t *testing.T) {
	t.Parallel()
	l := toRepair(Options{})
	at := func(want string) {
		t.Helper()
		if r, _ := l.selected(); r.name != want {
			t.Errorf("%s is selected, want %s", r.name, want)
		}
	}
	at("test")
	l.keys("up", "up")
	l.on("test", 2, ended("success", "", "")).on("review", 1, entered)
	at("plan")
	l.keys("esc")
	at("review")
	l.keys("end", "down")
	at("rescue")
	l.keys("pgup")
	at("plan")
}

// TestActivity: what an agent was seen to do last stands beside it, and the last few things below.
func TestActivity(t *testing.T) {
	t.Parallel()
	l := play(repair(), Options{}).on("plan", 1, entered)
	for _, text := range []string{"Read calc.go", "Bash go test ./..."} {
		l.on("plan", 1, runner.Event{Kind: runner.Activity, Text: text})
	}
	screen := l.View()
	if row := strings.Split(screen, "\n")[4]; !strings.Contains(row, "plan") || !strings.Contains(row, "Bash go test ./...") {
		t.Errorf("the row does not tell what the agent does: %q", row)
	}
	if !strings.Contains(screen, "\n  Read calc.go") {
		t.Errorf("what the agent did before is not there:\n%s", screen)
	}
}

// TestHostileTexts: nothing that comes from a run can do more on a terminal than be read.
func TestHostileTexts(t *testing.T) {
	t.Parallel()
	const bad = "a\x1b[2J\x1b]0;title\x07\rb\x9b31m\u202ec"
	l := play(repair(), Options{})
	l.add(runner.Event{Kind: runner.RunStarted, Run: &runner.RunInfo{ID: id, Pipeline: bad, Request: bad}})
	l.on("plan", 1, runner.Event{Kind: runner.PhaseStarted, Feedback: bad}, runner.Event{Kind: runner.Activity, Text: bad})
	l.on("each["+bad+"]", 1, entered)
	l.Update(Output{"plan", 1, []string{bad}})
	l.Update(Notice{bad})
	l.Update(Asked{Question{Phase: "ship", Text: bad}})
	l.on("test", 1, entered, command(1, bad), ended("fail", "exit", bad), runner.Event{Kind: runner.RouteTaken, Rule: bad, Target: bad, Seen: []runner.Seen{{Term: bad, Value: bad}}})
	for _, keys := range [][]string{nil, {"home"}, {"end"}, {"up"}, {"up"}, {"enter"}} {
		l.keys(keys...)
		for _, r := range l.View() {
			if r != '\n' && (r < 0x20 || r == 0x7f || r == 0x9b || r == 0x202e) {
				t.Fatalf("%q after %v:\n%q", r, keys, l.View())
			}
		}
	}
}

package report

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"foundry/runner"
)

// hostile is a run in which every text that comes from outside tries to be more than text.
func hostile() *tape {
	const bad = "</td><script>alert(1)</script> ![x](http://e.example/i.png) [y](javascript:z) | cell | `code` **b** <img src=x onerror=y> www.e.example a@e.example @everyone #77\n# Heading\n- item\n```\n\x1b[31mred"
	l := start("p")
	l.events[0].Run.Request, l.events[0].Run.Who, l.events[0].Run.Pipeline = bad, bad, bad
	l.at(1).on("p", 1, entered, attempt, sent(bad)).at(4).on("p", 1, turn(10, 0.01), reply(`{"status":"success","summary":"</td><script>alert(1)</script> | # x","approved":false,"blocking":["<script>"]}`),
		runner.Event{Kind: runner.BoundaryChecked, Changed: []string{"<script>|\n# x.go"}, Outside: []runner.Violation{{Path: bad, Change: "changed", Reason: bad, Note: bad}}},
		gate(bad, "empty"), command(bad, 1, bad), ended("fail", "exit", bad), runner.Event{Kind: runner.RouteTaken, Rule: bad, Target: "p", Seen: []runner.Seen{{Term: bad, Value: bad}}})
	l.on("ship", 1, entered, runner.Event{Kind: runner.AskRaised, Text: bad}, runner.Event{Kind: runner.AskAnswered, Answer: "reject", Who: bad, Text: bad}, ended("fail", "rejected", bad))
	return l.add(runner.Event{Kind: runner.Warned, Text: bad}, runner.Event{Kind: runner.RunEnded, Status: "rejected", Reason: "spent", Text: bad, Hint: bad, Culprit: "ship"})
}

// reusing is a run that started nothing, and in which people spoke.
func reusing() *tape {
	again := command("go test ./...", 0, "ok\n")
	again.Reused = &runner.Reused{Run: "run_261129_000001", Phase: "test", Visit: 1, At: noon.Add(-20 * time.Hour)}
	return start("test", "ship").at(1).on("test", 1, entered, again, ended("success", "", "")).
		on("ship", 1, entered, runner.Event{Kind: runner.AskRaised, Text: "Ship it?"}).at(60).
		on("ship", 1, runner.Event{Kind: runner.AskAnswered, Answer: "approve", Who: "ada", Text: "looks good"}, ended("success", "", "")).
		add(runner.Event{Kind: runner.RunEnded, Status: "accepted", Seen: []runner.Seen{{Term: "all_phases_pass", Value: "true"}}})
}

func TestReport(t *testing.T) {
	t.Parallel()
	facts := ReportFacts{Facts: Facts{Now: noon.Add(100 * time.Second)}}
	counted := facts
	counted.Counted, counted.Files = true, []FileStat{{Path: "calc.go", Added: 1204, Removed: 4}, {Path: "logo.png", Binary: true}}
	for name, c := range map[string]struct {
		tape  *tape
		facts ReportFacts
	}{"repaired": {repaired(), counted}, "refused": {refused(), facts}, "waiting": {waiting(), facts}, "setup": {failedSetup(), facts}, "reusing": {reusing(), facts}, "hostile": {hostile(), facts}, "begun": {&tape{}, facts}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			trace := TraceOf(id, c.tape.events)
			golden(t, "report-"+name+".md", trace.Markdown(c.facts))
			html, err := trace.HTML(c.facts)
			if err != nil {
				t.Fatal(err)
			}
			if name == "repaired" || name == "hostile" {
				golden(t, "report-"+name+".html", html)
			}
		})
	}
}

// TestReportsAreNotInjectedInto reads the reports of a run that tries it.
func TestReportsAreNotInjectedInto(t *testing.T) {
	t.Parallel()
	trace := TraceOf(id, hostile().events)
	facts := ReportFacts{Facts: Facts{Now: noon}}
	html, err := trace.HTML(facts)
	if err != nil {
		t.Fatal(err)
	}
	for _, tag := range regexp.MustCompile(`<[^!>/][^>]*>`).FindAllString(html, -1) {
		if !regexp.MustCompile(`^<(html|head|meta|title|style|body|h1|h2|span|div|table|tr|th|td|ul|li|p|svg|rect)[ >]`).MatchString(tag) || strings.Contains(tag, "onerror=") || strings.Contains(tag, "src=") || strings.Contains(tag, "href=") {
			t.Errorf("the HTML has %s", tag)
		}
	}
	if strings.Contains(html, "\x1b") {
		t.Error("the HTML has an escape sequence")
	}
	own := map[string]int{}
	bare := regexp.MustCompile(`\\.`)
	for line := range strings.SplitSeq(trace.Markdown(facts), "\n") {
		own[strings.SplitN(line+" ", " ", 2)[0]]++
		if strings.HasPrefix(line, "    ") {
			continue // a drawing
		}
		line = strings.ReplaceAll(line, apart, "\x00")
		text := strings.Trim(strings.ReplaceAll(bare.ReplaceAllString(line, ""), "|---", ""), "|")
		for _, c := range []string{"<", ">", "`", "*", "[", "]", "![", "://", "www.", "\x1b", "a@e", "@e", "#77"} {
			if strings.Contains(text, c) {
				t.Errorf("the Markdown has %q in %s", c, line)
			}
		}
	}
	if own["#"] != 1 || own["-"] > 3 || own["```"] > 0 {
		t.Errorf("lines begin with %v", own)
	}
	// A table has as many cells in each row as in its head.
	cells := 0
	for line := range strings.SplitSeq(trace.Markdown(facts), "\n") {
		n := strings.Count(bare.ReplaceAllString(line, ""), "|")
		if n > 0 && cells > 0 && n != cells {
			t.Errorf("%d cells where the head has %d: %s", n-1, cells-1, line)
		}
		cells = n
	}
}

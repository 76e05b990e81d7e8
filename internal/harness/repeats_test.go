package harness

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestWhoGoesRoundInACircle plays the tools of a turn and looks how often it is told, and whether the turn is ended.
func TestWhoGoesRoundInACircle(t *testing.T) {
	t.Parallel()
	bash := func(command string) Tool { return Tool{Name: "Bash", Kind: Execute, Command: command} }
	read := func(args string) Tool { return Tool{Name: "Read", Kind: Read, Args: args} }
	edit := func(args string) Tool { return Tool{Name: "Edit", Kind: Edit, Args: args} }
	type use struct {
		tool   Tool
		answer string
		took   time.Duration
	}
	each := func(n int, f func(i int) []use) (out []use) {
		for i := range n {
			out = append(out, f(i)...)
		}
		return out
	}
	for _, tt := range []struct {
		name  string
		uses  []use
		told  int
		ended bool
	}{
		{"the same command", each(mostRepeats, func(int) []use { return []use{{bash("go test"), "FAIL", 0}} }), 1, true},
		{"not often enough to be stopped", each(mostRepeats-1, func(int) []use { return []use{{bash("go test"), "FAIL", 0}} }), 1, false},
		{"not often enough to be told", each(warnRepeats-1, func(int) []use { return []use{{bash("go test"), "FAIL", 0}} }), 0, false},
		{"other answers", each(40, func(i int) []use { return []use{{bash("tail log"), fmt.Sprint("line ", i), 0}} }), 0, false},
		{"answers that differ in time alone", each(mostRepeats, func(i int) []use {
			return []use{{bash("go test"), fmt.Sprintf("12:00:%02d FAIL calc 0.%03ds", i, i), 0}}
		}), 1, true},
		{"an edit in between", each(40, func(i int) []use { return []use{{bash("go test"), "FAIL", 0}, {edit(fmt.Sprint(i)), "ok", 0}} }), 0, false},
		{"an edit that is always the same", each(mostRepeats, func(int) []use { return []use{{edit("old, new"), "not found", 0}} }), 1, true},
		{"an edit whose arguments are not told", each(40, func(int) []use { return []use{{bash("go test"), "FAIL", 0}, {edit(""), "ok", 0}} }), 0, false},
		{"two commands in turn", each(mostRepeats, func(int) []use { return []use{{bash("go vet"), "ok", 0}, {bash("go test"), "FAIL", 0}} }), 2, true},
		{"another command each time", each(40, func(i int) []use { return []use{{bash("go test"), "FAIL", 0}, {bash(fmt.Sprint("sed -i ", i)), "", 0}} }), 0, false},
		{"looking does not change anything", each(mostRepeats, func(i int) []use { return []use{{bash("go test"), "FAIL", 0}, {read(fmt.Sprint(i)), "text", 0}} }), 1, true},
		{"pieces of one file", each(40, func(i int) []use { return []use{{read(fmt.Sprint("a.go from ", i)), "text", 0}} }), 0, false},
		{"it waits", each(40, func(int) []use { return []use{{bash("sleep 30"), "", 30 * time.Second}, {bash("tail log"), "", 0}} }), 0, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				told := 0
				causes := make(chan error, 4)
				w := newWatch(Turn{}, func(a Activity) {
					if a.Kind == GoesRound {
						told++
					}
				}, func(cause error) { causes <- cause })
				for i, u := range tt.uses {
					u.tool.ID = fmt.Sprint(i)
					w.called(u.tool, "")
					time.Sleep(u.took) // of the test's own clock
					w.result(u.tool.ID, u.answer, false)
				}
				synctest.Wait()
				select {
				case cause := <-causes:
					if r := w.stopped(cause); !tt.ended || !errors.Is(cause, errRepeats) || r.Stop != TimedOut || !strings.Contains(r.Error, "the same call was made 15 times") {
						t.Errorf("ended by %v: %+v", cause, r)
					}
				default:
					if tt.ended {
						t.Error("it goes on")
					}
				}
				if told != tt.told {
					t.Errorf("told %d times, want %d", told, tt.told)
				}
				w.stop()
			})
		})
	}
}

package harness

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"
)

func TestTable(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, info := range Table() {
		if seen[info.Name] || info.Summary == "" || info.Harness == nil {
			t.Errorf("%+v", info)
		}
		seen[info.Name] = true
		if h, err := Named(info.Name); err != nil || h == nil {
			t.Errorf("Named(%q) = %v, %v", info.Name, h, err)
		}
	}
	if _, err := Named("clod"); err == nil {
		t.Error("an unknown harness is known")
	}
}

func TestPreflight(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, mode := range map[string]os.FileMode{"agent": 0o755, "plain": 0o644} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"), mode); err != nil {
			t.Fatal(err)
		}
	}
	reply := []ScriptTurn{{Reply: "x"}}
	for _, c := range []struct {
		harness string
		config  Config
		says    string // "" for no error
	}{
		{"command", Config{Argv: []string{"sh", "-c", "true"}}, ""},
		{"command", Config{Argv: []string{"./agent"}, Dir: dir}, ""},
		{"command", Config{Argv: []string{"agent"}, Env: []string{"PATH=" + dir}}, ""},
		{"command", Config{}, "has no argv"},
		{"command", Config{Argv: []string{""}}, "has no argv"},
		{"command", Config{Argv: []string{"./missing"}, Dir: dir}, "was not found (looked for " + filepath.Join(dir, "missing")},
		{"command", Config{Argv: []string{"no-such-agent"}, Env: []string{"PATH=" + dir}}, "in any directory of PATH (" + dir},
		{"command", Config{Argv: []string{"plain"}, Env: []string{"PATH=" + dir}}, "not found in any directory"},
		{"command", Config{Argv: []string{"./plain"}, Dir: dir}, "chmod +x"},
		{"command", Config{Argv: []string{dir}}, "is a directory"},
		{"script", Config{Script: reply}, ""},
		{"script", Config{}, "has no script"},
		{"script", Config{Script: []ScriptTurn{{}, {Files: []ScriptFile{{Path: "../x"}}}}}, `entry 2 of its script`},
	} {
		h, err := Named(c.harness)
		if err != nil {
			t.Fatal(err)
		}
		c.config.Agent = "a"
		err = h.Preflight(c.config)
		if (err == nil) != (c.says == "") || (err != nil && !strings.Contains(err.Error(), c.says)) {
			t.Errorf("%s %+v: %v, want %q", c.harness, c.config, err, c.says)
		}
	}
}

func TestAProgramThatIsGoneByThen(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, err := command{}.Open(t.Context(), Config{Agent: "a", Argv: []string{"./gone"}})
	if err != nil {
		t.Fatal(err)
	}
	r := s.Turn(t.Context(), Turn{Dir: dir, Number: 1}, nil)
	wantStop(t, r, Failed, "gone")
}

func TestScriptRunsOut(t *testing.T) {
	t.Parallel()
	s, err := script{}.Open(t.Context(), Config{Agent: "coder", Script: []ScriptTurn{{Reply: "a"}, {Reply: "b"}}, Turns: 1})
	if err != nil {
		t.Fatal(err)
	}
	wantText(t, s.Turn(t.Context(), Turn{Phase: "build", Visit: 1, Attempt: 1}, nil), "b")
	r := s.Turn(t.Context(), Turn{Phase: "build", Visit: 2, Attempt: 1}, nil)
	wantStop(t, r, Failed, `the script of agent "coder" has 2 entries, and turn 3 of the run had none (phase build, visit 2, attempt 1)`)
}

func TestScriptStaysInTheWorkspace(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	dir := filepath.Join(root, "work")
	outside := filepath.Join(root, "outside")
	for _, d := range []string{dir, outside} {
		if err := os.Mkdir(d, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(outside, "secret"), []byte("kept"), 0o666); err != nil {
		t.Fatal(err)
	}
	for link, target := range map[string]string{"way": outside, "file": filepath.Join(outside, "secret"), "rel": "../outside"} {
		if err := os.Symlink(target, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range []ScriptFile{
		{Path: "way/x", Text: "x"}, {Path: "rel/x", Text: "x"}, {Path: "file", Text: "x"}, {Path: "way/secret", Delete: true},
		{Path: "../outside/x", Text: "x"}, {Path: "a/../../outside/x", Text: "x"}, {Path: filepath.Join(outside, "x"), Text: "x"},
		{Path: "way/a/b", Text: "x"}, {Path: "", Text: "x"}, {Path: ".", Delete: true}, {Path: "a/", Text: "x"}, {Path: "absent", Delete: true},
	} {
		if err := f.apply(dir); err == nil {
			t.Errorf("%+v was applied", f)
		}
	}
	names, err := os.ReadDir(outside)
	if err != nil || len(names) != 1 {
		t.Errorf("outside holds %v, %v", names, err)
	}
	if b, _ := os.ReadFile(filepath.Join(outside, "secret")); string(b) != "kept" {
		t.Errorf("outside was changed to %q", b)
	}
	if err := (ScriptFile{Path: "way", Delete: true}).apply(dir); err != nil {
		t.Errorf("a link itself may be deleted: %v", err)
	}
	if _, err := os.Stat(filepath.Join(outside, "secret")); err != nil {
		t.Error("the link's target was deleted with it")
	}
}

func TestStallClockStartsAnewWithEachSignOfLife(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		expired := make(chan time.Duration, 1)
		begin := time.Now()
		w := newWatch(Turn{Stall: 5 * time.Minute}, nil, func(cause error) {
			if cause != errStalled {
				t.Errorf("expired by %v", cause)
			}
			expired <- time.Since(begin)
		})
		for range 10 {
			time.Sleep(4 * time.Minute) // of the test's own clock
			w.heard()
		}
		w.called(Tool{ID: "1", Name: "Bash"}, "go test")
		w.called(Tool{ID: "1", Name: "Bash", Command: "go test"}, "go test") // told of again
		time.Sleep(time.Hour)
		w.result("1", "ok", false)
		w.result("1", "ok", false)
		if got, want := <-expired, 40*time.Minute+time.Hour+5*time.Minute; got != want {
			t.Errorf("expired after %s, want %s", got, want)
		}
		w.stop()
		none := newWatch(Turn{}, nil, func(error) { t.Error("no limit has expired") })
		none.heard()
		time.Sleep(time.Hour)
		none.stop()
	})
}

func TestClocksStandStillForAPerson(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var causes []error
		expired := func() []error {
			mu.Lock()
			defer mu.Unlock()
			return slices.Clone(causes)
		}
		begin := time.Now()
		turn := Turn{Timeout: 10 * time.Minute, Stall: 5 * time.Minute, Permit: func(context.Context, Request) Decision {
			time.Sleep(24 * time.Hour)
			return Decision{Allow: true}
		}}
		var seen []Activity
		w := newWatch(turn, func(a Activity) { seen = append(seen, a) }, func(cause error) {
			mu.Lock()
			defer mu.Unlock()
			causes = append(causes, cause)
		})
		time.Sleep(3 * time.Minute)
		if d := w.permit(t.Context(), Request{Title: "run it"}); !d.Allow {
			t.Error("the answer was lost")
		}
		time.Sleep(4 * time.Minute)
		w.heard()
		if early := expired(); len(early) > 0 {
			t.Errorf("expired after %s: %v", time.Since(begin), early)
		}
		time.Sleep(3*time.Minute + time.Second)
		synctest.Wait()
		if late := expired(); len(late) != 1 || late[0] != errTimedOut {
			t.Errorf("after ten minutes at work: %v", late)
		}
		w.stop()
		w.said("too late")
		if len(seen) != 1 || seen[0].Kind != AskedPermission || seen[0].Failed {
			t.Errorf("seen %+v", seen)
		}
	})
}

func TestSplitter(t *testing.T) {
	t.Parallel()
	for _, size := range []int{1, 2, 3, 7, 1000} {
		var got []string
		s := splitter{limit: 20, line: func(l []byte) { got = append(got, string(l)) }}
		text := "one\n\n{\"a\": \"\u2028\"}\r\nlast"
		for i := 0; i < len(text); i += size {
			s.write([]byte(text[i:min(i+size, len(text))]))
		}
		s.flush()
		if want := []string{"one", "{\"a\": \"\u2028\"}\r", "last"}; !slices.Equal(got, want) || s.long != nil {
			t.Errorf("in pieces of %d: %q, %v", size, got, s.long)
		}
		s.write([]byte(strings.Repeat("x", 20) + "\n"))
		s.write([]byte(strings.Repeat("x", 21) + "\nafter\n"))
		s.flush()
		if len(got) != 4 || s.long == nil || !strings.Contains(s.long.Error(), "limit of a message") {
			t.Errorf("a long line: %q, %v", got, s.long)
		}
	}
}

func TestMessages(t *testing.T) {
	t.Parallel()
	for in, want := range map[string][]string{
		"":                           nil,
		"Welcome to agent 1.0":       nil,
		`{"a":1}`:                    {`{"a":1}`},
		" {\"a\":1}\r":               {`{"a":1}`},
		`{"a":1}{"b":{"c":"}{"}}`:    {`{"a":1}`, `{"b":{"c":"}{"}}`},
		`loading... {"a":1} done`:    {`{"a":1}`},
		"\x1b[32m{\"a\":1}\x1b[0m":   {`{"a":1}`},
		`{oops {"a":1}`:              {`{"a":1}`},
		`{"cut":"of {"a":1}`:         {`{"a":1}`},
		"\ufeff{\"a\":1}":            {`{"a":1}`},
		`[{"a":1}]`:                  {`{"a":1}`},
		strings.Repeat("{", 1<<20):   nil,
		"{\"a\":\"\\u001b[31mred\"}": {"{\"a\":\"\\u001b[31mred\"}"},
	} {
		var got []string
		for _, m := range messages([]byte(in)) {
			got = append(got, string(m))
		}
		if !slices.Equal(got, want) {
			t.Errorf("messages(%.40q) = %q, want %q", in, got, want)
		}
	}
}

func FuzzMessages(f *testing.F) {
	f.Add([]byte(`{"a":1}{"b":2}`))
	f.Add([]byte("banner {\"a\":\"\x1b[31m\"} {"))
	f.Fuzz(func(t *testing.T, line []byte) {
		for _, m := range messages(line) {
			if !json.Valid(m) || m[0] != '{' {
				t.Fatalf("%q is no object", m)
			}
		}
	})
}

func TestUsage(t *testing.T) {
	t.Parallel()
	n := func(i int) *int { return &i }
	if _, known := (Usage{}).Tokens(); known {
		t.Error("nothing told is known")
	}
	a := Usage{Input: n(10), Output: n(2)}
	b := Usage{Input: n(15), Output: n(2), CacheRead: n(4)}
	if sum := a.add(b); *sum.Input != 25 || *sum.Output != 4 || *sum.CacheRead != 4 || sum.Cost != nil {
		t.Errorf("the sum is %+v", sum)
	}
	if d := b.since(a); *d.Input != 5 || *d.Output != 0 || *d.CacheRead != 4 || d.CacheWrite != nil {
		t.Errorf("the difference is %+v", d)
	}
	if d := a.since(b); *d.Input != 10 {
		t.Errorf("a total that fell counts %d", *d.Input)
	}
	if total, known := b.Tokens(); !known || total != 17 {
		t.Errorf("tokens %d, %v", total, known)
	}
}

func TestCleanText(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"":                                  "",
		"plain\r\n\ttext":                   "plain\r\n\ttext",
		"\ufeff{}":                          "{}",
		"\x1b[2J\ufeff{}":                   "{}",
		"a\x1b[1;31mb\x1b[0mc":              "abc",
		"\x1b]0;title\x07x\x1b]8;;u\x1b\\y": "xy",
		"\x1bPq data\x1b\\z":                "z",
		"\x1b(Bx\x1b7y\x1b=z":               "xyz",
		"\x1b]0;never ends\n{\"a\": 1}":     "\n{\"a\": 1}",
		"end\x1b":                           "end",
		"end\x1b[":                          "end",
		"end\x1b[12":                        "end",
		"\x1b\x1b[31mx":                     "x",
		"\x1bé":                             "é",
		"{\"a\": \"\\u001b[31m\"}":          "{\"a\": \"\\u001b[31m\"}",
		"in\xffvalid\x1b[0m":                "in\xffvalid",
	} {
		if got := cleanText(in); got != want {
			t.Errorf("cleanText(%q) = %q, want %q", in, got, want)
		}
	}
}

func FuzzCleanText(f *testing.F) {
	f.Add("a\x1b[1;31mb")
	f.Add("\x1b]0;t\x07")
	f.Add("\ufeff\x1bP\x1b\\")
	f.Fuzz(func(t *testing.T, text string) {
		got := cleanText(text)
		if strings.IndexByte(got, 0x1b) >= 0 {
			t.Fatalf("an escape is left in %q", got)
		}
		if strings.IndexByte(text, 0x1b) < 0 && got != strings.TrimPrefix(text, "\ufeff") {
			t.Fatalf("%q was changed to %q", text, got)
		}
		if utf8.ValidString(text) && !utf8.ValidString(got) {
			t.Fatalf("%q became %q, which is no UTF-8", text, got)
		}
	})
}

package journal

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"foundry/runner"
	"foundry/secret"
)

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

const id = "run_261130_a1b2c3"

func event(kind runner.Kind) runner.Event { return runner.Event{Kind: kind, At: noon} }

func started(id string, at time.Time) runner.Event {
	return runner.Event{Kind: runner.RunStarted, At: at, Run: &runner.RunInfo{ID: id, Pipeline: "tdd", Request: "add Sub"}}
}

func create(t *testing.T, s Store, id string) *Record {
	t.Helper()
	r, err := s.Create(id)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() }) // the second Close of a test that closes it itself does nothing
	return r
}

func appendAll(t *testing.T, r *Record, events ...runner.Event) {
	t.Helper()
	if err := r.Append(events...); err != nil {
		t.Fatal(err)
	}
}

func closeRecord(t *testing.T, r *Record) {
	t.Helper()
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestNewID(t *testing.T) {
	t.Parallel()
	got := NewID(noon, bytes.NewReader([]byte{0xa1, 0xb2, 0x03}))
	if got != "run_261130_a1b203" || !validID(got) {
		t.Fatalf("got %q", got)
	}
}

func TestAppendThenRead(t *testing.T) {
	t.Parallel()
	s := At(t.TempDir())
	r := create(t, s, id)
	given := []runner.Event{started(id, noon), {Kind: runner.TurnEnded, At: noon, Phase: "build", Visit: 1,
		Reply: &runner.Reply{Stop: runner.StopEnd, Text: strings.Repeat("x", 10<<20) + "\n<&>\u2028\"", ResetAt: noon}}}
	appendAll(t, r, given...)
	if given[0].Seq != 1 || given[1].Seq != 2 {
		t.Errorf("Seq was not stamped: %d, %d", given[0].Seq, given[1].Seq)
	}
	live, err := s.Read(id)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(r.Events(), live); diff != "" {
		t.Errorf("read while it is written: %s", diff[:min(len(diff), 500)])
	}
	closeRecord(t, r)
	again, err := s.Open(id)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	appendAll(t, again, event(runner.RunResumed))
	if n := len(again.Events()); n != 3 || again.Events()[2].Seq != 3 {
		t.Errorf("%d events after reopening", n)
	}
}

// Decisions follow from masked facts and from the pipeline: a replay makes them anew, without a mask.
func TestHide(t *testing.T) {
	t.Parallel()
	s := At(t.TempDir())
	r := create(t, s, id)
	r.Hide(secret.New([]secret.Value{{Name: "X", Text: "hunter2"}}))
	given := []runner.Event{{Kind: runner.Warned, At: noon, Text: "it is hunter2"}, {Kind: runner.PhaseEnded, At: noon, Text: "it is hunter2"}}
	appendAll(t, r, given...)
	rel, err := r.WriteFile("replies/a.md", []byte("hunter2\n"))
	if err != nil {
		t.Fatal(err)
	}
	later, err := s.Read(id)
	if err != nil {
		t.Fatal(err)
	}
	for _, events := range [][]runner.Event{given, r.Events(), later} {
		if events[0].Text != "it is [secret X]" || events[1].Text != "it is hunter2" {
			t.Errorf("%+v", events)
		}
	}
	if text, _ := os.ReadFile(s.File(id, rel)); string(text) != "[secret X]\n" {
		t.Errorf("the file holds %q", text)
	}
}

func TestWhatIsNotUTF8ReadsTheSameLiveAndLater(t *testing.T) {
	t.Parallel()
	s := At(t.TempDir())
	r := create(t, s, id)
	given := []runner.Event{{Kind: runner.Warned, At: noon, Text: "a\xffb \xef\xbf\xbd c"}}
	appendAll(t, r, given...)
	later, err := s.Read(id)
	if err != nil {
		t.Fatal(err)
	}
	if given[0].Text != later[0].Text || given[0].Seq != 1 || r.Events()[0].Text != later[0].Text {
		t.Errorf("live %q, in the record %q, read %q", given[0].Text, r.Events()[0].Text, later[0].Text)
	}
}

func TestModes(t *testing.T) {
	t.Parallel()
	s := At(t.TempDir())
	r := create(t, s, id)
	appendAll(t, r, started(id, noon))
	if _, err := r.WriteFile("prompts/build.1.md", []byte("x")); err != nil {
		t.Fatal(err)
	}
	if _, _, err := r.LogPath("logs/build.log"); err != nil {
		t.Fatal(err)
	}
	closeRecord(t, r)
	err := filepath.WalkDir(s.dir, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		want := os.FileMode(0o600)
		if d.IsDir() {
			want = 0o700
		}
		if info.Mode().Perm() != want {
			t.Errorf("%s has mode %o, want %o", path, info.Mode().Perm(), want)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// writeLog makes a record by hand.
func writeLog(t *testing.T, s Store, id, log string) {
	t.Helper()
	if err := os.MkdirAll(s.Dir(id), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(s.Dir(id), logName), []byte(log), 0o600); err != nil {
		t.Fatal(err)
	}
}

func line(seq int) string {
	return fmt.Sprintf(`{"seq":%d,"at":"2026-11-30T12:00:00Z","kind":"warning"}`, seq)
}

func TestDamage(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		log  string
		want int    // events
		bad  int    // the line of the damage, 0 for none
		says string // in the error
	}{
		"empty":                        {"", 0, 0, ""},
		"whole":                        {line(1) + "\n" + line(2) + "\n", 2, 0, ""},
		"torn last line":               {line(1) + "\n" + line(2)[:30], 1, 0, ""},
		"torn only line":               {line(1)[:9], 0, 0, ""},
		"last line lacks its end":      {line(1) + "\n" + line(2), 2, 0, ""},
		"zeroes after a power cut":     {line(1) + "\n" + strings.Repeat("\x00", 4096), 1, 0, ""},
		"two events fused":             {line(1) + "\n" + `{"seq":2,"kind":"pha` + line(3) + "\n" + line(4), 0, 2, "not an event"},
		"an event is missing":          {line(1) + "\n" + line(3) + "\n", 0, 2, "event 3 stands where event 2 belongs"},
		"an event twice":               {line(1) + "\n" + line(1) + "\n", 0, 2, "event 1 stands where event 2 belongs"},
		"an empty line":                {line(1) + "\n\n" + line(2) + "\n", 0, 2, "an empty line"},
		"a word":                       {"hello\n" + line(1) + "\n", 0, 1, "not an event"},
		"no kind":                      {`{"seq":1}` + "\n", 0, 1, "without a kind"},
		"zeroes that end":              {line(1) + "\n" + "\x00\x00\n", 0, 2, "not an event"},
		"a torn line, then a whole":    {line(1)[:20] + "\n" + line(2) + "\n", 0, 1, "not an event"},
		"the last line of another":     {line(1) + "\n" + line(7), 1, 0, ""},
		"a field that is not known":    {`{"seq":1,"kind":"warning","later":{"x":1}}` + "\n", 1, 0, ""},
		"a kind that is not known":     {`{"seq":1,"kind":"later.kind"}` + "\n", 1, 0, ""},
		"a carriage return is a blank": {line(1) + "\r\n", 1, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := At(t.TempDir())
			writeLog(t, s, id, c.log)
			read, readErr := s.Read(id)
			r, openErr := s.Open(id)
			if c.bad > 0 {
				for _, err := range []error{readErr, openErr} {
					var d *DamageError
					if !errors.As(err, &d) || d.Line != c.bad || !strings.Contains(err.Error(), c.says) {
						t.Errorf("got %v, want damage in line %d: %s", err, c.bad, c.says)
					}
				}
				if now, _ := os.ReadFile(filepath.Join(s.Dir(id), logName)); string(now) != c.log {
					t.Error("a damaged log was changed")
				}
				if s.Live(id) {
					t.Error("the lock is still held after a failed Open")
				}
				return
			}
			if readErr != nil || openErr != nil {
				t.Fatal(readErr, openErr)
			}
			defer r.Close()
			if len(read) != c.want || len(r.Events()) != c.want {
				t.Fatalf("%d read, %d opened, want %d", len(read), len(r.Events()), c.want)
			}
			appendAll(t, r, event(runner.Warned))
			after, err := s.Read(id)
			if err != nil || len(after) != c.want+1 {
				t.Fatalf("%d events after an append, %v", len(after), err)
			}
		})
	}
}

func TestForeignBytes(t *testing.T) {
	t.Parallel()
	edit := func(path string, change func([]byte) []byte) {
		data, err := os.ReadFile(path)
		if err == nil {
			err = os.WriteFile(path, change(data), 0o600)
		}
		if err == nil { // as far away from our own write as any real one is
			err = os.Chtimes(path, time.Time{}, noon)
		}
		if err != nil {
			panic(err)
		}
	}
	for name, meddle := range map[string]func(path string){
		"appended": func(p string) { edit(p, func(b []byte) []byte { return append(b, line(2)+"\n"...) }) },
		"cut":      func(p string) { edit(p, func(b []byte) []byte { return b[:len(b)-5] }) },
		"emptied":  func(p string) { edit(p, func([]byte) []byte { return nil }) },
		"in place": func(p string) {
			edit(p, func(b []byte) []byte { return bytes.Replace(b, []byte("tdd"), []byte("tdx"), 1) })
		},
		"removed":   func(p string) { _ = os.Remove(p) },
		"exchanged": func(p string) { b, _ := os.ReadFile(p); _ = os.Remove(p); _ = os.WriteFile(p, b, 0o600) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := At(t.TempDir())
			r := create(t, s, id)
			appendAll(t, r, started(id, noon))
			path := filepath.Join(r.Dir(), logName)
			meddle(path)
			found, _ := os.ReadFile(path)
			if err := r.Append(event(runner.Warned)); !errors.Is(err, ErrForeign) {
				t.Fatalf("append: %v", err)
			}
			if err := r.Sync(); !errors.Is(err, ErrForeign) {
				t.Fatalf("sync: %v", err)
			}
			kept, err := r.SetAside()
			if err != nil {
				t.Fatal(err)
			}
			if kept != "" {
				if b, err := os.ReadFile(s.File(id, kept)); err != nil || !bytes.Equal(b, found) {
					t.Errorf("what was found is not kept: %v", err)
				}
			}
			appendAll(t, r, runner.Event{Kind: runner.RunEnded, At: noon, Status: "failed", Reason: "journal"})
			if err := r.Sync(); err != nil {
				t.Fatal(err)
			}
			closeRecord(t, r)
			if events, err := s.Read(id); err != nil || len(events) != 2 {
				t.Errorf("%d events after the log was set aside, %v", len(events), err)
			}
		})
	}
}

func TestATouchIsNotForeign(t *testing.T) {
	t.Parallel()
	r := create(t, At(t.TempDir()), id)
	appendAll(t, r, started(id, noon))
	if err := os.Chtimes(filepath.Join(r.Dir(), logName), time.Time{}, noon); err != nil {
		t.Fatal(err)
	}
	appendAll(t, r, event(runner.Warned))
	if err := r.Sync(); err != nil {
		t.Error(err)
	}
}

func TestSyncFindsAChangeWithoutATrace(t *testing.T) {
	t.Parallel()
	r := create(t, At(t.TempDir()), id)
	appendAll(t, r, started(id, noon))
	path := filepath.Join(r.Dir(), logName)
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	data, _ := os.ReadFile(path)
	if err := os.WriteFile(path, bytes.Replace(data, []byte("tdd"), []byte("tdx"), 1), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(path, time.Time{}, info.ModTime()); err != nil {
		t.Fatal(err)
	}
	if err := r.Sync(); !errors.Is(err, ErrForeign) {
		t.Errorf("got %v", err)
	}
}

func TestLock(t *testing.T) {
	t.Parallel()
	s := At(t.TempDir())
	r := create(t, s, id)
	appendAll(t, r, started(id, noon))
	if !s.Live(id) {
		t.Error("an open record is not live")
	}
	if _, err := s.Open(id); !errors.Is(err, ErrLive) {
		t.Errorf("a second Open: %v", err)
	}
	if _, err := s.Create(id); !errors.Is(err, ErrExists) {
		t.Errorf("a second Create: %v", err)
	}
	closeRecord(t, r)
	if s.Live(id) {
		t.Error("a closed record is live")
	}
	if s.Live("run_261130_000000") || s.Live("../x") {
		t.Error("what does not exist is live")
	}
	if _, err := os.Stat(s.Dir("run_261130_000000")); err == nil {
		t.Error("asking whether a run is live made a record")
	}
}

// TestHoldTheLock is not a test by itself: it is the process of TestTheLockGoesWithItsProcess.
func TestHoldTheLock(t *testing.T) {
	root := os.Getenv("JOURNAL_TEST_HOLD")
	if root == "" {
		t.Skip("started by another test only")
	}
	r, err := At(root).Create(id)
	if err == nil {
		err = r.Append(started(id, noon))
	}
	fmt.Println("holding", err)
	_, _ = os.Stdin.Read(make([]byte, 1))
}

func TestTheLockGoesWithItsProcess(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	cmd := exec.Command(os.Args[0], "-test.run=^TestHoldTheLock$", "-test.v")
	cmd.Env = append(os.Environ(), "JOURNAL_TEST_HOLD="+root)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var seen []byte
	for buf := make([]byte, 1024); !bytes.Contains(seen, []byte("holding")); {
		n, err := out.Read(buf)
		if err != nil {
			t.Fatalf("%v after %s", err, seen)
		}
		seen = append(seen, buf[:n]...)
	}
	s := At(root)
	if !s.Live(id) {
		t.Errorf("not live while its process is: %s", seen)
	}
	list, err := s.List()
	if err != nil || len(list) != 1 || list[0].Status != "running" || !list[0].Live {
		t.Errorf("the list says %+v, %v", list, err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed, and says so
	if s.Live(id) {
		t.Error("live after its process was killed")
	}
	list, err = s.List()
	if err != nil || len(list) != 1 || list[0].Status != "interrupted" || list[0].Live {
		t.Errorf("the list says %+v, %v", list, err)
	}
	r, err := s.Open(id)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if len(r.Events()) != 1 {
		t.Errorf("%d events after a kill", len(r.Events()))
	}
}

func TestFiles(t *testing.T) {
	t.Parallel()
	s := At(t.TempDir())
	r := create(t, s, id)
	one, err1 := r.WriteFile("prompts/build.1.md", []byte("one"))
	two, err2 := r.WriteFile("prompts/build.1.md", []byte("two"))
	if err1 != nil || err2 != nil || one != "prompts/build.1.md" || two != "prompts/build.1-2.md" {
		t.Fatalf("%q %v, %q %v", one, err1, two, err2)
	}
	if b, _ := os.ReadFile(s.File(id, one)); string(b) != "one" {
		t.Errorf("the first file holds %q", b)
	}
	rel, full, err := r.LogPath("logs/test.1.log")
	if err != nil || rel != "logs/test.1.log" || full != s.File(id, rel) {
		t.Errorf("%q %q %v", rel, full, err)
	}
	silent, first, second := r.Log("logs/silent.log"), r.Log("logs/test.2.log"), r.Log("logs/test.2.log")
	for _, l := range []*Log{first, second, first} {
		if _, err := l.Write([]byte("line\n")); err != nil {
			t.Fatal(err)
		}
	}
	for l, want := range map[*Log]string{silent: "", first: "logs/test.2.log", second: "logs/test.2-2.log"} {
		if rel, err := l.Close(); rel != want || err != nil {
			t.Errorf("a log is called %q, want %q; %v", rel, want, err)
		}
	}
	if b, _ := os.ReadFile(s.File(id, "logs/test.2.log")); string(b) != "line\nline\n" {
		t.Errorf("the log holds %q", b)
	}
	if _, err := os.Lstat(s.File(id, "logs/silent.log")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a log that nothing was written to: %v", err)
	}
	for _, name := range []string{"", ".", "..", "../x", "/x", "a/../../x", "a//b", "a/", "./a"} {
		if rel, err := r.WriteFile(name, nil); err == nil {
			t.Errorf("%q was written as %q", name, rel)
		}
	}
	left, err := filepath.Glob(filepath.Join(r.Dir(), "prompts", ".foundry-tmp-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}

func TestFind(t *testing.T) {
	t.Parallel()
	s := At(t.TempDir())
	if _, err := s.Find("last"); !errors.Is(err, ErrUnknown) || !strings.Contains(err.Error(), "foundry up") {
		t.Errorf("without runs: %v", err)
	}
	for n, id := range []string{"run_261129_ffffff", "run_261130_a1b2c3", "run_261130_a1ffff", "run_261130_000001"} {
		r := create(t, s, id)
		appendAll(t, r, started(id, noon.Add(time.Duration(n)*time.Minute)))
		closeRecord(t, r)
	}
	for arg, want := range map[string]string{
		"run_261130_a1b2c3": "run_261130_a1b2c3", "run_261130_a1b": "run_261130_a1b2c3", "261129": "run_261129_ffffff",
		"ffff": "run_261129_ffffff", "a1b": "run_261130_a1b2c3", "0": "run_261130_000001",
		"last": "run_261130_000001",
	} {
		if got, err := s.Find(arg); err != nil || got != want {
			t.Errorf("Find(%q) = %q, %v", arg, got, err)
		}
	}
	var ambiguous *AmbiguousError
	if _, err := s.Find("run_261130_a1"); !errors.As(err, &ambiguous) ||
		err.Error() != `"run_261130_a1" fits 2 runs: run_261130_a1b2c3, run_261130_a1ffff` {
		t.Errorf("got %v", err)
	}
	for _, arg := range []string{"", "x", "run_9", "../run_261130_a1b2c3"} {
		if _, err := s.Find(arg); !errors.Is(err, ErrUnknown) || !strings.Contains(err.Error(), "foundry runs") {
			t.Errorf("Find(%q): %v", arg, err)
		}
	}
	for _, err := range []error{second(s.Read("run_1")), second(s.Open("run_1"))} {
		if !errors.Is(err, ErrUnknown) {
			t.Errorf("got %v", err)
		}
	}
}

func second[T any](_ T, err error) error { return err }

func TestList(t *testing.T) {
	t.Parallel()
	s := At(t.TempDir())
	if list, err := s.List(); err != nil || len(list) != 0 {
		t.Errorf("without runs: %v %v", list, err)
	}
	ids := []string{"run_261128_000002", "run_261129_000009", "run_261129_000001", "run_261130_000005"}
	for n, id := range ids {
		r := create(t, s, id)
		appendAll(t, r, started(id, noon.Add(time.Duration(n)*time.Hour)),
			runner.Event{Kind: runner.TurnEnded, Phase: "build", Visit: 1, At: noon, Reply: &runner.Reply{Tokens: 7, Cost: 0.5, CostKnown: true}},
			runner.Event{Kind: runner.RunEnded, Status: "accepted", At: noon.Add(time.Duration(n+1) * time.Hour)})
		closeRecord(t, r)
	}
	damaged := "run_261127_000001"
	writeLog(t, s, damaged, "hello\n")
	empty := "run_261126_000001"
	writeLog(t, s, empty, "")
	if err := os.WriteFile(filepath.Join(s.dir, "notes.txt"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	check := func(when string) {
		t.Helper()
		list, err := s.List()
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, e := range list {
			got = append(got, e.ID+" "+e.Status)
		}
		want := []string{ids[3] + " accepted", ids[2] + " accepted", ids[1] + " accepted", ids[0] + " accepted", damaged + " failed", empty + " interrupted"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", when, diff)
		}
		if e := list[0]; e.Usage.Turns != 1 || e.Usage.Tokens == nil || *e.Usage.Tokens != 7 || *e.Usage.Cost != 0.5 || e.Ended == nil || e.Request != "add Sub" {
			t.Errorf("%s: %+v", when, e)
		}
		if e := list[4]; e.Reason != "journal" || !strings.Contains(e.Problem, "events.jsonl:1:") {
			t.Errorf("%s: %+v", when, e)
		}
	}
	check("with caches")
	for _, id := range ids[:2] {
		if err := os.Remove(s.File(id, cacheName)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(s.File(ids[2], cacheName), []byte(`{"log_bytes":1,"id":"`+ids[2]+`","status":"rejected"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(s.File(ids[3], cacheName), bytes.Repeat([]byte{0}, 100), 0o600); err != nil {
		t.Fatal(err)
	}
	check("with caches that are missing, old or broken")
	if _, err := os.Stat(s.File(ids[0], cacheName)); err != nil {
		t.Errorf("the cache was not rebuilt: %v", err)
	}
	check("with caches that were rebuilt")
	if newest, err := s.Newest(2); err != nil || len(newest) != 2 || newest[1].ID != ids[2] {
		t.Errorf("the newest two: %v %v", newest, err)
	}
}

func TestAKillLatchesAndWaitingIsNotACrash(t *testing.T) {
	t.Parallel()
	at := func(k runner.Kind) runner.Event { return runner.Event{Kind: k, At: noon, Phase: "ship", Visit: 1} }
	ended := func(status string) runner.Event { return runner.Event{Kind: runner.RunEnded, At: noon, Status: status} }
	limited := runner.Event{Kind: runner.TurnEnded, At: noon, Phase: "ship", Visit: 1, Reply: &runner.Reply{Stop: runner.StopLimit}}
	for name, c := range map[string]struct {
		events []runner.Event
		want   string
	}{
		"running, cut off":    {nil, "interrupted"},
		"a question is open":  {[]runner.Event{at(runner.PhaseStarted), at(runner.AskRaised)}, "waiting"},
		"it was answered":     {[]runner.Event{at(runner.PhaseStarted), at(runner.AskRaised), at(runner.AskAnswered)}, "interrupted"},
		"resumed without one": {[]runner.Event{at(runner.PhaseStarted), at(runner.AskRaised), event(runner.RunResumed)}, "waiting"},
		"withdrawn":           {[]runner.Event{at(runner.PhaseStarted), at(runner.AskRaised), at(runner.AskWithdrawn), at(runner.PhaseQueued)}, "interrupted"},
		"another phase runs": {[]runner.Event{at(runner.PhaseStarted), at(runner.AskRaised),
			{Kind: runner.PhaseStarted, At: noon, Phase: "build", Visit: 1}}, "interrupted"},
		"a phase is blocked":  {[]runner.Event{at(runner.PhaseStarted), {Kind: runner.PhaseEnded, At: noon, Phase: "ship", Visit: 1, Status: "blocked"}}, "waiting"},
		"no longer blocked":   {[]runner.Event{at(runner.PhaseBlocked), event(runner.RunResumed), at(runner.PhaseQueued)}, "interrupted"},
		"a usage limit":       {[]runner.Event{at(runner.PhaseStarted), limited}, "paused"},
		"it has ended":        {[]runner.Event{at(runner.PhaseStarted), limited, event(runner.RunResumed), at(runner.TurnStarted)}, "interrupted"},
		"killed":              {[]runner.Event{at(runner.RunKilled), ended("accepted")}, "killed"},
		"resumed":             {[]runner.Event{ended("rejected"), event(runner.RunResumed), ended("accepted")}, "accepted"},
		"parked by a limit":   {[]runner.Event{{Kind: runner.RunSettled, At: noon, Status: "paused"}}, "paused"},
		"stopped by a signal": {[]runner.Event{event(runner.RunInterrupted)}, "interrupted"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := At(t.TempDir())
			r := create(t, s, id)
			appendAll(t, r, append([]runner.Event{started(id, noon)}, c.events...)...)
			closeRecord(t, r)
			list, err := s.List()
			if err != nil || len(list) != 1 || list[0].Status != c.want {
				t.Errorf("got %+v, %v", list, err)
			}
		})
	}
}

// TestFullDisk gives the log a size limit in the middle of the third of three lines that are written together, which is
// what a full disk does to it: the two that are whole are there.
func TestFullDisk(t *testing.T) {
	if runtime.GOOS != "linux" && runtime.GOOS != "darwin" {
		t.Skip("needs a limit on the size of files")
	}
	if root := os.Getenv("JOURNAL_TEST_FULL"); root != "" {
		fullDisk(t, root)
		return
	}
	t.Parallel()
	root := t.TempDir()
	cmd := exec.Command(os.Args[0], "-test.run=^TestFullDisk$", "-test.v")
	cmd.Env = append(os.Environ(), "JOURNAL_TEST_FULL="+root)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	s := At(root)
	events, err := s.Read(id)
	if err != nil || len(events) != 3 {
		t.Fatalf("%d events, %v", len(events), err)
	}
	data, err := os.ReadFile(filepath.Join(s.Dir(id), logName))
	if err != nil || !bytes.HasSuffix(data, []byte("}\n")) {
		t.Errorf("the log ends in %q, %v", data[max(0, len(data)-20):], err)
	}
}

// fullDisk runs in a process of its own, since the limit holds for all its files.
func fullDisk(t *testing.T, root string) {
	r := create(t, At(root), id)
	appendAll(t, r, started(id, noon))
	if err := r.Sync(); err != nil {
		t.Fatal(err)
	}
	var one bytes.Buffer
	first := event(runner.Warned)
	first.Seq = 2
	if err := encode(&one, &first); err != nil {
		t.Fatal(err)
	}
	limitFiles(t, uint64(r.size)+2*uint64(one.Len())+20)
	err := r.Append(event(runner.Warned), event(runner.Warned), event(runner.Warned))
	if !errors.Is(err, syscall.EFBIG) && !strings.Contains(fmt.Sprint(err), "short write") {
		t.Fatalf("a write beyond the limit: %v", err)
	}
	if err2 := r.Append(event(runner.Warned)); err2 == nil {
		t.Error("an append after a failed one")
	}
	if len(r.Events()) != 3 {
		t.Errorf("%d events", len(r.Events()))
	}
	if err := r.Close(); err == nil {
		t.Error("Close does not tell the failure")
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(line(1) + "\n" + line(2)))
	f.Add([]byte(line(1) + "\n" + line(2)[:20]))
	f.Add([]byte(line(1) + "\n\n"))
	f.Add([]byte("\x00\x00"))
	f.Add([]byte(`{"seq":1,"kind":"turn.ended","reply":{"stop":"end"}}` + "\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		events, good, err := parse(data)
		if err != nil {
			var d *DamageError
			if !errors.As(err, &d) || d.Line < 1 || d.Line > bytes.Count(data, []byte("\n"))+1 {
				t.Fatalf("an error that names no line: %v", err)
			}
			return
		}
		if good < 0 || good > len(data) {
			t.Fatalf("%d of %d bytes are good", good, len(data))
		}
		if bytes.IndexByte(data[good:], '\n') >= 0 {
			t.Fatal("more than one line was taken as torn")
		}
		again, all, err := parse(data[:good])
		if err != nil || all != good || len(again) != len(events) {
			t.Fatalf("what was good is not: %d of %d events, %v", len(again), len(events), err)
		}
		for i := range events {
			if events[i].Seq != i+1 {
				t.Fatalf("event %d has seq %d", i+1, events[i].Seq)
			}
		}
	})
}

func BenchmarkAppend(b *testing.B) {
	r, err := At(b.TempDir()).Create(id)
	if err != nil {
		b.Fatal(err)
	}
	defer r.Close()
	for b.Loop() {
		if err := r.Append(runner.Event{Kind: runner.PhaseStarted, At: noon, Phase: "build", Visit: 1}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkList(b *testing.B) {
	s := At(b.TempDir())
	for n := range 1000 {
		id := fmt.Sprintf("run_26%02d%02d_%06x", n/28%12+1, n%28+1, n)
		events := []runner.Event{started(id, noon), {Kind: runner.RunEnded, At: noon, Status: "accepted"}}
		if err := os.MkdirAll(s.Dir(id), 0o700); err != nil {
			b.Fatal(err)
		}
		var lines bytes.Buffer
		for i := range events {
			events[i].Seq = i + 1
			if err := encode(&lines, &events[i]); err != nil {
				b.Fatal(err)
			}
		}
		if err := os.WriteFile(s.File(id, logName), lines.Bytes(), 0o600); err != nil {
			b.Fatal(err)
		}
		writeCache(s.Dir(id), int64(lines.Len()), runner.OutlineOf(id, events))
	}
	b.Run("all of 1000", func(b *testing.B) {
		for b.Loop() {
			if list, err := s.List(); err != nil || len(list) != 1000 {
				b.Fatal(len(list), err)
			}
		}
	})
	b.Run("newest 20 of 1000", func(b *testing.B) {
		for b.Loop() {
			if list, err := s.Newest(20); err != nil || len(list) != 20 {
				b.Fatal(len(list), err)
			}
		}
	})
}

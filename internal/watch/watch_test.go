package watch

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"
)

// bench is a tree that is being watched.
type bench struct {
	t     *testing.T
	root  string
	w     *Watcher
	mu    sync.Mutex
	notes []string
	busy  string
}

func start(t *testing.T, o Options) *bench {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, root: filepath.Join(root, "tree")}
	b.write("src/a.go", "one")
	b.open(o)
	return b
}

func (b *bench) open(o Options) {
	b.t.Helper()
	o.Root = b.root
	o.Note = func(s string) { b.mu.Lock(); b.notes = append(b.notes, s); b.mu.Unlock() }
	o.Busy = func() string { b.mu.Lock(); defer b.mu.Unlock(); return b.busy }
	var err error
	if b.w, err = Start(b.t.Context(), o); err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { b.w.Close() })
	b.read()
}

// read waits until all that is there is known by content.
func (b *bench) read() { b.w.tree.readAll(b.t.Context()) }

func (b *bench) write(name, text string) {
	b.t.Helper()
	file := filepath.Join(b.root, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) sh(script string) {
	b.t.Helper()
	c := exec.Command("sh", "-euc", script)
	c.Dir = b.root
	if out, err := c.CombinedOutput(); err != nil {
		b.t.Fatalf("%s: %v\n%s", script, err, out)
	}
}

// changed waits for the next change, as "kind path" for each file.
func (b *bench) changed() []string {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.t.Context(), 20*time.Second)
	defer cancel()
	c, err := b.w.Next(ctx)
	if err != nil {
		b.t.Fatalf("no change: %v", err)
	}
	return show(c)
}

func show(c Change) []string {
	var out []string
	for _, f := range c.Files {
		out = append(out, f.Kind.String()+" "+f.Path)
	}
	return out
}

// want does something and expects one change, and none after it. Nothing is told before all of it is done: on a machine
// with much to do a save may take longer than the quiet period.
func (b *bench) want(script string, want ...string) {
	b.t.Helper()
	b.at("the test is at work")
	b.sh(script)
	b.at("")
	if len(want) > 0 {
		if got := b.changed(); !slices.Equal(got, want) {
			b.t.Errorf("%s\ngot  %q\nwant %q", script, got, want)
		}
	}
	b.quiet(script)
}

// at says what goes on in the repository.
func (b *bench) at(what string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.busy = what
}

// quiet expects that nothing is left to tell. A marker that is written afterwards proves that all was seen.
func (b *bench) quiet(what string) {
	b.t.Helper()
	b.write("marker", fmt.Sprint(time.Now()))
	got := b.changed()
	if len(got) != 1 || !strings.HasSuffix(got[0], " marker") {
		b.t.Errorf("after %s: %q", what, got)
	}
}

var sources = map[string]Options{"events": {Mode: Events}, "poll": {Mode: Poll, Every: 30 * time.Millisecond, Quiet: 60 * time.Millisecond}}

// forBoth runs a test with events and with polling.
func forBoth(t *testing.T, test func(t *testing.T, o Options)) {
	t.Parallel()
	for name, o := range sources {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, o)
		})
	}
}

func TestHowEditorsSave(t *testing.T) {
	forBoth(t, func(t *testing.T, o Options) {
		b := start(t, o)
		b.want("printf 1 >4913; rm 4913; printf s >src/.a.go.swp; mv src/a.go src/a.go~; printf two >src/a.go; rm src/a.go~ src/.a.go.swp", "modified src/a.go")
		b.want("printf three >src/.tmp123; mv src/.tmp123 src/a.go", "modified src/a.go")
		b.want(": >src/a.go; sleep 0.03; printf four >src/a.go", "modified src/a.go")
		b.want("printf four >src/a.go; touch src/a.go; chmod 644 src/a.go")
		b.want("chmod +x src/a.go", "modified src/a.go")
		b.want("printf five >src/a.go; printf four >src/a.go")
		b.want("printf 'x' >src/b.go; rm src/b.go")
		b.want("rm src/a.go", "deleted src/a.go")
		b.want("ln -s nowhere src/a.go", "created src/a.go")
		b.want("ln -sfn elsewhere src/a.go", "modified src/a.go")
		b.want("rm src/a.go; mkdir src/a.go; printf 1 >src/a.go/x", "deleted src/a.go", "created src/a.go/x")
		b.want("mkfifo src/pipe; mkdir src/empty")
	})
}

func TestDirectoriesThatAppear(t *testing.T) {
	forBoth(t, func(t *testing.T, o Options) {
		b := start(t, o)
		b.want("mkdir -p src/x/y/z && printf 1 >src/x/y/z/new.go", "created src/x/y/z/new.go")
		b.want("cp -r src/x src/copy", "created src/copy/y/z/new.go")
		b.want("mkdir -p ../outside/deep && printf 1 >../outside/deep/m.go && mv ../outside src/moved", "created src/moved/deep/m.go")
		b.want("printf 2 >src/x/y/z/new.go", "modified src/x/y/z/new.go")
		b.want("printf 2 >src/moved/deep/m.go", "modified src/moved/deep/m.go")
		b.want("rm -rf src/x; mkdir -p src/x/y; printf 3 >src/x/y/again.go", "created src/x/y/again.go", "deleted src/x/y/z/new.go")
		b.want("mv src/moved src/renamed", "deleted src/moved/deep/m.go", "created src/renamed/deep/m.go")
		b.want("printf 4 >src/renamed/deep/m.go", "modified src/renamed/deep/m.go")
		b.want("mv src/renamed ../gone", "deleted src/renamed/deep/m.go")
		b.want("printf 5 >../gone/deep/m.go")
		b.want("mkdir src/moved; printf 6 >src/moved/n.go", "created src/moved/n.go")
	})
}

func TestOwnFilesNeverCount(t *testing.T) {
	forBoth(t, func(t *testing.T, o Options) {
		b := start(t, o)
		b.want(`mkdir -p .git .foundry/runs/r sub/.git .foundry-worktrees/r .foundry-handoff
			for f in .git/index .foundry/runs/r/events.jsonl sub/.git/index .foundry-worktrees/r/a.go .foundry-handoff/n.md 'src/.#a.go' 'src/#a.go#' src/.b.swo; do printf 1 >"$f"; done`)
	})
}

// suffixes ignores directories called out and files that end in .log, but for those that .gitignore names.
type suffixes struct {
	root string
	mu   sync.Mutex
	keep string
}

func (s *suffixes) Ignored(paths []string) ([]bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]bool, len(paths))
	for i, p := range paths {
		out[i] = p != s.keep && (strings.HasSuffix(p, ".log") || strings.HasPrefix(p+"/", "out/"))
	}
	return out, nil
}

func (s *suffixes) Governs(p string) bool { return p == ".gitignore" }

func (s *suffixes) Reload() {
	text, _ := os.ReadFile(filepath.Join(s.root, ".gitignore"))
	s.mu.Lock()
	s.keep = string(text)
	s.mu.Unlock()
}

func TestIgnored(t *testing.T) {
	forBoth(t, func(t *testing.T, o Options) {
		b := &bench{t: t, root: filepath.Join(t.TempDir(), "tree")}
		b.root, _ = filepath.EvalSymlinks(filepath.Dir(b.root))
		b.write("src/a.log", "1")
		b.write("out/x", "1")
		o.Rules = &suffixes{root: b.root}
		b.open(o)
		b.want("printf 2 >src/a.log; printf 2 >out/x; mkdir -p out/deep; printf 1 >out/deep/y; rm out/x")
		if b.w.Mode() == Events && b.w.source.(*events).watched["out"] {
			t.Error("an ignored directory is watched")
		}
		b.want("printf src/a.log >.gitignore", "created .gitignore")
		b.want("printf 3 >src/a.log", "modified src/a.log")
	})
}

func TestChangesAreGathered(t *testing.T) {
	t.Parallel()
	b := start(t, Options{Mode: Events, Quiet: 200 * time.Millisecond})
	for i := range 20 {
		b.write(fmt.Sprintf("src/f%d.go", i), "1")
		time.Sleep(10 * time.Millisecond)
	}
	if got := b.changed(); len(got) != 20 {
		t.Errorf("got %q", got)
	}
	// What nobody takes is put together, and what is back as it was is nothing.
	b.write("src/f0.go", "2")
	b.settle()
	b.write("src/f1.go", "2")
	b.write("src/f0.go", "1")
	b.settle()
	if got := b.changed(); !slices.Equal(got, []string{"modified src/f1.go"}) {
		t.Errorf("got %q", got)
	}
	// What is given back is told again, as one with what came after it.
	b.write("src/f2.go", "2")
	c, err := b.w.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	b.w.Return(c)
	b.write("src/f2.go", "1")
	b.write("src/f3.go", "2")
	b.settle()
	if got := b.changed(); !slices.Equal(got, []string{"modified src/f3.go"}) {
		t.Errorf("got %q", got)
	}
}

// settle waits until what was written is known, without taking it.
func (b *bench) settle() {
	b.t.Helper()
	b.write("settled", fmt.Sprint(time.Now()))
	for range 2000 {
		b.w.mu.Lock()
		_, ok := b.w.pending["settled"]
		delete(b.w.pending, "settled")
		b.w.mu.Unlock()
		if ok {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	b.t.Fatal("it never settled")
}

func TestNeverQuiet(t *testing.T) {
	t.Parallel()
	b := start(t, Options{Mode: Events, Quiet: 300 * time.Millisecond, MaxWait: 600 * time.Millisecond})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		for i := 0; ctx.Err() == nil; i++ {
			os.WriteFile(filepath.Join(b.root, "noise"), []byte(fmt.Sprint(i)), 0o666)
			time.Sleep(20 * time.Millisecond)
		}
	}()
	begin := time.Now()
	b.changed()
	if took := time.Since(begin); took > 5*time.Second {
		t.Errorf("told after %s", took)
	}
}

func TestTakeDoesNotWait(t *testing.T) {
	forBoth(t, func(t *testing.T, o Options) {
		o.Quiet, o.MaxWait = time.Minute, time.Minute
		if o.Mode == Poll {
			o.Quiet = time.Millisecond
		}
		b := start(t, o)
		b.write("src/a.go", "two")
		for {
			c, err := b.w.Take(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if got := show(c); len(got) > 0 {
				if !slices.Equal(got, []string{"modified src/a.go"}) {
					t.Errorf("got %q", got)
				}
				break
			}
		}
	})
}

func TestRepositoryBusy(t *testing.T) {
	forBoth(t, func(t *testing.T, o Options) {
		b := start(t, o)
		b.at("a rebase is going on")
		b.write("src/a.go", "half")
		ctx, cancel := context.WithTimeout(t.Context(), 400*time.Millisecond)
		defer cancel()
		if c, err := b.w.Next(ctx); err == nil {
			t.Fatalf("told in the middle of it: %q", show(c))
		}
		b.write("src/b.go", "whole")
		b.at("")
		if got := b.changed(); !slices.Equal(got, []string{"modified src/a.go", "created src/b.go"}) {
			t.Errorf("got %q", got)
		}
	})
}

func TestEventsAreLost(t *testing.T) {
	t.Parallel()
	b := start(t, Options{Mode: Events})
	e := b.w.source.(*events)
	// The kernel has dropped events: a directory came, a file changed, a file went, and nobody said so.
	e.mu.Lock()
	for d := range e.watched {
		e.w.Remove(filepath.Join(b.root, d))
	}
	e.mu.Unlock()
	b.sh("mkdir -p src/new; printf 1 >src/new/n.go; printf two >src/a.go")
	e.w.Errors <- fsnotify.ErrEventOverflow
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	c, err := b.w.Next(ctx)
	if got := show(c); err != nil || !c.Rescan || !slices.Equal(got, []string{"modified src/a.go", "created src/new/n.go"}) {
		t.Errorf("got %q, rescan %v, %v", got, c.Rescan, err)
	}
	b.want("printf 2 >src/new/n.go", "modified src/new/n.go")
}

// TestErrorsAreTakenAtOnce: the library waits with its lock held until an error is taken, so that it must be taken while
// nobody waits for events.
func TestErrorsAreTakenAtOnce(t *testing.T) {
	t.Parallel()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	e, err := openEvents(t.Context(), newTree(root, nil, time.Second), "")
	if err != nil {
		t.Fatal(err)
	}
	defer e.close()
	for range 3 {
		select {
		case e.w.Errors <- fsnotify.ErrEventOverflow:
		case <-time.After(time.Minute):
			t.Fatal("an error is not taken before somebody waits for events")
		}
	}
	if _, all, err := e.next(t.Context()); !all || err != nil {
		t.Errorf("nobody was told that events were lost: %v", err)
	}
}

func TestRootGoes(t *testing.T) {
	t.Parallel()
	b := start(t, Options{Mode: Events})
	b.sh("rm -rf src; rmdir ../tree")
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for {
		if _, err := b.w.Next(ctx); err != nil {
			if !strings.Contains(err.Error(), "not there any more") {
				t.Error(err)
			}
			return
		}
	}
}

package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// needsConfinement skips a test on a kernel that has nothing to be tested.
func needsConfinement(t *testing.T) {
	t.Helper()
	if err := CanConfine(); err != nil {
		t.Skip("programs cannot be confined here: ", err)
	}
}

// cell is a directory that may be written, beside one that may not, without links in its path.
func cell(t *testing.T) (in, out string) {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	in, out = filepath.Join(top, "in"), filepath.Join(top, "out")
	for _, dir := range []string{in, out, filepath.Join(out, "dir")} {
		if err := os.MkdirAll(dir, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	for path, text := range map[string]string{"in/mine": "mine", "out/theirs": "theirs", "out/granted": "granted", "out/dir/deep": "deep"} {
		if err := os.WriteFile(filepath.Join(top, path), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{"in/to-file": out + "/theirs", "in/to-dir": out + "/dir", "in/to-new": out + "/new"} {
		if err := os.Symlink(to, filepath.Join(top, link)); err != nil {
			t.Fatal(err)
		}
	}
	return in, out
}

// listing is all that a directory holds, with the texts of files.
func listing(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			fmt.Fprintln(&b, path, e.Type(), err)
			return err
		}
		text, err := os.ReadFile(path)
		fmt.Fprintf(&b, "%s %q\n", path, text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestConfinedProgramTriesToGetOut has real programs try; each line of out is one way.
func TestConfinedProgramTriesToGetOut(t *testing.T) {
	t.Parallel()
	needsConfinement(t)
	for _, try := range []string{
		`echo x >$OUT/theirs`,
		`echo x >>$OUT/theirs`,
		`echo x >$OUT/new`,
		`mkdir $OUT/new`,
		`mkfifo $OUT/new`,
		`ln -s /etc $OUT/new`,
		`rm $OUT/theirs`,
		`rm -r $OUT/dir`,
		`rmdir $OUT/dir`,
		`mv $OUT/theirs $IN/stolen`,
		`mv $OUT/theirs $OUT/renamed`,
		`mv $OUT/dir $IN/stolen`,
		`mv $IN/mine $OUT/theirs`,
		`mv $IN/mine $OUT/new`,
		`ln $OUT/theirs $IN/hard && echo x >$IN/hard`,
		`ln $IN/mine $OUT/new`,
		`echo x >$IN/to-file`,
		`echo x >$IN/to-new`,
		`echo x >$IN/to-dir/new`,
		`rm $IN/to-dir/deep`,
		`echo x >$IN/../out/theirs`,
		`truncate -s 0 $OUT/theirs`,
		`cp $IN/mine $OUT/theirs`,
		`sed -i s/t/T/ $OUT/theirs`,
		`(cd $OUT && echo x >theirs)`,
		`rm $OUT/granted`,
		`chmod 777 $OUT/dir && echo x >$OUT/dir/new`,
		`sh -c 'sh -c "echo x >$OUT/theirs"'`,
		`setsid sh -c 'echo x >$OUT/theirs' && test "$(cat $OUT/theirs)" = x`,
		`env -i /bin/sh -c "echo x >$OUT/theirs"`,
		`unshare -rm sh -c 'mount -t tmpfs none $OUT'`,
		`echo x >/proc/$PPID/root$OUT/theirs`,
	} {
		t.Run(strings.ReplaceAll(try, "/", "|"), func(t *testing.T) {
			t.Parallel()
			in, out := cell(t)
			was := listing(t, out)
			s := Spec{Argv: []string{"/bin/sh", "-c", try}, Env: Environ(os.Environ(), []string{"IN=" + in, "OUT=" + out})}
			s.Confine = &Confine{Paths: []string{in, out + "/granted", "/dev/null"}}
			r := run(t, s)
			if r.Reason != Exited || r.Exit == 0 {
				t.Errorf("it got through: %+v", r)
			}
			if now := listing(t, out); now != was {
				t.Errorf("outside is changed, by exit %d:\n%s\nwas\n%s\nsaid %s", r.Exit, now, was, r.Tail)
			}
		})
	}
}

func TestConfinedProgramWorksInside(t *testing.T) {
	t.Parallel()
	needsConfinement(t)
	for _, try := range []string{
		`echo x >$IN/mine && test "$(cat $IN/mine)" = x`,
		`mkdir -p $IN/a/b $IN/c && echo x >$IN/a/b/f && mv $IN/a/b/f $IN/c/f && cat $IN/c/f`,
		`mkdir $IN/a && ln $IN/mine $IN/a/hard && ln -s mine $IN/soft && rm $IN/mine`,
		`mkfifo $IN/pipe && rm $IN/pipe`,
		`truncate -s 0 $IN/mine && sed -i s/x/y/ $IN/mine && chmod 600 $IN/mine`,
		`cat $OUT/theirs $OUT/dir/deep && ls $OUT && ls / >/dev/null`,
		`echo x >$OUT/granted && test "$(cat $OUT/granted)" = x`,
		`echo x >/dev/null && cat </dev/null`,
		`cp $OUT/theirs $IN/copy`,
		`echo x | cat | cat >$IN/piped; test "$(cat $IN/piped)" = x`,
	} {
		t.Run(strings.ReplaceAll(try, "/", "|"), func(t *testing.T) {
			t.Parallel()
			in, out := cell(t)
			s := Spec{Argv: []string{"/bin/sh", "-c", try}, Env: Environ(os.Environ(), []string{"IN=" + in, "OUT=" + out})}
			s.Confine = &Confine{Paths: []string{in, out + "/granted", "/dev/null"}}
			if r := run(t, s); !r.OK() {
				t.Errorf("%+v", r)
			}
		})
	}
}

// TestConfineGrantsNoLinks: what a program has put in the place of a directory opens nothing to the next one.
func TestConfineGrantsNoLinks(t *testing.T) {
	t.Parallel()
	needsConfinement(t)
	in, out := cell(t)
	s := Spec{Argv: []string{"/bin/sh", "-c", "echo x >$OUT/dir/new"}, Env: Environ(os.Environ(), []string{"OUT=" + out})}
	s.Confine = &Confine{Paths: []string{in + "/to-dir", in + "/to-dir/deep", in + "/missing"}}
	if r := run(t, s); r.OK() {
		t.Errorf("%+v", r)
	}
}

// TestConfineNothing: an empty list is no missing one.
func TestConfineNothing(t *testing.T) {
	t.Parallel()
	needsConfinement(t)
	in, _ := cell(t)
	s := Spec{Argv: []string{"/bin/sh", "-c", "echo x >" + in + "/mine"}, Confine: &Confine{}}
	if r := run(t, s); r.OK() {
		t.Errorf("%+v", r)
	}
}

// TestConfinedIsTheProgram: a confined program has the pid, arguments, environment, directory, input and streams that
// it would have had.
func TestConfinedIsTheProgram(t *testing.T) {
	t.Parallel()
	needsConfinement(t)
	in, _ := cell(t)
	pid := 0
	r := run(t, Spec{Shell: `echo "$$ $PWD $NAME"; cat; echo error >&2; exit 3`, Dir: in, Env: []string{"PATH=" + os.Getenv("PATH"), "NAME=a b"}, Stdin: []byte("input"),
		Capture: 1 << 20, Started: func(n int) { pid = n }, Confine: &Confine{Paths: []string{in}}})
	want := fmt.Sprintf("%d %s a b\ninput", pid, in)
	if r.Exit != 3 || string(r.Stdout) != want || r.Stderr != "error\n" || r.Pid != pid || len(r.Notes)+len(r.Left) > 0 {
		t.Errorf("%+v\n%s\nwant\n%s", r, r.Stdout, want)
	}
	if r := run(t, Spec{Argv: []string{"env"}, Env: []string{"PATH=" + os.Getenv("PATH"), "ONLY=this"}, Trusted: true, Capture: 1 << 20, Confine: &Confine{}}); !strings.HasPrefix(string(r.Stdout), "PATH="+os.Getenv("PATH")+"\nONLY=this\n"+ownToken+"=") || strings.Count(string(r.Stdout), "\n") != 3 {
		t.Errorf("its environment is\n%s", r.Stdout)
	}
}

// TestConfinedStartFailures: why a program could not be started is told as well as for any other.
func TestConfinedStartFailures(t *testing.T) {
	t.Parallel()
	needsConfinement(t)
	dir, _ := cell(t)
	write := func(name, text string, mode os.FileMode) string {
		p := filepath.Join(dir, name)
		if err := os.WriteFile(p, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return p
	}
	for name, tc := range map[string]struct {
		spec Spec
		want StartFailure
	}{
		"not found":      {Spec{Argv: []string{"surely-not-there"}}, CommandNotFound},
		"no such path":   {Spec{Argv: []string{dir + "/nope"}}, CommandNotFound},
		"interpreter":    {Spec{Argv: []string{write("i.sh", "#!/nope/sh\n", 0o755)}}, InterpreterMissing},
		"not executable": {Spec{Argv: []string{write("plain", "#!/bin/sh\n", 0o644)}}, NoPermission},
		"directory":      {Spec{Argv: []string{"true"}, Dir: dir + "/gone"}, DirectoryGone},
		"not a program":  {Spec{Argv: []string{write("junk", "echo hello\n", 0o755)}}, OtherStartFailure},
	} {
		tc.spec.Confine = &Confine{Paths: []string{dir}}
		r := run(t, tc.spec)
		var e *StartError
		if r.Reason != NotStarted || !errors.As(r.Err, &e) || e.Failure != tc.want {
			t.Errorf("%s: %+v, want %v", name, r, tc.want)
		}
	}
	// A text without an interpreter's name is the shell's business, confined or not.
	if r := run(t, Spec{Shell: dir + "/junk", Confine: &Confine{}}); !r.OK() || r.Tail != "hello\n" {
		t.Errorf("%+v", r)
	}
}

// TestConfinedIsStopped: limits, cancellation and the search for what was left behind go on as ever.
func TestConfinedIsStopped(t *testing.T) {
	t.Parallel()
	needsConfinement(t)
	in, _ := cell(t)
	r := run(t, Spec{Shell: `sleep 100 & sleep 100`, Timeout: time.Second, Confine: &Confine{Paths: []string{in}}})
	if r.Reason != TimedOut {
		t.Errorf("%+v", r)
	}
	r = run(t, Spec{Shell: `setsid sleep 100 >/dev/null 2>&1 & echo`, Confine: &Confine{Paths: []string{in, "/dev/null"}}})
	if r.Reason != Exited || len(r.Left) != 1 {
		t.Errorf("what left the group is not found: %+v", r)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if r := Run(ctx, Spec{Shell: "sleep 100", Confine: &Confine{}}); r.Reason != Cancelled {
		t.Errorf("%+v", r)
	}
}

// TestGuardEndsTheConfined: the guard, which is not confined itself, ends confined programs as well.
func TestGuardEndsTheConfined(t *testing.T) {
	t.Parallel()
	needsConfinement(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	g := &Guard{Token: fmt.Sprintf("run_test_confined_%d", os.Getpid())}
	if err := g.Start(self); err != nil {
		t.Fatal(err)
	}
	closed := make(chan error, 1)
	r := run(t, Spec{Shell: `sleep 100; echo`, Guard: g, Confine: &Confine{}, Started: func(int) { go func() { closed <- g.Close() }() }})
	if err := <-closed; err != nil {
		t.Error(err)
	}
	if r.Reason != Signalled || r.Signal != syscall.SIGTERM.String() || len(r.Notes) > 0 {
		t.Errorf("%+v", r)
	}
}

// TestConfineVerbByHand: the hidden command does nothing for anybody else.
func TestConfineVerbByHand(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if r := run(t, Spec{Argv: []string{self, ConfineVerb}}); r.Exit != 1 || !strings.Contains(r.Tail, "for foundry itself") {
		t.Errorf("%+v", r)
	}
}

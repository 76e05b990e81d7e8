package process

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"foundry/internal/seed"
)

var _ = seed.FromEnvironment()

func TestClean(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, in, want string }{
		{"plain", "a\tb\nc", "a\tb\nc"},
		{"colours and titles", "\x1b[31mred\x1b[0m \x1b]0;title\x07\x1b[2J\x1b[1;1Hdone\r\n", "red done\n"},
		{"title ended by ST", "\x1b]0;title\x1b\\x", "x"},
		{"title never ended", "\x1b]0;title\nnext", "\nnext"},
		{"charset", "\x1b(Bx\x1b=y", "xy"},
		{"CRLF", "a\r\nb\r\n", "a\nb\n"},
		{"CR CR LF", "a\r\r\nb", "a\nb"},
		{"frames", "\rfetch 1/3\rfetch 2/3\rfetch 3/3\nerror: quota\n", "fetch 3/3\nerror: quota\n"},
		{"last frame stays", "50%\r100%\r", "100%"},
		{"frame with clear line", "old\r\x1b[Knew", "new"},
		{"backspace", "ab\bc", "ac"},
		{"backspace over a rune", "aé\bc", "ac"},
		{"control characters", "a\x00b\x01c\x7f", `a\x00b\x01c\x7f`},
		{"bell", "a\ab", "ab"},
		{"invalid UTF-8", "a\xffb\xc3(", "a\uFFFDb\uFFFD("},
		{"cut rune", "a\xe4\xb8", "a\uFFFD\uFFFD"},
		{"rune begins anew", "\xe4\xe4\xb8\xad", "\uFFFD中"},
		{"surrogate", "\xed\xa0\x80", "\uFFFD\uFFFD\uFFFD"},
		{"escape inside a sequence", "\x1b[3\x1b[31mx", "x"},
		{"newline inside a sequence", "\x1b[3\nx", "\nx"},
	} {
		if got := Clean([]byte(tt.in)); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
		// The pieces in which it arrives must make no difference.
		one := NewTail(1000)
		for i := range len(tt.in) {
			one.Write([]byte{tt.in[i]})
		}
		if got := one.Text(); got != tt.want {
			t.Errorf("%s, byte by byte: got %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestTailKeepsTheEnd(t *testing.T) {
	t.Parallel()
	tail := NewTail(100)
	for i := range 1000 {
		fmt.Fprintf(tail, "line %03d é\n", i)
	}
	got := tail.Text()
	if len(got) > 100 || !strings.HasSuffix(got, "line 999 é\n") || !strings.HasPrefix(got, "line 9") {
		t.Errorf("got %q", got)
	}
	tail = NewTail(100)
	tail.Write([]byte("before\n"))
	for i := range 100000 {
		fmt.Fprintf(tail, "\rfetch %6d/100000 [####]", i)
	}
	tail.Write([]byte("\nerror: disk quota\n"))
	if got, want := tail.Text(), "before\nfetch  99999/100000 [####]\nerror: disk quota\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	tail = NewTail(100)
	tail.Write([]byte(strings.Repeat("é", 1<<20)))
	if got := tail.Text(); len(got) > 100 || len(got) < 98 || strings.Trim(got, "é") != "" {
		t.Errorf("one long line: %q", got)
	}
	tail = NewTail(100)
	tail.Write(bytes.Repeat([]byte{0, 1, 0xff}, 1<<16))
	if nuls, invalid := tail.Binary(); nuls != 1<<16 || invalid != 1<<16 {
		t.Errorf("counted %d NULs and %d invalid", nuls, invalid)
	}
	tail = NewTail(10)
	tail.Write([]byte("FAIL: last words"))
	if got := tail.Text(); got != "last words" {
		t.Errorf("no line end: %q", got)
	}
}

func FuzzTail(f *testing.F) {
	for _, s := range []string{"a\r\nb", "\x1b[31mred", "\xe4\xb8\xad\xff", "\x1b]0;x\x07\b\b", "\r\r\r\n\x1b\x1b[", strings.Repeat("é\r", 100)} {
		f.Add([]byte(s), 7, 3)
	}
	f.Fuzz(func(t *testing.T, in []byte, size, cut int) {
		size = 1 + abs(size)%200
		whole, parts := NewTail(size), NewTail(size)
		whole.Write(in)
		step := 1 + abs(cut)%17
		for rest := in; len(rest) > 0; {
			n := min(step, len(rest))
			parts.Write(rest[:n])
			rest = rest[n:]
		}
		got := whole.Text()
		if !utf8.ValidString(got) || strings.ContainsAny(got, "\x1b\r\x00") {
			t.Fatalf("not clean: %q", got)
		}
		if len(got) > size+utf8.UTFMax {
			t.Fatalf("%d bytes for a size of %d", len(got), size)
		}
		if 4*len(in) < size { // nothing was cut: pieces must not matter
			if p := parts.Text(); p != got {
				t.Fatalf("whole %q, in pieces %q", got, p)
			}
		}
	})
}

func TestRingKeepsTheLastBytes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.IntRange(1, 40).Draw(t, "size")
		r := newRing(int64(size))
		var all []byte
		for _, p := range rapid.SliceOf(rapid.SliceOfN(rapid.Byte(), 0, 90)).Draw(t, "pieces") {
			r.write(p)
			all = append(all, p...)
			if len(p)%3 == 0 {
				r.bytes() // looking at it changes nothing
			}
		}
		want := all[max(0, len(all)-size):]
		if !bytes.Equal(r.bytes(), want) || r.dropped() != int64(len(all)-len(want)) {
			t.Fatalf("got %q, %d dropped; want %q", r.bytes(), r.dropped(), want)
		}
	})
}

func abs(n int) int {
	if n < 0 {
		return -(n + 1)
	}
	return n
}

func TestWords(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		text string
		want string // joined by |; empty: a shell is needed
	}{
		{"go test ./...", "go|test|./..."},
		{"  make\tall \n", "make|all"},
		{"./e2e.sh --url=http://x:80/a,b@c%d+e", "./e2e.sh|--url=http://x:80/a,b@c%d+e"},
		{"X=1 make", ""}, {"cd web", ""}, {"echo hi", ""}, {"true", "true"}, {" false\n", "false"}, {"true x", ""}, {"false --help", ""}, {"if x", ""}, {". ./env", ""}, {"exec x", ""}, {"[ -f x ]", ""},
		{"ls *.go", ""}, {"ls ?", ""}, {"a 'b c'", ""}, {`a "b"`, ""}, {"a | b", ""}, {"a && b", ""}, {"a; b", ""}, {"a > b", ""}, {"a $X", ""}, {"a `b`", ""},
		{"a ~/x", ""}, {"a #b", ""}, {"! a", ""}, {"{ a; }", ""}, {"a\nb", ""}, {`a\ b`, ""}, {"a é", ""}, {"a (b)", ""}, {"a {b,c}", ""}, {"a ^b", ""}, {"", ""}, {"  \n", ""},
	} {
		words, ok := Words(tt.text)
		if got := strings.Join(words, "|"); got != tt.want || ok != (tt.want != "") {
			t.Errorf("%q: got %q, %t", tt.text, got, ok)
		}
	}
}

func TestEnviron(t *testing.T) {
	t.Parallel()
	got := Environ([]string{
		"PATH=/bin", "GIT_DIR=x", "GIT_INDEX_FILE=x", "GIT_PREFIX=x/", "GIT_WORK_TREE=x", "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=a", "GIT_CONFIG_VALUE_0=b",
		"GIT_AUTHOR_NAME=me", "GIT_EDITOR=vi", "CLAUDECODE=1", "A=1", "A=2", "MAKEFLAGS= -j --jobserver-auth=3,4", "broken", "=C:=c", "OLDPWD=/", "FOUNDRY_RUN_ID=run_1", ownToken + "=1",
	}, []string{"A=3", "B=", "GIT_EDITOR=ed"}, []string{"B=1"})
	want := []string{"PATH=/bin", "GIT_AUTHOR_NAME=me", "A=3", "=C:=c", "FOUNDRY_RUN_ID=run_1", "B=1", "GIT_EDITOR=ed"}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if v, ok := Lookup([]string{"A=1", "AB=2", "A=3"}, "A"); v != "3" || !ok {
		t.Errorf("Lookup: %q, %t", v, ok)
	}
}

func BenchmarkTail(b *testing.B) {
	for name, p := range map[string][]byte{
		"lines":  bytes.Repeat([]byte("ok  \tfoundry/internal/process\t0.012s\n"), 2000),
		"solid":  bytes.Repeat([]byte("x"), 64<<10),
		"frames": bytes.Repeat([]byte("\rfetch 200000/200000 [####]"), 2500),
		"utf8":   bytes.Repeat([]byte("é中"), 16<<10),
	} {
		b.Run(name, func(b *testing.B) {
			t := NewTail(TailSize)
			b.SetBytes(int64(len(p)))
			for range b.N {
				t.Write(p)
			}
		})
	}
}

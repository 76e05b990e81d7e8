package terminal

import "testing"

func TestColumns(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{"": 0, "abc": 3, "é": 1, "e\u0301": 1, "中文": 4, "…": 1, "█": 1, "✓✗": 2, "⠋": 1, "👩‍👩‍👧": 2, "🇸🇪": 2, "a\u00adb": 2} {
		if got := Columns(text); got != want {
			t.Errorf("Columns(%q) = %d, want %d", text, got, want)
		}
	}
	for r, want := range map[rune]int{'a': 1, '中': 2, '\u0301': 0, '\u200d': 0, '\ufffd': 1, '🚀': 2, '│': 1} {
		if got := RuneColumns(r); got != want {
			t.Errorf("RuneColumns(%q) = %d, want %d", r, got, want)
		}
	}
	for _, c := range []struct {
		text, tail string
		n          int
		want       string
	}{{"abc", "…", 3, "abc"}, {"abcd", "…", 3, "ab…"}, {"中文字", "…", 4, "中…"}, {"中文字", "", 3, "中"}, {"中", "", 1, ""}, {"e\u0301e\u0301", "", 1, "e\u0301"}, {"", "…", 0, ""}} {
		if got := Cut(c.text, c.n, c.tail); got != c.want {
			t.Errorf("%q cut to %d columns is %q, want %q", c.text, c.n, got, c.want)
		}
	}
}

func TestPaint(t *testing.T) {
	t.Parallel()
	if got := Red.Paint("no") + Red.Paint("") + Style("").Paint("plain"); got != "\x1b[31mno\x1b[0mplain" {
		t.Errorf("%q", got)
	}
}

func TestEscapeLength(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"": "", "\x1b": "\x1b", "\x1b[1;31mred": "\x1b[1;31m", "\x1b[?25lx": "\x1b[?25l", "\x1b[1": "\x1b[1", "\x1b[1\nx": "\x1b[1", "\x1b[1éx": "\x1b[1",
		"\x1b]0;title\x07x": "\x1b]0;title\x07", "\x1b]8;;u\x1b\\x": "\x1b]8;;u\x1b\\", "\x1b]0;never\nx": "\x1b]0;never", "\x1bPx\x1b\\y": "\x1bPx\x1b\\",
		"\x1b(Bx": "\x1b(B", "\x1b(\nx": "\x1b(", "\x1bMx": "\x1bM", "\x1b\nx": "\x1b", "\x1bé": "\x1b", "\x1b\x1b[1m": "\x1b",
	} {
		if got := text[:EscapeLength(text)]; got != want {
			t.Errorf("%q begins with %q, want %q", text, got, want)
		}
	}
}

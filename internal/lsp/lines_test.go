package lsp

import (
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestPositions(t *testing.T) {
	t.Parallel()
	const text = "aé\U0001d11eb\r\nx\ry\n\nz" // two, three, four and one bytes in the first line
	l := newLines(text)
	for _, tc := range []struct {
		offset               int
		line, u8, u16, chars int
	}{
		{0, 0, 0, 0, 0}, {1, 0, 1, 1, 1}, {3, 0, 3, 2, 2}, {7, 0, 7, 4, 3}, {8, 0, 8, 5, 4},
		{10, 1, 0, 0, 0}, {11, 1, 1, 1, 1}, {12, 2, 0, 0, 0}, {14, 3, 0, 0, 0}, {15, 4, 0, 0, 0}, {16, 4, 1, 1, 1},
	} {
		for _, e := range []struct {
			encoding encoding
			want     int
		}{{utf8Bytes, tc.u8}, {utf16, tc.u16}, {utf32, tc.chars}} {
			p := position{tc.line, e.want}
			if got := l.position(tc.offset, e.encoding); got != p {
				t.Errorf("%d in %s is %v, want %v", tc.offset, e.encoding, got, p)
			}
			if got := l.offset(p, e.encoding); got != tc.offset {
				t.Errorf("%v in %s is at %d, want %d", p, e.encoding, got, tc.offset)
			}
		}
	}
	for p, want := range map[position]int{
		{-1, 5}: 0, {0, -3}: 0, {0, 99}: 8, {1, 99}: 11, {3, 1}: 14, {4, 99}: 16, {5, 0}: 16, {99, 99}: 16,
		{0, 3}: 3, // between the halves of a character
	} {
		if got := l.offset(p, utf16); got != want {
			t.Errorf("%v is at %d, want %d", p, got, want)
		}
	}
	for offset, want := range map[int]position{-1: {0, 0}, 99: {4, 1}, 9: {0, 5}, 2: {0, 1}} {
		if got := l.position(offset, utf16); got != want {
			t.Errorf("%d is %v, want %v", offset, got, want)
		}
	}
}

func FuzzPositions(f *testing.F) {
	f.Add("aé\U0001d11eb\r\nx\ry\n\nz", 3, 1, 2)
	f.Add("\r\r\n\n\xff", 2, -1, 9)
	f.Fuzz(func(t *testing.T, text string, offset, line, character int) {
		l := newLines(text)
		for _, e := range []encoding{utf8Bytes, utf16, utf32} {
			at := l.offset(position{line, character}, e)
			if at < 0 || at > len(text) {
				t.Fatalf("%d is outside", at)
			}
			if p := l.position(at, e); l.offset(p, e) != at {
				t.Fatalf("%d is %v, and that is at %d", at, p, l.offset(p, e))
			}
			if offset >= 0 && offset <= len(text) && utf8.ValidString(text) {
				if back := l.offset(l.position(offset, e), e); back > offset {
					t.Fatalf("%d comes back as %d", offset, back)
				}
			}
		}
	})
}

func TestAgree(t *testing.T) {
	t.Parallel()
	for list, want := range map[string]encoding{"": utf16, "utf-16": utf16, "utf-16 utf-8": utf8Bytes, "utf-32 utf-8": utf32, "utf-7": utf16} {
		if got := agree(strings.Fields(list)); got != want {
			t.Errorf("%q: %s", list, got)
		}
	}
}

func TestURIs(t *testing.T) {
	t.Parallel()
	for uri, want := range map[string]string{
		"file:///a/b.yaml": "/a/b.yaml", "file:///a%20b/%C3%A9.yaml": "/a b/é.yaml", "file://localhost/a": "/a", "file:///a/../b": "/b",
		"untitled:x": "", "file://elsewhere/a": "", "http://x/a": "", "%": "", "": "", "file:": "",
	} {
		if got := pathOf(uri); got != filepath.FromSlash(want) {
			t.Errorf("%s is %q, want %q", uri, got, want)
		}
	}
	for _, path := range []string{"/a/b.yaml", "/a b/é#?%.yaml"} {
		if got := pathOf(uriOf(path)); got != path {
			t.Errorf("%s comes back as %s", path, got)
		}
	}
}

package diag

import (
	"strings"
	"unicode/utf8"
)

// Fragment is a text that was lifted out of a source (the value of a YAML scalar, a file that a key names)
// together with the way back: each byte of Text knows where it was written, whatever quoting, folding or
// escaping lay between.
type Fragment struct {
	Text string
	way  *way // nil: the text was written nowhere
}

// way is the way back. A document has a fragment for each of its leaves, most of which are not there in any one
// mapping, so it is kept apart.
type way struct {
	whole    Span  // the scalar as written, used when there is no finer map
	at       []int // file offset of each byte of Text, and one more for its end
	verbatim bool  // no at is needed: byte i was written at base+i
	base     int
}

// nowhere is the way of a text that was written nowhere.
var nowhere way

func (f Fragment) back() *way {
	if f.way == nil {
		return &nowhere
	}
	return f.way
}

// NewFragment makes a fragment of a scalar that was written at whole. at[i] is the file offset of byte i of
// text, at[len(text)] that of its end; nil when only the whole place is known.
func NewFragment(text string, whole Span, at []int) Fragment {
	if at != nil && len(at) != len(text)+1 {
		panic("BUG: a fragment's map does not fit its text")
	}
	return Fragment{Text: text, way: &way{whole: whole, at: at}}
}

// NewVerbatim makes a fragment of a text that stands in the source byte for byte, at offset base, as part of
// a scalar that was written at whole.
func NewVerbatim(text string, whole Span, base int) Fragment {
	if whole.Source == nil || !strings.HasPrefix(whole.Source.Text[base:], text) {
		panic("BUG: a verbatim fragment is not what the source says")
	}
	return Fragment{Text: text, way: &way{whole: whole, verbatim: true, base: base}}
}

// FileFragment is the whole text of a source, as a fragment of itself.
func FileFragment(s *Source) Fragment {
	return NewVerbatim(s.Text, Span{s, 0, len(s.Text)}, 0)
}

// Whole is the place of the scalar as it was written, quotes included.
func (f Fragment) Whole() Span { return f.back().whole }

func (w *way) offset(i int) int {
	if w.verbatim {
		return w.base + i
	}
	return w.at[i]
}

// mapped says whether there is a way back for each byte.
func (w *way) mapped() bool { return w.whole.Source != nil && (w.at != nil || w.verbatim) }

// Span maps a range of bytes of Text to the file. The end is the place right after the last rune as it was
// written, since an escape is wider than what it means. An empty range is the place before the byte. Without
// a map the answer is the whole scalar.
func (f Fragment) Span(start, end int) Span {
	w := f.back()
	if !w.mapped() {
		return w.whole
	}
	start = min(max(start, 0), len(f.Text))
	end = min(max(end, start), len(f.Text))
	from := w.offset(start)
	if start == end {
		return Span{w.whole.Source, from, from}
	}
	if w.verbatim {
		return Span{w.whole.Source, from, w.base + end}
	}
	return Span{w.whole.Source, from, max(from, f.runeEnd(start, end))}
}

// runeEnd is the place after the last rune of Text[start:end]: as wide as the rune where it stands for itself,
// else as wide as its escape, its doubled quote or its line break.
func (f Fragment) runeEnd(start, end int) int {
	last, size := utf8.DecodeLastRuneInString(f.Text[start:end])
	at, next := f.way.at[end-size], f.way.at[end]
	written := f.way.whole.Source.Text[at:]
	same := strings.HasPrefix(written, f.Text[end-size:end])
	switch {
	case same && (last != '\'' && last != '\\' || next == at+1):
		return at + size
	case strings.HasPrefix(written, "\r\n"):
		return at + 2
	case strings.HasPrefix(written, "\n"):
		return at + 1
	case strings.HasPrefix(written, "\\") && len(written) > 1:
		return at + escapeWidth(written[1])
	case strings.HasPrefix(written, "''"):
		return at + 2
	}
	_, size = utf8.DecodeRuneInString(written)
	return at + size
}

// escapeWidth is the number of bytes of an escape in double quotes, by the letter behind the backslash.
func escapeWidth(letter byte) int {
	switch letter {
	case 'x':
		return 4
	case 'u':
		return 6
	case 'U':
		return 10
	}
	return 2
}

// Replace is the fragment with the part [start,end) written otherwise. What is put there stands where the part
// stood; the rest keeps its place.
func (f Fragment) Replace(start, end int, with string) Fragment {
	text, w := f.Text[:start]+with+f.Text[end:], f.back()
	if !w.mapped() {
		return NewFragment(text, w.whole, nil)
	}
	at := make([]int, 0, len(text)+1)
	for i := range start {
		at = append(at, w.offset(i))
	}
	for range with {
		at = append(at, w.offset(start))
	}
	for i := end; i <= len(f.Text); i++ {
		at = append(at, w.offset(i))
	}
	return NewFragment(text, w.whole, at)
}

// Slice is the part [start,end) of the fragment, still mapped.
func (f Fragment) Slice(start, end int) Fragment {
	w := *f.back()
	w.whole, w.base = f.Span(start, end), w.base+start
	if w.at != nil {
		w.at = w.at[start : end+1]
	}
	return Fragment{Text: f.Text[start:end], way: &w}
}

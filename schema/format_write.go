package schema

// From blocks to lines.

import "strings"

// page collects the lines of the result.
type page struct {
	lines  []string
	sealed bool // the lines end with a value to which a further blank line would belong
}

// blank leaves a line free, unless one is free already.
func (p *page) blank() {
	if len(p.lines) > 0 && p.lines[len(p.lines)-1] != "" && !p.sealed {
		p.lines = append(p.lines, "")
	}
}

func (p *page) line(text string) {
	p.lines = append(p.lines, text)
	p.sealed = false
}

// notes writes comments and blank lines.
func (p *page) notes(list []string, col int) {
	for _, text := range list {
		if text == "" {
			p.blank()
		} else {
			p.line(strings.Repeat(" ", col) + text)
		}
	}
}

// write makes the text of a file.
func (f *layout) write(b *block) string {
	p := &page{}
	list := f.inOrder(b)
	if old := b.entries[0]; list[0] != old {
		var top []string
		top, old.lead = heading(old.lead)
		p.notes(top, 0)
		if list[0].lead = trimBlank(list[0].lead); len(list[0].lead) > 0 || len(top) > 0 && top[len(top)-1] == "" {
			p.blank()
		}
	}
	f.block(p, b, 0, "")
	for len(p.lines) > 0 && p.lines[len(p.lines)-1] == "" && !p.sealed {
		p.lines = p.lines[:len(p.lines)-1]
	}
	lines := append(append(append([]string{}, f.head...), p.lines...), f.foot...)
	eol := "\n"
	if i := strings.IndexByte(f.d.src.Text, '\n'); i > 0 && f.d.src.Text[i-1] == '\r' {
		eol = "\r\n"
	}
	text := strings.Join(lines, eol)
	if !f.cut {
		text += eol
	}
	return text
}

// heading parts the comments above the first key: what stands above a blank line, or is all there is, speaks of
// the whole file.
func heading(lead []string) (top, own []string) {
	for i := len(lead) - 1; i >= 0; i-- {
		if lead[i] == "" {
			return lead[:i+1], lead[i+1:]
		}
	}
	return lead, nil
}

func trimBlank(lead []string) []string {
	for len(lead) > 0 && lead[0] == "" {
		lead = lead[1:]
	}
	return lead
}

// block writes a block with its keys or dashes in the column col. A prefix stands before its first line in place
// of blanks: the dashes of the lists that begin there.
func (f *layout) block(p *page, b *block, col int, prefix string) {
	list := f.inOrder(b)
	for i, e := range list {
		margin := strings.Repeat(" ", col)
		lead, at := e.lead, col
		if i == 0 {
			if prefix != "" {
				margin, at = prefix, indent(prefix)
			}
			lead = trimBlank(lead)
		} else if b.at == rootPlace && (e.inner != nil || list[i-1].inner != nil) {
			p.blank() // around the sections of the file
		}
		p.notes(lead, at)
		f.entry(p, b, e, col, margin)
	}
	p.notes(b.tail, col)
}

// entry writes an entry of a block, whose first line begins with the margin.
func (f *layout) entry(p *page, b *block, e *entryLines, col int, margin string) {
	text := f.lines[e.first][b.col:]
	if e.compact {
		f.block(p, e.inner, col+2, margin+"- ")
		return
	}
	if b.isList && len(text) > 1 && text[1] == ' ' {
		text = "- " + strings.TrimLeft(text[1:], " ")
	}
	if (e.inner != nil || e.last == e.first) && !strings.Contains(text, "#") {
		text = strings.TrimRight(text, " \t")
	}
	p.line(margin + text)
	if e.inner != nil {
		f.block(p, e.inner, col+2, "")
	} else {
		for _, line := range f.lines[e.first+1 : e.last+1] {
			p.line(shifted(line, col-b.col))
		}
		p.sealed = e.keep
	}
	p.notes(e.after, col+2)
}

// shifted moves a line of a value to the right, or to the left by no more than it is indented.
func shifted(line string, by int) string {
	switch {
	case line == "":
		return ""
	case by >= 0:
		return strings.Repeat(" ", by) + line
	}
	return line[min(-by, indent(line)):]
}

package lsp

// The block style of the outline: mappings and sequences by indentation. A line that stands deeper than the
// entries around it, or between two levels, is taken for an entry of the innermost mapping that it can belong to.

// block reads the value that begins on the next line with content, nil when that line is not deeper than parent.
func (o *outliner) block(parent int) *node {
	if !o.content() {
		return nil
	}
	column := o.column(o.pos)
	switch {
	case column <= parent || o.depth > maxNesting:
		return nil
	case o.dash(o.pos):
		return o.sequence(column)
	case o.startsMapping(o.pos):
		return o.mapping(column, parent)
	}
	return o.inline(parent)
}

// startsMapping says that an entry of a mapping begins at an offset: a key, or a word with a key below it.
func (o *outliner) startsMapping(at int) bool {
	if _, colon := o.keyEnd(at); colon >= 0 {
		return true
	}
	if !o.isWord(at) {
		return false
	}
	next := &outliner{text: o.text, pos: o.nextLine(at)}
	if !next.content() || next.column(next.pos) != o.column(at) {
		return false
	}
	_, colon := next.keyEnd(next.pos)
	return colon >= 0
}

// isWord says that a plain value begins at an offset, as a key does before its colon is typed.
func (o *outliner) isWord(at int) bool {
	switch o.text[at] {
	case '[', ']', '{', '}', ',', '|', '>', '"', '\'', '&', '*', '!', '%', '@', '`', '#':
		return false
	}
	return true
}

// mapping reads the entries that begin at a column. The first begins here.
func (o *outliner) mapping(column, parent int) *node {
	o.depth++
	defer func() { o.depth-- }()
	n := &node{shape: mapping, start: o.pos}
	for o.content() {
		at := o.column(o.pos)
		if at <= parent || at < column && o.dash(o.pos) {
			break
		}
		if o.dash(o.pos) {
			o.strayDash(n, at)
			continue
		}
		o.entry(n, at)
	}
	n.end = o.pos
	return n
}

// strayDash reads a dash between the entries of a mapping: the list of the last entry, which may stand at the
// column of its key, or a misplaced one.
func (o *outliner) strayDash(n *node, column int) {
	last := len(n.pairs) - 1
	if last < 0 {
		o.skipLine()
		return
	}
	list := o.sequence(column)
	if old := n.pairs[last].value; old != nil && old.shape == sequence {
		old.items = append(old.items, list.items...)
		old.end = list.end
	} else if old == nil {
		n.pairs[last].value = list
	}
}

// entry reads one entry of a mapping.
func (o *outliner) entry(n *node, column int) {
	at := o.pos
	end, colon := o.keyEnd(at)
	if colon < 0 {
		o.word(n)
		return
	}
	key := &node{shape: scalar, style: plain, start: at, end: end}
	switch o.text[at] {
	case '"':
		key.style = double
	case '\'':
		key.style = single
	}
	o.pos = colon + 1
	n.pairs = append(n.pairs, pair{key: key, colon: true, value: o.value(column)})
}

// word reads a line that is no entry: a key without its colon.
func (o *outliner) word(n *node) {
	at := o.pos
	v := o.inline(o.column(at))
	if v != nil && v.shape == scalar && v.style == plain {
		n.pairs = append(n.pairs, pair{key: v})
	}
	if o.pos == at {
		o.skipLine()
	}
}

// value reads what stands behind a colon or a dash at a column: on the line, or below it.
func (o *outliner) value(column int) *node {
	o.properties()
	if !o.atLineEnd() {
		return o.inline(column)
	}
	o.skipLine()
	if !o.content() {
		return nil
	}
	if o.column(o.pos) == column && o.dash(o.pos) {
		return nil // the mapping takes it for the list of its last entry
	}
	return o.block(column)
}

// properties moves over blanks, anchors and tags.
func (o *outliner) properties() {
	for {
		o.blanks()
		if o.pos == len(o.text) || o.text[o.pos] != '&' && o.text[o.pos] != '!' {
			return
		}
		for o.pos < len(o.text) && !isBlank(o.text[o.pos]) {
			o.pos++
		}
	}
}

// sequence reads the items whose dashes stand at a column. The first begins here.
func (o *outliner) sequence(column int) *node {
	o.depth++
	defer func() { o.depth-- }()
	n := &node{shape: sequence, start: o.pos}
	for o.content() {
		at := o.column(o.pos)
		if at < column || at == column && !o.dash(o.pos) {
			break
		}
		if o.dash(o.pos) {
			o.pos++
			n.items = append(n.items, o.item(at))
			continue
		}
		if last := n.items[len(n.items)-1]; last != nil && last.shape == mapping && !last.flow {
			o.entry(last, at)
			last.end = o.pos
			continue
		}
		o.skipLine()
	}
	n.end = o.pos
	return n
}

// item reads what stands behind a dash at a column.
func (o *outliner) item(column int) *node {
	o.properties()
	switch {
	case o.depth > maxNesting:
		o.skipLine()
		return nil
	case o.atLineEnd():
		return o.value(column)
	case o.dash(o.pos):
		return o.sequence(o.column(o.pos))
	case o.startsMapping(o.pos):
		return o.mapping(o.column(o.pos), column)
	}
	return o.inline(column)
}

package graph_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"foundry/diag"
)

// A hint says what to write instead. Here every hint of the fixtures that names a replacement is followed, by a
// program that knows nothing but the words of the hint and the place of the finding; then the finding must be
// gone, and the file must still be YAML.

// page is a fixture in which one finding is being mended.
type page struct {
	text string
	d    diag.Diagnostic
}

// follows is a form of hints, and how to follow one: m holds what the form found in the hint.
type follows struct {
	form *regexp.Regexp
	how  func(p page, m []string) string
}

func form(s string) *regexp.Regexp { return regexp.MustCompile(`^` + s) }

// followed are the hints that name a replacement. The first form that fits is the one.
var followed = []follows{
	{form(`did you mean "([^"]+)"\?`), func(p page, m []string) string { return p.replace(m[1]) }},
	{form(`write (-> \w+ retry 2|finish|on fail|passed\("\w+"\)|\w+: \w+)$`), func(p page, m []string) string {
		switch target, isRoute := strings.CutPrefix(m[1], "-> "); {
		case isRoute:
			return p.replace(target)
		case strings.HasPrefix(m[1], "passed("):
			return p.around(`approved("`, `")`, m[1])
		case strings.Contains(m[1], ": "):
			return p.gate(m[1])
		}
		return p.replace(m[1])
	}},
	{form(`remove "\w+" from needs: `), func(p page, _ []string) string { return p.removeItem() }},
	{form(`a phase that has not run has no value here: (?:move "\w+" above "\w+", or )?write \{\{(feedback)\}\}`), func(p page, m []string) string { return p.replace(m[1]) }},
	{form(`write (min: 1)$`), func(p page, m []string) string { return p.replace("1") }},
	{form(`say where the report is: \{tests_ran: \{(file: report.xml)\}\}`), func(p page, m []string) string {
		return p.text[:p.d.Span.End] + strings.Replace(p.text[p.d.Span.End:], ": {", ": {"+m[1]+", ", 1)
	}},
	{form(`(?:"\w+" waits for nothing \(needs: \[\]\): )?add "(\w+)" to the needs of "(\w+)"(, and leave retry out)?`), func(p page, m []string) string {
		text := p.need(m[2], m[1])
		if m[3] != "" {
			text = regexp.MustCompile(`-> `+p.span()+` retry \d`).ReplaceAllString(text, "-> "+p.span())
		}
		return text
	}},
	{form(`write needs: (\[.*\]) in "(\w+)"`), func(p page, m []string) string {
		from, _ := p.phase(m[2])
		id := "id: " + m[2] + "\n"
		at := from + strings.Index(p.text[from:], id) + len(id)
		return p.text[:at] + strings.Repeat(" ", 8) + "needs: " + m[1] + "\n" + p.text[at:]
	}},
	{form(`(?:there is: .*; or )?declare it: params: \{(.*)\}$`), func(p page, m []string) string {
		at := strings.LastIndex(p.text[:p.d.Span.Start], "    params:\n") + len("    params:\n")
		return p.text[:at] + "      " + m[1] + "\n" + p.text[at:]
	}},
	{form(`write (phases\.\w+\.envelope.*)`), func(p page, m []string) string { return p.replace(m[1]) }},
	{form(`write -> \w+ without retry`), func(p page, _ []string) string { return p.around(" retry ", p.span(), "") }},
	{form(`.*; write on fail$`), func(p page, _ []string) string {
		return p.replace(strings.Replace(p.span(), "on reject", "on fail", 1))
	}},
	{form(`(?:go (?:back )?to .*, or|write) (finish)`), func(p page, m []string) string { return p.replace(m[1]) }},
	{form(`compare it: (.*)`), func(p page, m []string) string { return p.replace(m[1]) }},
	{form(`write env: \{((\w+): .*)\} and "(\$\w+)" in the command`), func(p page, m []string) string {
		return strings.Replace(p.text[:p.d.Span.Start]+m[3]+p.text[p.d.Span.End:], "env: {", "env: {"+m[1]+", ", 1)
	}},
	{form(`(?:write|say where the report is:) (\{.*\})$`), func(p page, m []string) string { return p.gate(m[1]) }},
	{form(`write (\w+: \{.*?\})`), func(p page, m []string) string { return p.gate(m[1]) }},
	{form(`write (files_non_empty)$`), func(p page, m []string) string { return p.gate(m[1]) }},
	{form(`write one with a group, such as (.*)`), func(p page, m []string) string { return p.replace(m[1]) }},
	{form(`make the others \(\?:…\)`), func(p page, _ []string) string {
		i := p.d.Span.Start + strings.LastIndex(p.span(), "(")
		return p.text[:i] + "(?:" + p.text[i+1:]
	}},
	{form(`begin it with /`), func(p page, _ []string) string { return p.replace("/" + p.span()) }},
	{form(`write a default of type int`), func(p page, _ []string) string {
		return p.text[:p.d.Span.Start] + strings.Trim(p.span(), `"`) + p.text[p.d.Span.End:]
	}},
	{form(`write a default of type choice`), func(p page, _ []string) string {
		one := regexp.MustCompile(`one of "(\w+)"`).FindStringSubmatch(p.d.Message)
		return p.replace(one[1])
	}},
	{form(`write a value of type int`), func(p page, _ []string) string { return p.replace("1") }},
	{form(`write a value of type choice`), func(p page, _ []string) string {
		return p.replace(regexp.MustCompile(`one of "(\w+)"`).FindStringSubmatch(p.d.Message)[1])
	}},
	{form(`write (\w+) as a whole`), func(p page, m []string) string { return p.replace(m[1]) }},
	{form(`add set: \{(\w+): VALUE\}`), func(p page, m []string) string { return p.beside("set: {" + m[1] + ": 1}") }},
	{form(`define it under commands, as (\w+): the command line`), func(p page, m []string) string {
		return strings.Replace(p.text, "commands: {", "commands: {"+m[1]+": make it, ", 1)
	}},
	{form(`write a value of type list`), func(p page, _ []string) string { return p.replace(`[a, "1"]`) }},
	{form(`write type: string, or remove enum`), func(p page, _ []string) string { return p.removeKey("enum") }},
	{form(`.*write all_phases_pass`), func(p page, _ []string) string { return p.replace("all_phases_pass") }},
	{form(`write it relative to the repository root`), func(p page, _ []string) string { return p.replace(strings.TrimLeft(p.span(), "/")) }},
	{form(`use (command) or`), func(p page, m []string) string { return p.replace(m[1]) }},
	{form(`add ((?:choices|argv): \[.*\])`), func(p page, m []string) string { return p.beside(m[1]) }},
	{form(`add script: with one entry`), func(p page, _ []string) string { return p.beside("script: [{reply: done}]") }},
	{form(`add extends: PIPELINE`), func(p page, _ []string) string { return p.above("extends: good") }},
	{form(`add "(\w+)" to the needs of "(\w+)"`), func(p page, m []string) string { return p.need(m[2], m[1]) }},
	{form(`add it to the needs of a later phase, or name it in accept: (.*)`), func(p page, m []string) string { return p.accept(m[1]) }},
	{form(`add a rule such as on fail -> \w+ to a phase, or remove the detour`), func(p page, _ []string) string { return p.removeLine() }},
	{form(`say where a new phase stands: after: PHASE`), func(p page, _ []string) string {
		return strings.Replace(p.text, p.span()+": {", p.span()+": {after: build, ", 1)
	}},
	{form(`(?:move "(\w+)" above "(\w+)"$)`), func(p page, m []string) string { return p.move(m[1], m[2]) }},
	{form(`put on timeout first`), func(p page, _ []string) string { return p.moveLineUp() }},
	{form(`put it above the earlier rule, or remove it`), func(p page, _ []string) string { return p.removeLine() }},
	{form(`give the ask a timeout, or remove the rule`), func(p page, _ []string) string { return p.removeLine() }},
	{form(`choose another id, such as (\w+)`), func(p page, m []string) string { return p.replace(m[1]) }},
	{form(`remove it from (?:writes|needs)`), func(p page, _ []string) string { return p.removeItem() }},
	{form(`remove "\w+" here`), func(p page, _ []string) string { return p.removeItem() }},
	{form(`remove one of the two; `), func(p page, _ []string) string { return p.removeItem() }},
	{form(`remove item`), func(p page, _ []string) string { return p.around(", item: ", p.span(), "") }},
	{form(`remove with, or`), func(p page, _ []string) string { return p.around(" with ", p.span(), "") }},
	{form(`(?:remove|keep one of) (needs|required|optional|message|repeat|after|phases|gates|timeout|env|dir|commits|session|parallel)\b`), func(p page, m []string) string {
		if m[1] == "phases" {
			return p.removeKey(p.span())
		}
		return p.removeKey(m[1])
	}},
	{form(`write isolation: true in pipeline (\w+)`), func(p page, m []string) string {
		at := strings.Index(p.text, "  "+m[1]+":\n    isolation: ")
		return p.text[:at] + regexp.MustCompile(`isolation: \w+`).ReplaceAllString(p.text[at:], "isolation: true")
	}},
	{form(`remove sources(?:$|, or writes)`), func(p page, _ []string) string { return p.removeKey("sources") }},
	{form(`keep one of them`), func(p page, _ []string) string { return p.removeKey("command") }},
	{form(`put the condition on the rule`), func(p page, _ []string) string { return p.removeKey("when") }},
	{form(`(?:write the command after it|close it), or`), func(p page, _ []string) string { return p.replace("") }},
	{form(`remove it[:,] (?:what|and name)`), func(p page, _ []string) string { return p.removeItem() }},
	{form(`(?:remove it(?:$|, or)|read it as .*, or remove it)`), func(p page, _ []string) string {
		if p.d.Rule == diag.Unused {
			return p.removeLine()
		}
		return p.removeKey(p.span())
	}},
	{form(`read it behind a guard: (.*) …`), func(p page, m []string) string {
		return p.text[:p.d.Span.Start] + m[1] + " " + p.text[p.d.Span.Start:]
	}},
	{form(`give a rule of "\w+" a condition, or remove`), func(p page, _ []string) string { return p.removeLine() }},
	{form(`end that path with abort`), func(p page, _ []string) string {
		if strings.Contains(p.span(), "->") {
			return p.replace(regexp.MustCompile(`-> \w+`).ReplaceAllString(p.span(), "-> abort"))
		}
		return p.replace(p.span() + ` || phases.build.exit == 3`)
	}},
	{form(`extend an agent that does not lead back here`), func(p page, _ []string) string { return p.replace("builtin/builder") }},
	{form(`move the gate to|give the phase (?:an envelope kind|or its agent writes)`), func(p page, _ []string) string { return p.replaceGate() }},
	{form(`remove each: `), func(p page, _ []string) string { return p.removeKey("each") }},
	{form(`remove the rule$`), func(p page, _ []string) string { return p.removeLine() }},
	{form(`(?:only an entry of writes in a phase with each|write patterns of paths)`), func(p page, _ []string) string { return p.replace("src/**") }},
	{form(`need the phase that routes to it`), func(p page, _ []string) string { return p.replace("c") }},
}

// advice are hints that leave the choice to the reader: a list of what there is, or what to think about.
var advice = form(`(?:there (?:is:|are) |compare it with one of these|known here: |say of which phase: |write agent, run, |join what |only a phase with |` +
	`order the two with needs|give the agent a model, |take out one of the calls|read it in the called pipeline|add models: |give it writes that |create |name a (?:file|directory) inside |change it under gates|move "\w+" above "\w+" and add it|write ~/ and the path|write it out; |write "\." for the whole|write an absolute path, or|name the directory; |name another agent; |add review: )`)

func TestHintsHelp(t *testing.T) {
	t.Parallel()
	applied := map[diag.Rule]int{}
	for name, text := range fixtures(t) {
		before := lint(t, text)
		for _, d := range before {
			if d.Hint == "" || d.Span.Source.Name != "foundry.yaml" {
				continue
			}
			i := slices.IndexFunc(followed, func(f follows) bool { return f.form.MatchString(d.Hint) })
			if i < 0 {
				if !advice.MatchString(d.Hint) {
					t.Errorf("%s: nobody knows how to follow the hint %q of %s: say it in followed or in advice", name, d.Hint, d.Rule)
				}
				continue
			}
			fixed := followed[i].how(page{text, d}, followed[i].form.FindStringSubmatch(d.Hint))
			if fixed == "" {
				continue // what has to change ships with foundry
			}
			after := lint(t, fixed)
			same := func(x diag.Diagnostic) bool { return x.Rule == d.Rule && x.Message == d.Message }
			if had, has := matching(before, same), matching(after, same); has >= had {
				t.Errorf("%s: %s: %q is still there after %q:\n%s", name, d.Rule, d.Message, d.Hint, changedLines(text, fixed))
			}
			broken := func(x diag.Diagnostic) bool {
				return strings.HasPrefix(string(x.Rule), "yaml-")
			}
			if matching(after, broken) > matching(before, broken) {
				t.Errorf("%s: %s: following %q broke the file:\n%s", name, d.Rule, d.Hint, changedLines(text, fixed))
			}
			for _, x := range after {
				known := func(y diag.Diagnostic) bool {
					return x.Rule == y.Rule && x.Span.Position().Line == y.Span.Position().Line || x.Rule == y.Rule && x.Message == y.Message
				}
				if name == "slips.yaml" && x.Severity == diag.Error && !slices.ContainsFunc(before, known) {
					t.Errorf("%s: %s: following %q made another error: %s [%s]\n%s", name, d.Rule, d.Hint, x.Message, x.Rule, changedLines(text, fixed))
				}
			}
			applied[d.Rule]++
		}
	}
	total := 0
	for _, n := range applied {
		total += n
	}
	if total < 100 || len(applied) < 35 {
		t.Errorf("only %d hints of %d rules were followed", total, len(applied))
	}
}

func matching(list []diag.Diagnostic, is func(diag.Diagnostic) bool) int {
	n := 0
	for _, d := range list {
		if is(d) {
			n++
		}
	}
	return n
}

// changedLines are the lines that two texts do not share.
func changedLines(a, b string) string {
	var out []string
	left, right := strings.Split(a, "\n"), strings.Split(b, "\n")
	for _, l := range left {
		if !slices.Contains(right, l) {
			out = append(out, "- "+l)
		}
	}
	for _, l := range right {
		if !slices.Contains(left, l) {
			out = append(out, "+ "+l)
		}
	}
	return strings.Join(out, "\n")
}

// span is what the finding points at.
func (p page) span() string { return p.text[p.d.Span.Start:p.d.Span.End] }

// replace writes something in place of what the finding points at, within its quotes if it has some.
func (p page) replace(with string) string {
	if s := p.span(); len(s) > 1 && (s[0] == '"' || s[0] == '\'') && s[len(s)-1] == s[0] && with != "" && with[0] != s[0] && with[0] != '[' {
		with = s[:1] + with + s[:1]
	}
	return p.text[:p.d.Span.Start] + with + p.text[p.d.Span.End:]
}

// around replaces what the finding points at with what stands around it.
func (p page) around(before, after, with string) string {
	from := strings.LastIndex(p.text[:p.d.Span.End], before)
	to := from + len(before)
	to += strings.Index(p.text[to:], after) + len(after)
	return p.text[:from] + with + p.text[to:]
}

// line is where the line of the finding begins and ends.
func (p page) line() (int, int) {
	from := strings.LastIndex(p.text[:p.d.Span.Start], "\n") + 1
	to := p.d.Span.End + strings.Index(p.text[p.d.Span.End:], "\n") + 1
	return from, to
}

func (p page) removeLine() string {
	from, to := p.line()
	return p.text[:from] + p.text[to:]
}

func (p page) moveLineUp() string {
	from, to := p.line()
	route := strings.LastIndex(p.text[:from], "route: |\n") + len("route: |\n")
	return p.text[:route] + p.text[from:to] + p.text[route:from] + p.text[to:]
}

// gate writes an entry of a list of gates anew; the lists of the fixtures have one on each line.
func (p page) gate(with string) string {
	from, to := p.line()
	line := p.text[from:to]
	if i := strings.Index(line, "- "); i >= 0 && strings.TrimSpace(line[:i]) == "" {
		if name, _, isFlag := strings.Cut(with, ": "); isFlag && with[0] != '{' && strings.Contains(line, "{"+name+": ") {
			return p.text[:from] + regexp.MustCompile(name+`: \w+`).ReplaceAllString(line, with) + p.text[to:]
		}
		return p.text[:from] + line[:i+2] + with + "\n" + p.text[to:]
	}
	return p.removeItem()
}

// replaceGate takes a gate away, from a line of its own or from a list in brackets.
func (p page) replaceGate() string {
	from, _ := p.line()
	if strings.HasPrefix(strings.TrimSpace(p.text[from:p.d.Span.Start]), "- ") || strings.TrimSpace(p.text[from:p.d.Span.Start]) == "-" {
		if !strings.Contains(p.text[from:p.d.Span.Start], "[") {
			return p.gate("files_non_empty")
		}
	}
	return p.removeItem()
}

// removeItem takes an entry out of a list in brackets.
func (p page) removeItem() string {
	from, to := p.d.Span.Start, p.d.Span.End
	switch {
	case strings.HasPrefix(p.text[to:], ", "):
		to += 2
	case strings.HasSuffix(p.text[:from], ", "):
		from -= 2
	}
	return p.text[:from] + p.text[to:]
}

// removeKey takes a key and its value out of a mapping, in braces or on a line of its own: the one nearest to the
// finding, on its line.
func (p page) removeKey(name string) string {
	first, last := p.line()
	best := -1
	for _, m := range regexp.MustCompile(`(?m)(?:^ *|[{,] ?)(`+name+`):`).FindAllStringSubmatchIndex(p.text[first:last], -1) {
		if at := first + m[2]; best < 0 || at <= p.d.Span.Start {
			best = at
		}
	}
	if best < 0 {
		return p.text
	}
	if strings.TrimSpace(p.text[first:best]) == "" {
		return p.text[:first] + p.text[last:]
	}
	to, depth := best, 0
	for quote := byte(0); to < last; to++ {
		c := p.text[to]
		switch {
		case quote != 0:
			if c == quote {
				quote = 0
			}
			continue
		case c == '"' || c == '\'':
			quote = c
			continue
		case c == '{' || c == '[':
			depth++
			continue
		case depth == 0 && (c == ',' || c == '}'):
		case c == '}' || c == ']':
			depth--
			continue
		default:
			continue
		}
		break
	}
	from := best
	if strings.HasPrefix(p.text[to:], ", ") {
		to += 2
	} else {
		from = strings.LastIndex(p.text[:best], ",")
	}
	return p.text[:from] + p.text[to:]
}

// beside adds a key to the mapping in braces that the finding stands in.
func (p page) beside(pair string) string {
	depth := 0
	for i := p.d.Span.Start - 1; i >= 0; i-- {
		switch p.text[i] {
		case '}':
			depth++
		case '{':
			if depth--; depth < 0 {
				return p.text[:i+1] + pair + ", " + p.text[i+1:]
			}
		}
	}
	return p.text
}

// above adds a line above that of the finding, indented alike.
func (p page) above(pair string) string {
	from, _ := p.line()
	return p.text[:from] + p.text[from:p.d.Span.Start] + pair + "\n" + p.text[from:]
}

// phase is where the nearest phase of an id begins and ends, its dash included.
func (p page) phase(id string) (int, int) {
	best := [2]int{-1, -1}
	for _, m := range regexp.MustCompile(`(?m)^( *)- \{?id: `+id+`\b.*\n(?: *[^ -].*\n)*?`).FindAllStringSubmatchIndex(p.text, -1) {
		indent, to := strings.Repeat(" ", m[3]-m[2]+1), m[1]
		for strings.HasPrefix(p.text[to:], indent) {
			to += strings.Index(p.text[to:], "\n") + 1
		}
		far := func(at int) int { return max(at-p.d.Span.Start, p.d.Span.Start-at) }
		if best[0] < 0 || far(m[0]) < far(best[0]) {
			best = [2]int{m[0], to}
		}
	}
	return best[0], best[1]
}

// need adds a phase to the needs of another one.
func (p page) need(id, other string) string {
	from, to := p.phase(id)
	text := p.text[from:to]
	if i := strings.Index(text, "needs: ["); i >= 0 {
		i += len("needs: [")
		text = text[:i] + other + ", " + text[i:]
	} else {
		text = strings.Replace(text, "{id: "+id, "{id: "+id+", needs: ["+other+"]", 1)
	}
	return p.text[:from] + text + p.text[to:]
}

// move puts a phase above another one.
func (p page) move(id, other string) string {
	from, to := p.phase(id)
	at, _ := p.phase(other)
	if from < 0 || at < 0 {
		return ""
	}
	moved := p.text[from:to]
	return p.text[:at] + moved + p.text[at:from] + p.text[to:]
}

// accept adds a term to the acceptance of the pipeline around the finding.
func (p page) accept(term string) string {
	before := regexp.MustCompile(`(?m)^    accept: .*?( #.*)?$`).FindAllStringIndex(p.text[:p.d.Span.Start], -1)
	at := before[len(before)-1]
	line, comment, _ := strings.Cut(p.text[at[0]:at[1]], " #")
	if comment != "" {
		comment = " #" + comment
	}
	return p.text[:at[0]] + line + " && " + term + comment + p.text[at[1]:]
}

package schema

// The keys of pipeline tests: what is given to a pipeline, and what must come of it. Names of pipelines, phases,
// gates and params stay unresolved; whether an entry fits the kind of its phase is not known here either.

import (
	"encoding/json"

	"slices"

	"gopkg.in/yaml.v3"

	"foundry/diag"
)

// Test is one pipeline test.
type Test struct {
	Unread   bool // something in it could not be read
	Name     Text
	Pipeline Text // absent: the one that runs when none is named
	Request  Text
	Params   []Setting
	Given    []Entries // by phase
	Criteria []Entries // by criterion
	Expect   Expect
	J        Int
	Span     diag.Span // where the test begins
}

// Setting is the value of a param.
type Setting struct {
	Name  Text
	Value Data
}

// Entries are the outcomes of one phase or criterion, in the order in which they are used up.
type Entries struct {
	Name Text
	List []Entry
}

// Entry is one outcome: of an agent's turn, of a command, or a person's answer. Which of its keys may be set
// depends on the phase.
type Entry struct {
	Reply    Data
	Stop     Text // truncated, limit, timeout, error: how a turn ended that brought no reply
	Files    []ScriptFile
	FilesSet bool
	Changed  Texts
	Gates    Pairs // pass, fail or empty, by gate
	Conflict Texts
	Usage    Usage
	Review   Review

	Exit    Int
	Output  Text
	Timeout Bool

	Answer Text // approve, reject
	Note   Text // of a rejection

	Repeat Bool
	Keys   []Text    // those that were written; none for an answer that is a word
	Span   diag.Span // where the entry begins
}

// Usage is what a turn used up.
type Usage struct {
	Tokens Int
	Cost   Number
	Calls  Int
}

// Review is what the reviewer of a phase answers after the turn of an entry.
type Review struct {
	Verdict  Text // pass, fail, unreachable, unverified
	Reason   Text
	Evidence Texts
	Span     diag.Span
	Set      bool
}

// Text is the answer as a reviewer would send it; one that is unverified holds no verdict.
func (r *Review) Text() string {
	if r.Verdict.Value == "unverified" {
		return r.Reason.Value
	}
	text, err := json.Marshal(map[string]any{"verdict": r.Verdict.Value, "reason": r.Reason.Value, "evidence": append([]string{}, r.Evidence.Values()...)})
	if err != nil {
		panic("BUG: the answer of a reviewer is no JSON: " + err.Error())
	}
	return string(text)
}

// Expect is what must come of a test. What is not set is not checked.
type Expect struct {
	Status   Text
	Reason   Text
	Text     Text
	Exit     Int
	Path     Texts
	NotRun   Texts
	Visits   []Count
	Routes   Texts
	Feedback []Handed
	Span     diag.Span
	Set      bool
}

// Count is how often a phase is visited.
type Count struct {
	Phase Text
	Times Int
}

// Handed is what the visits of a phase were given, in order; a text that is not set stands for a visit that is
// not checked.
type Handed struct {
	Phase Text
	Texts []Text
	Span  diag.Span
}

func (l *language) tests() {
	l.test = newSection("test", "a test",
		text("name", "what the test shows", func(t *Test) *Text { return &t.Name }).must(),
		text("pipeline", "the pipeline under test; the one that runs when none is named if absent", func(t *Test) *Text { return &t.Pipeline }),
		text("request", "the request of the run", func(t *Test) *Text { return &t.Request }),
		row("params", ShapeData, "values of params, by name", readSettings),
		row("given", ShapeEntries, "outcomes by phase id: one entry a turn, a run or a question", func(d *decoder, _ *Key, v value, t *Test) { t.Given = d.given(v) }).of("entry"),
		row("criteria", ShapeEntries, "outcomes of criteria: one entry before the work, one after", func(d *decoder, _ *Key, v value, t *Test) { t.Criteria = d.given(v) }).of("entry"),
		nested("expect", "expect", "what must come of it", func(d *decoder, v value, t *Test) {
			t.Expect.Span, t.Expect.Set = d.opening(v.node), true
			mapping(d, l.expect, v, &t.Expect)
		}).must(),
		integer("j", "how many phases may overlap", func(t *Test) *Int { return &t.J }).def("1").from(1).to(1000),
	)
	l.entry = newSection("entry", "an entry of a test",
		data("reply", "what the agent answers: an object is sent as JSON, a text verbatim", func(e *Entry) *Data { return &e.Reply }).only("agent"),
		text("stop", "how a turn without a reply ended", func(e *Entry) *Text { return &e.Stop }).enum("truncated", "limit", "timeout", "error").only("agent"),
		row("files", ShapeFiles, "files that were written, by path; null for a deleted one", func(d *decoder, _ *Key, v value, e *Entry) {
			e.Files, e.FilesSet = d.files(v), true
		}).only("agent"),
		texts("changed", "the paths that changed, []: none; nobody knows if absent", func(e *Entry) *Texts { return &e.Changed }),
		row("gates", ShapePairs, "how gates ended, by name; the others look for themselves, or pass", readVerdicts).enum("pass", "fail", "empty"),
		texts("conflict", "with parallel: worktree, the paths at which its work does not fit what came in before; if absent, it fits", func(e *Entry) *Texts { return &e.Conflict }),
		nested("usage", "usage", "what the turn used up", func(d *decoder, v value, e *Entry) { mapping(d, l.usage, v, &e.Usage) }).only("agent"),
		nested("review", "review", "what the reviewer of the phase answers", func(d *decoder, v value, e *Entry) {
			e.Review.Set, e.Review.Span = true, d.opening(v.node)
			mapping(d, l.review, v, &e.Review)
		}).only("agent"),
		integer("exit", "the exit code of the command", func(e *Entry) *Int { return &e.Exit }).def("0").to(255).only("code"),
		text("output", "what the command printed", func(e *Entry) *Text { return &e.Output }).only("code"),
		boolean("timeout", "whether the command was ended for taking too long", func(e *Entry) *Bool { return &e.Timeout }).def("false").only("code"),
		row("reject", ShapeText, "a rejection with this note; the words approve and reject stand alone", func(d *decoder, _ *Key, v value, e *Entry) {
			if note, ok := d.text(v); ok {
				e.Answer, e.Note = Text{Value: "reject", Frag: note.Frag, Set: true}, note
			}
		}).only("ask"),
		boolean("repeat", "whether the entry serves all that follows", func(e *Entry) *Bool { return &e.Repeat }).def("false"),
	)
	l.usage = newSection("usage", "the usage of a turn",
		integer("tokens", "tokens of input and output", func(u *Usage) *Int { return &u.Tokens }),
		decimal("cost", "what it cost, in US dollars", func(u *Usage) *Number { return &u.Cost }),
		integer("calls", "calls of tools", func(u *Usage) *Int { return &u.Calls }),
	)
	l.review = newSection("review", "the answer of a reviewer",
		text("verdict", "what it comes to; unverified: it gives no answer that can be used", func(r *Review) *Text { return &r.Verdict }).enum("pass", "fail", "unreachable", "unverified").must(),
		text("reason", "why", func(r *Review) *Text { return &r.Reason }),
		texts("evidence", "the paths and calls that it cites; if absent, something that exists", func(r *Review) *Texts { return &r.Evidence }),
	)
	l.expect = newSection("expect", "an expectation",
		text("status", "how the run ends", func(e *Expect) *Text { return &e.Status }).enum("accepted", "rejected", "failed", "waiting", "paused"),
		text("reason", "why it ends so, in one word", func(e *Expect) *Text { return &e.Reason }),
		text("text", "a part of the run's reason", func(e *Expect) *Text { return &e.Text }),
		integer("exit", "the exit code that the run would have", func(e *Expect) *Int { return &e.Exit }).to(255),
		texts("path", "the visits, in order", func(e *Expect) *Texts { return &e.Path }),
		texts("not_run", "phases that did not run", func(e *Expect) *Texts { return &e.NotRun }),
		row("visits", ShapeCounts, "the number of visits, by phase", readVisits),
		texts("routes", "the rules that were taken, in order, such as test -> build", func(e *Expect) *Texts { return &e.Routes }),
		row("feedback", ShapeTextLists, "a part of what each visit of a phase was given; null: not checked, an empty text: nothing was given", readHanded),
	)
}

func readTests(d *decoder, v value, doc *Document) {
	doc.Tests = listOf(d, v, func(v value, t *Test) bool {
		t.Span = d.opening(v.node)
		var ok bool
		t.Unread = d.loses(func() { _, ok = mapping(d, d.lang.test, v, t) })
		return ok
	})
	called := map[string]diag.Span{}
	for _, t := range doc.Tests {
		first, twice := called[t.Name.Value]
		if twice && t.Name.Set {
			d.report(nil, diag.DuplicateID, t.Name.Span(), "two tests are called %q", clip(t.Name.Value)).
				Notef(first, "the first is here").Hintf("say what this one shows that the other does not")
		}
		if !twice {
			called[t.Name.Value] = t.Name.Span()
		}
	}
}

func readSettings(d *decoder, _ *Key, v value, t *Test) {
	if v.node.Kind != yaml.MappingNode {
		d.wrongType(v, "a mapping from params to values")
		return
	}
	for _, e := range d.entries(v) {
		if x := d.data(e.value); x.Set {
			t.Params = append(t.Params, Setting{Name: d.keyText(e), Value: x})
		}
	}
}

// given reads outcomes by name.
func (d *decoder) given(v value) []Entries {
	if v.node.Kind != yaml.MappingNode {
		d.wrongType(v, "a mapping from names to lists of entries")
		return nil
	}
	var out []Entries
	for _, e := range d.entries(v) {
		if e.node.Kind != yaml.SequenceNode {
			d.wrongType(e.value, "a list of entries")
			continue
		}
		list := Entries{Name: d.keyText(e)}
		for _, item := range d.items(e.value) {
			if entry, ok := d.outcome(item); ok {
				list.List = append(list.List, entry)
			}
		}
		out = append(out, list)
	}
	return out
}

// outcome reads one entry: a mapping, or the word of an answer.
func (d *decoder) outcome(v value) (Entry, bool) {
	if v.node.Kind == yaml.ScalarNode && !isNull(v.node) {
		word, ok := d.text(v)
		if !ok || !d.oneOf(&Key{Name: v.name, Enum: []string{"approve", "reject"}}, v, word) {
			return Entry{}, false
		}
		return Entry{Answer: word, Span: word.Span()}, true
	}
	e := Entry{Span: d.opening(v.node)}
	if v.node.Kind != yaml.MappingNode {
		d.wrongType(v, "entries, each a mapping, or the word approve or reject")
		return e, false
	}
	for _, key := range decodeSection(d, d.lang.entry, v, &e).entries {
		e.Keys = append(e.Keys, d.keyText(key))
	}
	return e, true
}

func readVerdicts(d *decoder, k *Key, v value, e *Entry) {
	e.Gates = d.pairs(v)
	for _, p := range e.Gates.Items {
		if !slices.Contains(k.Enum, p.Value.Value) {
			found := d.report(v.via, diag.UnknownEnumValue, p.Value.Span(), "a gate ends with %s; %q is none of them", either(k.Enum), clip(p.Value.Value))
			if s := diag.Suggest(p.Value.Value, k.Enum); s != "" {
				found.Hintf("did you mean %q?", s)
			}
		}
	}
}

func readVisits(d *decoder, k *Key, v value, x *Expect) {
	if v.node.Kind != yaml.MappingNode {
		d.wrongType(v, "a mapping from phases to whole numbers")
		return
	}
	for _, e := range d.entries(v) {
		if n, ok := d.number(e.value, k.Min, k.Max); ok {
			x.Visits = append(x.Visits, Count{Phase: d.keyText(e), Times: n})
		}
	}
}

func readHanded(d *decoder, _ *Key, v value, x *Expect) {
	if v.node.Kind != yaml.MappingNode {
		d.wrongType(v, "a mapping from phases to lists of texts")
		return
	}
	for _, e := range d.entries(v) {
		if e.node.Kind != yaml.SequenceNode {
			d.wrongType(e.value, "a list with a text, or null, for each visit")
			continue
		}
		h := Handed{Phase: d.keyText(e), Span: d.spanOf(e.node)}
		for _, item := range d.items(e.value) {
			if item.node.Kind == yaml.ScalarNode && isNull(item.node) {
				h.Texts = append(h.Texts, Text{})
				continue
			}
			t, _ := d.text(item)
			h.Texts = append(h.Texts, t)
		}
		x.Feedback = append(x.Feedback, h)
	}
}

package lsp

import (
	"slices"
	"strings"

	"foundry/graph"
)

// This file offers what can follow in rules, expressions and templates.

// textOffers is what can follow the text before the word at the cursor.
func (v *view) textOffers(p place, u use, text string) []offer {
	switch u.kind {
	case useRoute:
		return v.ruleOffers(p, strings.TrimLeft(text, " \t"))
	case useExpr:
		return v.exprOffers(p, u.place, text)
	case useTemplate:
		inner, open := templateAt(text)
		if !open {
			return nil
		}
		if strings.HasSuffix(inner, "envelope:") {
			return v.phaseOffers(p, usePhase)
		}
		return v.exprOffers(p, u.place, inner)
	case useInput:
		return v.inputOffers(p, text)
	}
	return nil
}

// ruleOffers is what can follow a part of a rule: `on fail when EXPR -> build retry 2 with EXPR`.
func (v *view) ruleOffers(p place, rule string) []offer {
	if _, comment := quoteAt(rule); comment {
		return nil
	}
	head, tail, arrow := cutOutside(rule, "->")
	if arrow {
		return v.afterArrow(p, strings.TrimLeft(tail, " \t"))
	}
	words := strings.Fields(head)
	if head != "" && !isBlank(head[len(head)-1]) && (len(words) < 3 || words[2] != "when") {
		return nil
	}
	switch {
	case len(words) == 0:
		return []offer{keyword("on", "after which outcome the rule is tried")}
	case words[0] != "on":
		return nil
	case len(words) == 1:
		return v.known(v.words.Triggers)
	case len(words) == 2:
		return []offer{keyword("when", "a condition, an expression over what the phase came to"), keyword("->", "where the run goes")}
	case words[2] == "when":
		_, expr, _ := strings.Cut(head, "when")
		return v.exprOffers(p, graph.After, expr)
	}
	return nil
}

// afterArrow is what can follow the arrow of a rule.
func (v *view) afterArrow(p place, tail string) []offer {
	if _, expr, with := cutOutside(tail, " with "); with {
		return v.exprOffers(p, graph.After, expr)
	}
	words := strings.Fields(tail)
	with := keyword("with", "the text that is handed on, an expression")
	switch {
	case len(words) == 0:
		return append(v.phaseOffers(p, usePhase), v.known(v.words.Actions)...)
	case !isBlank(tail[len(tail)-1]) || slices.ContainsFunc(v.words.Actions, func(w Word) bool { return w.Name == words[0] }):
		return nil
	case len(words) == 1:
		return []offer{keyword("retry", "how often the jump may be taken; jumps back need it"), with}
	case len(words) == 3 && words[1] == "retry":
		return []offer{with}
	}
	return nil
}

// exprOffers is what can follow a part of an expression.
func (v *view) exprOffers(p place, at graph.Place, text string) []offer {
	quote, comment := quoteAt(text)
	switch {
	case comment:
		return nil
	case quote >= 0 && strings.TrimSpace(text[quote+1:]) == "":
		return v.quotedOffers(p, at, text[:quote])
	case quote >= 0:
		return nil
	}
	if path, ok := chain(text); ok {
		if len(path) == 1 && path[0] == "phases" {
			return v.phaseOffers(p, usePhase)
		}
		return memberOffers(v.cat.Members(p.pipeline, v.phaseID(p), at, path), kindField)
	}
	if strings.HasSuffix(text, ".") || strings.HasSuffix(text, "#") {
		return nil // a field of an element, or a number
	}
	out := memberOffers(v.cat.Members(p.pipeline, v.phaseID(p), at, nil), kindVariable)
	out = append(out, v.known(verdicts)...)
	for _, f := range v.words.Functions {
		o := word(f, kindFunction)
		o.insert = f.Name + "("
		out = append(out, o)
	}
	return append(out, v.known(operators)...)
}

// quotedOffers is what a text in quotes can be, by what stands before it.
func (v *view) quotedOffers(p place, at graph.Place, text string) []offer {
	if m := asks().FindStringSubmatch(text); m != nil {
		out := v.phaseOffers(p, usePhase)
		if m[1] == "approved" {
			can := v.cat.Approving(p.pipeline)
			for i := range out {
				out[i].hidden = !slices.Contains(can, out[i].label)
			}
		}
		return out
	}
	m := compared().FindStringSubmatch(text)
	if m == nil {
		return nil
	}
	path := links(m[1])
	if len(path) == 0 {
		return nil
	}
	for _, found := range v.cat.Members(p.pipeline, v.phaseID(p), at, path[:len(path)-1]) {
		if found.Name != path[len(path)-1] {
			continue
		}
		var out []offer
		for _, w := range found.Enum {
			out = append(out, offer{label: w, kind: kindMember, detail: "value of " + m[1]})
		}
		return out
	}
	return nil
}

// inputOffers is what an agent can be handed.
func (v *view) inputOffers(p place, text string) []offer {
	if phase, ok := strings.CutSuffix(text, "."); ok {
		return memberOffers(v.cat.Members(p.pipeline, "", graph.Before, []string{"phases", phase, "envelope"}), kindField)
	}
	out := v.known(inputs)
	for _, o := range v.phaseOffers(p, usePhase) {
		o.hidden = o.label == v.phaseID(p)
		out = append(out, o)
	}
	return out
}

func memberOffers(list []graph.Member, kind int) []offer {
	var out []offer
	for _, m := range list {
		o := offer{label: m.Name, kind: kind, detail: m.Type}
		if len(m.Enum) > 0 {
			o.doc = func() string { return "one of " + codeList(m.Enum) }
		}
		out = append(out, o)
	}
	return out
}

// known offers words of the language.
func (v *view) known(words []Word) []offer {
	var out []offer
	for _, w := range words {
		out = append(out, word(w, kindKeyword))
	}
	return out
}

func word(w Word, kind int) offer {
	o := offer{label: w.Name, kind: kind, detail: w.Usage}
	if w.Doc != "" {
		o.doc = func() string { return w.Doc }
	}
	return o
}

func keyword(name, doc string) offer { return word(Word{Name: name, Doc: doc}, kindKeyword) }

// verdicts are the words that speak of all phases.
var verdicts = []Word{
	{"all_phases_pass", "", "whether every phase succeeded or was skipped; detours that did not run do not count"},
	{"last_phase_pass", "", "whether the only phase that nothing waits for succeeded"},
}

// operators are the operators and values that are words.
var operators = []Word{{"and", "", ""}, {"or", "", ""}, {"not", "", ""}, {"in", "", ""}, {"true", "", ""}, {"false", "", ""}}

// inputs are what an agent can be handed beside what phases reported.
var inputs = []Word{
	{"request", "", "the request of the run"},
	{"feedback", "", "what other phases found wrong with the last visit"},
	{"handoff_files", "", "the files that agents left for one another"},
}

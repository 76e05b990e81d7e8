package dsl

// The words for what is wrong with a rule. participle says which token it did not expect; what was meant is
// told from where that token stands, which is decided here and nowhere else.

import (
	"slices"
	"strings"

	"github.com/alecthomas/participle/v2/lexer"

	"foundry/diag"
)

var triggerWords = triggerNames[Pass:]

// otherTriggers are the words that other tools have for the triggers, with the slips in them.
var otherTriggers = map[string]string{
	"success": "pass", "sucess": "pass", "succes": "pass", "succeeded": "pass", "ok": "pass", "done": "pass", "complete": "pass", "completed": "pass",
	"failure": "fail", "error": "fail", "rejected": "reject", "rejection": "reject", "approved": "pass",
	"timed_out": "timeout", "skipped": "skip", "always": "any", "all": "any",
}

// reserved are the words that cannot be the id of a phase.
var reserved = []string{
	"on", "when", "with", "retry", "next", "finish", "abort", "self", "item", "pass", "reject", "fail", "timeout", "skip", "any",
	"and", "not", "or", "in", "true", "false", "nil", "yes", "no", "off", "request", "feedback",
}

// IsReserved says whether a word is one of the language's own and cannot be an id.
func IsReserved(word string) bool { return slices.Contains(reserved, word) }

func (p *ruleParser) tokens() []lexer.Token {
	if p.read == nil {
		l, err := ruleTokens{}.LexString("", p.frag.Text)
		if err == nil {
			p.read, err = lexer.ConsumeAll(l)
		}
		if err != nil {
			panic("BUG: the rule lexer has no token for " + err.Error())
		}
	}
	return p.read
}

func (p *ruleParser) span(t lexer.Token) diag.Span {
	return p.frag.Span(t.Pos.Offset, t.Pos.Offset+len(t.Value))
}

// end is the last token before the end of input, for what is missing there.
func (p *ruleParser) end() diag.Span {
	all := p.tokens()
	for i := len(all) - 2; i >= 0; i-- {
		if start, end := trim(p.frag.Text, all[i].Pos.Offset, all[i].Pos.Offset+len(all[i].Value)); start < end {
			return p.frag.Span(start, end)
		}
	}
	return p.frag.Whole()
}

// explain reports what participle stumbled over.
func (p *ruleParser) explain(err error) {
	all := p.tokens()
	at := offset(err)
	i := slices.IndexFunc(all, func(t lexer.Token) bool { return t.Pos.Offset >= at })
	if i < 0 {
		i = len(all) - 1
	}
	if len(all) == 1 {
		p.diags.Report(diag.RouteSyntax, p.frag.Whole(), "the rule is empty").Hintf("write it as in: on fail -> build retry 2")
		return
	}
	arrow := slices.IndexFunc(all, func(t lexer.Token) bool { return t.Type == arrowToken || t.Type == thenToken })
	if arrow < 0 || i <= arrow {
		p.explainHead(all, i, arrow)
		return
	}
	p.explainTail(all, i, arrow)
}

// explainHead words a fault in "on TRIGGER [when E] ->".
func (p *ruleParser) explainHead(all []lexer.Token, i, arrow int) {
	t := all[i]
	switch {
	case i == 0:
		p.explainStart(t)
	case i == 1 && t.EOF():
		p.diags.Report(diag.RouteSyntax, p.end(), `no trigger after "on": %s was expected`, oneOf(triggerWords)).
			Hintf("write it as in: on fail -> build retry 2")
	case i == 1:
		d := p.diags.Report(diag.RouteSyntax, p.span(t), `"%s" is no trigger: %s was expected`, show(t), oneOf(triggerWords))
		if p.meant = otherTriggers[strings.ToLower(t.Value)]; p.meant == "" {
			p.meant = diag.Suggest(t.Value, triggerWords)
		}
		if p.meant != "" {
			d.Hintf("did you mean %q?", p.meant)
		}
	case all[2].Type == whenToken:
		p.explainCondition(all, arrow)
	case t.EOF():
		p.diags.Report(diag.RouteSyntax, p.end(), `the rule leads nowhere: "->" was expected after "%s"`, all[i-1].Value).
			Hintf("add -> and a phase, next, finish or abort")
	default:
		d := p.diags.Report(diag.RouteSyntax, p.arrowLike(all, i), `"%s" is not expected here: "when" or "->" was`, show(t))
		switch {
		case strings.Contains("=-→>–—", t.Value):
			d.Hintf("write the arrow as ->")
		case t.Type == withToken || t.Value == "retry":
			d.Hintf("the order is: on %s -> PHASE retry N with TEXT", all[1].Value)
		case arrow < 0 && t.Type == idToken && i == len(all)-2:
			d.Hintf("write -> %s", t.Value)
		default:
			p.suggest(d, t, []string{"when"})
		}
	}
}

func (p *ruleParser) explainStart(t lexer.Token) {
	d := p.diags.Report(diag.RouteSyntax, p.span(t), `a rule begins with "on", not with "%s"`, show(t))
	switch {
	case slices.Contains(triggerWords, t.Value):
		d.Hintf("write on %s", t.Value)
	case t.Value == "#":
		d.Hintf("a comment begins with //")
	case t.Value == "-":
		d.Hintf("in a block text each line is a rule: leave the dash out")
	default:
		p.suggest(d, t, []string{"on"})
	}
	if d.Hint == "" {
		d.Hintf("write it as in: on fail -> build retry 2")
	}
}

// explainCondition words what is wrong when "when" stands where it may: no arrow follows, or no condition.
func (p *ruleParser) explainCondition(all []lexer.Token, arrow int) {
	when := all[2]
	if arrow == 3 || len(all) == 4 {
		p.empty("when", p.span(when))
		return
	}
	start, end := trim(p.frag.Text, all[3].Pos.Offset, len(p.frag.Text))
	if start == end {
		p.empty("when", p.span(when))
		return
	}
	at := p.frag.Span(start, end)
	for _, wrong := range []string{"=>", "→", "- >"} {
		if k := strings.Index(p.frag.Text[start:end], wrong); k >= 0 {
			at = p.frag.Span(start+k, start+k+len(wrong))
			break
		}
	}
	p.diags.Report(diag.RouteSyntax, at, `no "->" follows the condition after "when"`).
		Hintf("write -> and a phase, next, finish or abort after the condition")
}

// explainTail words a fault after the arrow.
func (p *ruleParser) explainTail(all []lexer.Token, i, arrow int) {
	t, first, before := all[i], all[arrow+1], all[i-1]
	switch {
	case i == arrow+1 && t.EOF():
		p.diags.Report(diag.RouteSyntax, p.end(), `nothing follows "->": a phase, next, finish or abort was expected`).
			Hintf("name where the run goes")
	case i == arrow+1 && IsReserved(t.Value):
		p.reserved(p.frag.Slice(t.Pos.Offset, t.Pos.Offset+len(t.Value)))
	case i == arrow+1:
		p.diags.Report(diag.RouteSyntax, p.span(t), `"%s" is no target: a phase, next, finish or abort was expected`, show(t)).
			Hintf("name a phase by its id, without quotes")
	case first.Value == "next" || first.Value == "finish" || first.Value == "abort":
		p.explainAction(all, i, first.Value)
	case before.Value == "retry" && i == arrow+3:
		p.diags.Report(diag.RouteSyntax, p.numberLike(all, i), `a count was expected after "retry"`).Hintf("write it as in retry 2")
	case before.Type == withToken:
		p.empty("with", p.span(before))
	default:
		p.explainExtra(all, i, arrow)
	}
}

func (p *ruleParser) explainAction(all []lexer.Token, i int, action string) {
	t := all[i]
	switch {
	case t.Value == "retry":
		p.diags.Report(diag.RouteSyntax, p.span(t), `"%s" takes no "retry": a bound belongs to a jump back to a phase`, action).
			Hintf(`leave "retry" out`)
	case t.Type == withToken && action == "abort":
		p.diags.Report(diag.RouteSyntax, p.span(t), `"abort" takes no "with"`).Hintf(`write the text right after it: abort "why"`)
	case t.Type == withToken:
		p.diags.Report(diag.RouteSyntax, p.span(t), `"%s" takes no "with": only a phase can be handed a text`, action).
			Hintf(`leave "with" out`)
	case t.Type == whenToken:
		p.misplacedWhen(t)
	case action == "abort" && all[i-1].Type != stringToken:
		p.diags.Report(diag.RouteSyntax, p.rest(t), `the text of "abort" stands in quotes`).Hintf(`write abort "why"`)
	default:
		p.extra(t)
	}
}

// explainExtra words what cannot follow a phase.
func (p *ruleParser) explainExtra(all []lexer.Token, i, arrow int) {
	t := all[i]
	switch {
	case t.Type == whenToken:
		p.misplacedWhen(t)
	case t.Value == "retry":
		p.diags.Report(diag.RouteSyntax, p.span(t), `a second "retry"`).Hintf("a rule has one bound")
	case t.Type == stringToken:
		p.diags.Report(diag.RouteSyntax, p.span(t), `a text is handed on by "with"`).Hintf("write with %s", t.Value)
	case t.Type == intToken && i == arrow+2:
		p.diags.Report(diag.RouteSyntax, p.span(t), `a count stands after "retry"`).Hintf("write retry %s", t.Value)
	default:
		words := []string{"retry", "with"}
		if i > arrow+2 {
			words = []string{"with"}
		}
		if near := diag.Suggest(t.Value, words); near != "" {
			p.diags.Report(diag.RouteSyntax, p.span(t), `"%s" is not expected here: %s was`, show(t), oneOf(append(words, "the end of the rule"))).
				Hintf("did you mean %q?", near)
			return
		}
		p.extra(t)
	}
}

func (p *ruleParser) extra(t lexer.Token) {
	p.diags.Report(diag.RouteSyntax, p.span(t), `"%s" is not expected here: the rule ends before it`, show(t)).
		Hintf("a line is one rule; a comment begins with //")
}

func (p *ruleParser) misplacedWhen(t lexer.Token) {
	p.diags.Report(diag.RouteSyntax, p.span(t), `"when" stands before "->"`).
		Hintf("the order is: on TRIGGER when CONDITION -> PHASE retry N with TEXT")
}

func (p *ruleParser) reserved(word diag.Fragment) {
	d := p.diags.Report(diag.RouteSyntax, word.Whole(), `"%s" is a word of the language and no phase`, word.Text)
	d.Hintf("name a phase, next, finish or abort")
}

func (p *ruleParser) suggest(d *diag.Diagnostic, t lexer.Token, words []string) {
	if near := diag.Suggest(t.Value, words); near != "" {
		d.Hintf("did you mean %q?", near)
	}
}

// rest is the span from a token to the end of the rule.
func (p *ruleParser) rest(t lexer.Token) diag.Span {
	start, end := trim(p.frag.Text, t.Pos.Offset, len(p.frag.Text))
	return p.frag.Span(start, end)
}

// arrowLike widens the span of a token to the characters that stand right after it and belong to the same
// would-be arrow.
func (p *ruleParser) arrowLike(all []lexer.Token, i int) diag.Span {
	start, end := all[i].Pos.Offset, all[i].Pos.Offset+len(all[i].Value)
	for i++; i < len(all) && all[i].Pos.Offset == end && all[i].Type == otherToken && all[i-1].Type == otherToken; i++ {
		end += len(all[i].Value)
	}
	return p.frag.Span(start, end)
}

// numberLike is the span of what stands in the place of a count, a sign and its digits together.
func (p *ruleParser) numberLike(all []lexer.Token, i int) diag.Span {
	t := all[i]
	switch {
	case t.EOF():
		return p.span(all[i-1])
	case t.Type == otherToken && i+1 < len(all) && all[i+1].Type == intToken:
		return p.frag.Span(t.Pos.Offset, all[i+1].Pos.Offset+len(all[i+1].Value))
	}
	return p.span(t)
}

// show is a token as messages show it, without its own quotes.
func show(t lexer.Token) string {
	if t.EOF() {
		return "end of the rule"
	}
	return strings.Trim(t.Value, "\"'` ")
}

// oneOf lists words for a message: a, b or c.
func oneOf(words []string) string {
	if len(words) == 1 {
		return words[0]
	}
	return strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
}

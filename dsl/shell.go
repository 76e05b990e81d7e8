package dsl

// Templates are not carried out in a shell string: a value would become code there. Since {{ }} has a
// meaning to some programs (docker's --format), it is only refused when what it holds is one of our names.

import (
	"slices"
	"strings"

	"foundry/diag"
)

// FindInShell reports each {{ }} in a shell string that names something a template would know.
func FindInShell(f diag.Fragment, s *Scope) diag.List {
	var found diag.List
	for at := 0; ; {
		open := strings.Index(f.Text[at:], "{{")
		if open < 0 {
			return found
		}
		open += at
		end := strings.Index(f.Text[open+2:], "}}")
		if end < 0 {
			return found
		}
		end += open + 2
		inside := strings.TrimSpace(f.Text[open+2 : end])
		if name := leadingName(inside); s.knows(name, inside) {
			start, stop := trim(f.Text, open+2, end)
			known, ok := s.putRight(f.Slice(start, stop), &found)
			if !ok {
				at = end + 2
				continue
			}
			inside = known
			env := envName(inside)
			found.Report(diag.TemplateInShell, f.Span(open, end+2), "%q stays as it is in a shell string: a value in it could become a command", f.Text[open:end+2]).
				Hintf(`write env: {%s: "{{%s}}"} and "$%s" in the command`, env, strings.ReplaceAll(inside, `"`, `'`), env)
		}
		at = end + 2
	}
}

// putRight reports the names in an expression that are not there, and gives it with those that were most likely
// meant. It is false when one has no likeness: then there is nothing yet that could be handed over.
func (s *Scope) putRight(f diag.Fragment, found *diag.List) (string, bool) {
	_, bad := compile(f, s, nil, inStrict)
	text, ok := f.Text, true
	for _, d := range slices.Backward(bad.Sorted()) {
		if d.Rule != diag.UnknownParam && d.Rule != diag.UnknownField && d.Rule != diag.TemplateUnknown {
			continue
		}
		n := found.Report(d.Rule, d.Span, "%s", d.Message)
		n.Hint, n.Notes = d.Hint, d.Notes
		meant, near := strings.CutPrefix(d.Hint, `did you mean "`)
		from := strings.LastIndex(text, d.Span.Text())
		if ok = ok && near && from >= 0; ok {
			text = text[:from] + strings.TrimSuffix(meant, `"?`) + text[from+len(d.Span.Text()):]
		}
	}
	return text, ok
}

// leadingName is the name that an expression begins with.
func leadingName(inside string) string {
	end := strings.IndexFunc(inside, func(r rune) bool { return !isNameRune(r) })
	if end < 0 {
		return inside
	}
	return inside[:end]
}

func isNameRune(r rune) bool {
	return r == '_' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9'
}

// knows says whether a name inside {{ }} is meant for a template.
func (s *Scope) knows(name, inside string) bool {
	if name == "" {
		return false
	}
	rest := strings.TrimLeft(inside[len(name):], " \t")
	if rest != "" && (!strings.ContainsAny(rest[:1], ".[:+=!<>?&|") || rest[0] == '.' && inside[len(name)] != '.') {
		return false // a call of another language's function, or a word with a dash
	}
	if _, ok := s.variable(name); ok {
		return true
	}
	return name == "phases" || name != "item" && slices.Contains(placeNames, name)
}

// envName makes the name of a variable from an expression: PLAN_SUMMARY from envelope:plan.summary.
func envName(inside string) string {
	words := strings.FieldsFunc(inside, func(r rune) bool { return !isNameRune(r) })
	words = slices.DeleteFunc(words, func(w string) bool {
		return len(words) > 1 && (w == "phases" || w == "envelope" || w == "params" || w == "outputs")
	})
	if len(words) == 0 {
		return "VALUE"
	}
	return strings.ToUpper(strings.Join(words[:min(len(words), 3)], "_"))
}

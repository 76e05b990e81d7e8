package graph

import (
	"strings"

	"foundry/diag"
	"foundry/schema"
)

// This file finds the mistakes in shell texts that can be told without a shell: a quote that is never closed,
// and an operator with nothing after it.

func checkShell(list *diag.List, t schema.Text) {
	text := t.Value
	if strings.Contains(text, "<<") { // the lines of a here-document are no shell
		return
	}
	if at, quote := openQuote(text); at >= 0 {
		list.Report(diag.ShellSyntax, t.Frag.Span(at, at+1), "the quote %s is never closed", quote).
			Hintf("close it, or write \\%s for the character itself", quote)
		return
	}
	end := strings.TrimRight(text, " \t\r\n")
	for _, op := range []string{"&&", "||", "|"} {
		if strings.HasSuffix(end, op) && !strings.HasSuffix(end, `\`+op) && !commented(end) {
			list.Report(diag.ShellSyntax, t.Frag.Span(len(end)-len(op), len(end)), "nothing follows %s", op).
				Hintf("write the command after it, or remove it")
			return
		}
	}
}

// openQuote finds a quote without an end; -1 when there is none. Quotes inside $( ) inside quotes open and
// close in pairs, so that counting them is right there too.
func openQuote(text string) (at int, quote string) {
	open := -1
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case c == '\\' && (open < 0 || text[open] == '"'):
			i++
		case c == '#' && open < 0 && (i == 0 || strings.ContainsRune(" \t\n;(&|", rune(text[i-1]))):
			next := strings.IndexByte(text[i:], '\n')
			if next < 0 {
				return -1, ""
			}
			i += next
		case c != '"' && c != '\'':
		case open < 0:
			open = i
		case text[open] == c:
			open = -1
		}
	}
	if open < 0 {
		return -1, ""
	}
	return open, text[open : open+1]
}

// commented says that the last line holds a comment, so that its end means nothing.
func commented(text string) bool {
	last := text[strings.LastIndexByte(text, '\n')+1:]
	return strings.HasPrefix(last, "#") || strings.Contains(last, " #")
}

package graph

import (
	"strings"

	"foundry/diag"
	"foundry/schema"
)

// This file finds the mistakes in shell texts that can be told without a shell: a quote or a block that is
// never closed, and an operator with nothing after it. Where it is not sure it says nothing.

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
	checkBlocks(list, t)
}

// closers are the words that open a block of the shell, and the word that each of them waits for.
var closers = map[string]string{"if": "fi", "case": "esac", "for": "done", "while": "done", "until": "done", "select": "done"}

// checkBlocks reports a block that is never closed, and a word that closes none.
func checkBlocks(list *diag.List, t schema.Text) {
	type block struct {
		word string
		at   int
	}
	var open []block
	for at, word := range commandWords(t.Value) {
		switch _, opens := closers[word]; {
		case opens:
			open = append(open, block{word, at})
		case word == "fi" || word == "esac" || word == "done":
			if len(open) == 0 || closers[open[len(open)-1].word] != word {
				list.Report(diag.ShellSyntax, t.Frag.Span(at, at+len(word)), "%q closes nothing here", word).
					Hintf("remove it, or open its block before it")
				return
			}
			open = open[:len(open)-1]
		}
	}
	if len(open) > 0 {
		b := open[len(open)-1]
		list.Report(diag.ShellSyntax, t.Frag.Span(b.at, b.at+len(b.word)), "%q is never closed", b.word).
			Hintf("end it with %s", closers[b.word])
	}
}

// onward are words after which a command begins.
var onward = map[string]bool{"if": true, "then": true, "elif": true, "else": true, "while": true, "until": true, "do": true, "{": true, "!": true, "time": true}

// commandWords yields each word that stands where a command begins, with its offset: only there are the words
// of the shell words of the shell. Quoted texts, comments and arithmetic are passed over.
func commandWords(text string) func(yield func(int, string) bool) {
	return func(yield func(int, string) bool) {
		var parens []bool // of each open parenthesis: it belongs to a word, as in $( )
		begins := true
		for i := 0; i < len(text); {
			c := text[i]
			switch {
			case c == '\\':
				i += 2
				begins = false
			case c == '"' || c == '\'':
				i = afterQuote(text, i)
				begins = false
			case c == '#' && (i == 0 || strings.ContainsRune(" \t\n;(&|", rune(text[i-1]))):
				end := strings.IndexByte(text[i:], '\n')
				if end < 0 {
					return
				}
				i += end
			case c == '\n' || c == ';' || c == '&' || c == '|':
				begins = true
				i++
			case c == ' ' || c == '\t' || c == '\r':
				i++
			case c == '(' && strings.HasPrefix(text[i:], "(("):
				end := strings.Index(text[i:], "))")
				if end < 0 {
					return
				}
				i += end + 2
				begins = false
			case c == '(':
				parens = append(parens, i > 0 && text[i-1] == '$')
				begins = true
				i++
			case c == ')':
				// The end of a pattern of case, or of f(), is followed by a command; that of $( ) is not.
				begins = len(parens) == 0 || text[i-1] == '('
				if len(parens) > 0 {
					parens = parens[:len(parens)-1]
				}
				i++
			default:
				end := i
				for end < len(text) && !endsWord(text[end]) {
					end++
				}
				word := text[i:end]
				pattern := end < len(text) && text[end] == ')' && len(parens) == 0
				if begins && !pattern && !yield(i, word) {
					return
				}
				begins = begins && onward[word]
				i = max(end, i+1)
			}
		}
	}
}

// endsWord says of a byte that no word goes on over it.
func endsWord(c byte) bool {
	switch c {
	case ' ', '\t', '\r', '\n', ';', '&', '|', '(', ')', '"', '\'', '\\':
		return true
	}
	return false
}

// afterQuote is the offset behind the quoted text that begins at i.
func afterQuote(text string, i int) int {
	for j := i + 1; j < len(text); j++ {
		switch {
		case text[j] == '\\' && text[i] == '"':
			j++
		case text[j] == text[i]:
			return j + 1
		}
	}
	return len(text)
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

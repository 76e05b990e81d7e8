package dsl

import (
	"sync"

	"github.com/alecthomas/participle/v2"
	"github.com/alecthomas/participle/v2/lexer"
)

// The grammar of one rule. participle builds the parser from the tags and prints the same grammar for the
// documentation, so that the two cannot differ.
//
// The lexer has three states. Root reads the words of a rule; "when" enters Cond, which takes everything up
// to the first arrow outside quotes as text, and "with" enters Rest, which takes everything to the end. What
// stands in Cond and Rest is expr's business, so the lexer knows no more of it than quotes and comments.

type ruleNode struct {
	Tokens []lexer.Token

	Trigger string    `parser:"'on' @( 'pass' | 'reject' | 'fail' | 'timeout' | 'skip' | 'any' )"`
	When    *exprNode `parser:"( 'when' @@ )? '->'"`
	Goto    *gotoNode `parser:"( @@"`
	Next    *wordNode `parser:"| @@"`
	Abort   *stopNode `parser:"| @@ )"`
}

type gotoNode struct {
	Target *idNode   `parser:"@@"`
	Retry  *intNode  `parser:"( 'retry' @@ )?"`
	With   *exprNode `parser:"( 'with' @@ )?"`
}

type idNode struct {
	Pos  lexer.Position
	Name string `parser:"@PhaseId"`
}

type intNode struct {
	Pos  lexer.Position
	Text string `parser:"@Int"`
}

type wordNode struct {
	Pos  lexer.Position
	Word string `parser:"@( 'next' | 'finish' )"`
}

type stopNode struct {
	Pos     lexer.Position
	Word    string     `parser:"@'abort'"`
	Message *quoteNode `parser:"@@?"`
}

type quoteNode struct {
	Pos  lexer.Position
	Text string `parser:"@String"`
}

// exprNode keeps the tokens of an expression: the parser has no use for what is between them.
type exprNode struct {
	Tokens []lexer.Token
	Text   []string `parser:"@( Text | String )+"`
}

// A string in " or ' ends on its line. ParseRule has made sure that each quote has its other end before the
// lexer sees it, so that it never looks through the rest of a text in vain.
const quotedPattern = `"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|` + "`[^`]*`"

// Rule names that begin in lower case are read and dropped.
var (
	commentToken = lexer.Rule{Name: "comment", Pattern: `//[^\n]*`}
	stringToken  = lexer.Rule{Name: "String", Pattern: quotedPattern}
	textToken    = lexer.Rule{Name: "Text", Pattern: "[^\"'`/-]+|(?s:.)"}
)

type routeGrammar struct {
	parser *participle.Parser[ruleNode]
	tokens map[string]lexer.TokenType
}

// grammar builds the parser on first use: it costs about as much as parsing a few rules, which a command
// that reads no pipeline should not pay.
var grammar = sync.OnceValue(func() *routeGrammar {
	definition := lexer.MustStateful(lexer.Rules{
		"Root": {
			commentToken,
			{Name: "space", Pattern: `\s+`},
			{Name: "When", Pattern: `when\b`, Action: lexer.Push("Cond")},
			{Name: "With", Pattern: `with\b`, Action: lexer.Push("Rest")},
			{Name: "Word", Pattern: `(?:on|pass|reject|fail|timeout|skip|any|retry|next|finish|abort)\b`},
			{Name: "PhaseId", Pattern: `[\p{L}_][\p{L}\p{N}_]*(?:-[\p{L}\p{N}_]+)*`},
			{Name: "Int", Pattern: `[0-9][0-9A-Za-z_.]*`},
			{Name: "Arrow", Pattern: `->`},
			stringToken,
			{Name: "Other", Pattern: `(?s:.)`},
		},
		"Cond": {
			commentToken,
			{Name: "Then", Pattern: `->`, Action: lexer.Pop()},
			stringToken,
			textToken,
		},
		"Rest": {commentToken, stringToken, textToken},
	})
	return &routeGrammar{
		parser: participle.MustBuild[ruleNode](participle.Lexer(definition)),
		tokens: definition.Symbols(),
	}
})

package dsl

import (
	"sync"

	"github.com/alecthomas/participle/v2"
	"github.com/alecthomas/participle/v2/lexer"
)

// The grammar of one rule. participle builds the parser from the tags and prints the same grammar for the
// documentation, so that the two cannot differ. The tokens are those of rule_lexer.go.

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

// exprNode keeps the tokens of an expression. Nothing else is captured; the second field is there for its tag.
type exprNode struct {
	Tokens []lexer.Token
	Parts  struct{} `parser:"( Text | String )+"`
}

// grammar builds the parser on first use: it costs about as much as parsing a few rules, which a command
// that reads no pipeline should not pay.
var grammar = sync.OnceValue(func() *participle.Parser[ruleNode] {
	return participle.MustBuild[ruleNode](participle.Lexer(ruleTokens{}))
})

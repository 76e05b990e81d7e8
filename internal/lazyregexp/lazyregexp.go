// Package lazyregexp has regular expressions that are compiled when they are needed first: a start of the program needs
// none, and all of them together would cost it more than the rest.
package lazyregexp

import (
	"regexp"
	"sync"
)

// New is what returns the expression. Several goroutines may call it, and it panics when text is no regular expression.
func New(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}

package lsp

import (
	"io"

	"foundry/diag"
	"foundry/graph"
	"foundry/schema"
)

// Config is what the server needs of its caller, who may read files and knows the rest of the program.
type Config struct {
	In      io.Reader
	Out     io.Writer // nothing but messages is written to it
	Log     io.Writer // what a person may want to know who looks for a mistake
	Version string    // of the program, "" when it has none
	Words   Vocabulary

	// Open makes a project of a text. path is the absolute path of its file, "" when it has none. unsaved returns
	// the text of another file that the editor has open. The text may be broken; the project is made all the same.
	Open func(path, text string, unsaved func(path string) (text string, open bool)) Project
}

// Vocabulary is the words that other packages own.
type Vocabulary struct {
	schema.Vocabulary
	Functions []Word // of expressions
	Triggers  []Word // of rules: after which outcome
	Actions   []Word // of rules: what is done, other than a jump
}

// Word is a word of the language. Usage is an example of it, Doc one line; either may be empty.
type Word struct{ Name, Usage, Doc string }

// Project is a pipeline file, or a file of tests, with everything that it names. It is used by one goroutine.
type Project struct {
	Source *diag.Source // of the text
	Broken bool         // not even the YAML could be read
	Tests  bool         // it is a file of tests
	Names  *graph.Catalogue
	Root   string                   // the directory that names of sources are relative to
	Uses   func(path string) bool   // whether it has read the file at an absolute path
	Lint   func() []diag.Diagnostic // every finding that is not silenced, in order; it may be slow
}

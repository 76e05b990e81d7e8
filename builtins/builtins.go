// Package builtins owns the agents and pipelines that ship with Foundry: one pipeline file, written in the
// language that users have, so that what ships can be read, ejected and shadowed like anything else.
package builtins

import (
	"embed"
	"io/fs"
)

// Name is the file name under which findings point into the text of YAML.
const Name = "builtin/builtins.yaml"

//go:embed builtins.yaml
var text string

// YAML is the text of the builtin pipeline file. It is laid out to be copied from: each definition is a
// block of its own at two blanks of indentation, the comments above it belong to it, and blank lines
// stand between definitions.
func YAML() string { return text }

//go:embed demo
var demo embed.FS

// Demo is the repository of `foundry demo`, each file under its name with ".txt" behind it.
func Demo() fs.FS {
	files, err := fs.Sub(demo, "demo")
	if err != nil {
		panic("BUG: the demo is not embedded: " + err.Error())
	}
	return files
}

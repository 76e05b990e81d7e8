// Package builtins owns the agents and pipelines that ship with Foundry: one pipeline file, written in the
// language that users have, so that what ships can be read, ejected and shadowed like anything else.
package builtins

import _ "embed"

// Name is the file name under which findings point into the text of YAML.
const Name = "builtin/builtins.yaml"

//go:embed builtins.yaml
var text string

// YAML is the text of the builtin pipeline file. It is laid out to be copied from: each definition is a
// block of its own at two blanks of indentation, the comments above it belong to it, and blank lines
// stand between definitions.
func YAML() string { return text }

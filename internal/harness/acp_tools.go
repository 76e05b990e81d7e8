package harness

import (
	"encoding/json"
	"slices"
	"strings"
)

// This file translates what an agent tells of its tools. Agents tell it in pieces, each in its own way: some name a
// tool before they know what it is to do, some only when it has ended.

// toolbox is what was told of the tools of one turn.
type toolbox struct {
	dir   string // where relative paths begin
	tools map[string]*toolUse
}

// toolUse is one use of a tool, as far as it is known.
type toolUse struct {
	Tool
	title string
	told  bool // the engine knows of it
	over  bool
}

// learn adds what a message tells of a tool. shown is what the tool shows besides.
func (b *toolbox) learn(m acpTool, shown json.RawMessage) *toolUse {
	u := b.tools[m.ID]
	if u == nil {
		u = &toolUse{Tool: Tool{ID: m.ID, Kind: Other}}
		b.tools[m.ID] = u
	}
	if name := m.Meta.Claude.Name + m.Meta.Name; name != "" {
		u.Name = name
	}
	if m.Title != "" {
		if u.Name == "" {
			u.Name, _, _ = strings.Cut(m.Title, " ")
		}
		u.title = m.Title
	}
	if m.Kind != "" {
		u.Kind = acpToolKind(m.Kind)
	}
	var paths []string
	for _, l := range m.Locations {
		if l.Path != "" && u.Kind != Execute { // beside a command it is where that runs, not what it writes
			paths = append(paths, l.Path)
		}
	}
	paths = append(paths, diffPaths(shown)...)
	if args := compact(m.Input); args != "" {
		u.Args = args
	}
	command, more := toolInput(m.Input)
	if u.Kind == Execute {
		if command == "" && u.Command == "" {
			command = m.Title
		}
		if command != "" {
			u.Command = command
		}
	} else {
		paths = append(paths, more...)
	}
	u.Paths = absolute(b.dir, append(u.Paths, paths...))
	return u
}

// vague says that it is not known yet what the tool is to do.
func (u *toolUse) vague() bool { return len(u.Paths) == 0 && (u.Command == "" || u.Command == u.Name) }

// acpToolKind translates the protocol's kinds. Leaving a mode is no tool like others, so it is Other.
func acpToolKind(kind string) ToolKind {
	switch kind {
	case "read", "search":
		return Read
	case "edit", "delete", "move":
		return Edit
	case "execute":
		return Execute
	case "fetch":
		return Fetch
	case "think":
		return Think
	}
	return Other
}

// toolInput finds the command and the paths in what a tool was called with, by the names that agents use for them.
func toolInput(raw json.RawMessage) (command string, paths []string) {
	var in map[string]json.RawMessage
	if json.Unmarshal(raw, &in) != nil {
		return "", nil
	}
	for _, name := range []string{"command", "cmd"} {
		var text string
		var words []string
		if json.Unmarshal(in[name], &text) == nil && text != "" {
			command = text
		} else if json.Unmarshal(in[name], &words) == nil && len(words) > 0 {
			command = strings.Join(words, " ")
		}
	}
	for _, name := range []string{"file_path", "filePath", "filepath", "path", "absolute_path", "notebook_path", "directory", "old_path", "new_path", "source", "destination"} {
		var text string
		if json.Unmarshal(in[name], &text) == nil && text != "" {
			paths = append(paths, text)
		}
	}
	var changes map[string]json.RawMessage // codex: a path each
	if json.Unmarshal(in["changes"], &changes) == nil {
		for path := range changes {
			paths = append(paths, path)
		}
		slices.Sort(paths)
	}
	return command, paths
}

// resultText is what a tool answered.
func resultText(m acpTool, content json.RawMessage) string {
	text := blockText(content)
	var plain string
	if json.Unmarshal(m.Output, &plain) == nil && plain != "" {
		text = plain
	}
	return text
}

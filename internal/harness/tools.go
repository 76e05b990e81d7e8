package harness

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
)

// This file reads what an agent says of a tool, by the names that agents use for tools and for their arguments.

// shownBytes is how many bytes of a tool's result, or of its arguments, are passed on for people.
const shownBytes = 200

// kindOf is the kind of a tool by its name. A name that is not known is Other, for which policy decides.
func kindOf(name string) ToolKind {
	switch strings.ToLower(name) {
	case "read", "read_file", "read_many_files", "glob", "grep", "ls", "list", "list_directory", "search_file_content", "notebookread", "view":
		return Read
	case "write", "edit", "multiedit", "notebookedit", "write_file", "replace", "patch", "apply_patch", "create":
		return Edit
	case "bash", "bashoutput", "killshell", "killbash", "shell", "exec_command", "run_shell_command", "execute", "monitor":
		return Execute
	case "webfetch", "websearch", "web_fetch", "google_web_search", "web_search", "fetch":
		return Fetch
	case "todowrite", "todoread", "update_plan", "taskcreate", "taskget", "tasklist", "taskupdate", "taskoutput", "taskstop", "save_memory":
		return Think
	}
	return Other
}

// toolNamed describes the use of a tool by its name and its arguments. Relative paths begin at dir.
func toolNamed(id, name string, input json.RawMessage, dir string) Tool {
	t := Tool{ID: id, Name: name, Kind: kindOf(name), Args: compact(input)}
	var in map[string]json.RawMessage
	if json.Unmarshal(input, &in) != nil {
		return t
	}
	for _, key := range []string{"command", "cmd"} {
		var text string
		var words []string
		switch {
		case json.Unmarshal(in[key], &text) == nil && text != "":
			t.Command = text
		case json.Unmarshal(in[key], &words) == nil && len(words) > 0:
			t.Command = strings.Join(words, " ")
		}
	}
	if t.Kind == Execute {
		return t // a path beside a command is where it runs, not what it writes
	}
	for _, key := range []string{"file_path", "filePath", "path", "absolute_path", "notebook_path"} {
		var text string
		if json.Unmarshal(in[key], &text) == nil && text != "" {
			t.Paths = append(t.Paths, text)
		}
	}
	t.Paths = absolute(dir, t.Paths)
	return t
}

// compact is JSON without blanks between its parts; "" when it says nothing.
func compact(raw json.RawMessage) string {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil || b.String() == "{}" || b.String() == "null" {
		return ""
	}
	return b.String()
}

// absolute makes paths absolute and clean, each once.
func absolute(dir string, paths []string) []string {
	var out []string
	for _, p := range paths {
		if !filepath.IsAbs(p) {
			p = filepath.Join(dir, p)
		}
		if p = filepath.Clean(p); !slices.Contains(out, p) {
			out = append(out, p)
		}
	}
	return out
}

// saying is a tool's use in a few words for people: its command, else its paths, else its name.
func (t Tool) saying() string {
	switch {
	case t.Command != "":
		return shown(t.Name + ": " + t.Command)
	case len(t.Paths) > 0:
		return t.Name + " " + strings.Join(t.Paths, ", ")
	}
	return t.Name
}

// shown is the beginning of a text, on one line.
func shown(text string) string {
	text = strings.Join(strings.Fields(cleanText(text)), " ")
	if len(text) > shownBytes {
		text = strings.ToValidUTF8(text[:shownBytes], "") + "…"
	}
	return text
}

package fakemodel

import (
	"fmt"
	"net/http"
	"path"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Request is what a script sees of a request.
type Request struct {
	Model    string
	Tools    []string // the names of the tools on offer
	Messages []Message
	offered  []tool
}

// Message is one message of a conversation.
type Message struct {
	Role    string // user, assistant, tool, or another
	Text    string
	Results []string // what tools answered
}

// Prompt is the newest words of the user that no tool has answered.
func (r Request) Prompt() string {
	for i := len(r.Messages) - 1; i >= 0; i-- {
		if m := r.Messages[i]; m.Role == "user" && strings.TrimSpace(m.Text) != "" && len(m.Results) == 0 {
			return m.Text
		}
	}
	return ""
}

// Results are what tools answered since the newest words of the user.
func (r Request) Results() []string {
	var out []string
	for i := len(r.Messages) - 1; i >= 0; i-- {
		m := r.Messages[i]
		if m.Role == "user" && strings.TrimSpace(m.Text) != "" && len(m.Results) == 0 {
			break
		}
		out = append(append([]string(nil), m.Results...), out...)
	}
	return out
}

// Answer is what the model answers.
type Answer struct {
	Text     string
	Call     Call          // after the text; the zero Call is none
	Truncate bool          // the answer was cut off by the limit of tokens
	Slow     time.Duration // so long it takes until the text comes
	HangUp   bool          // the connection breaks in the middle of the text

	Status  int               // not 0: refused with this HTTP status
	Headers map[string]string // of a refusal
}

// Call is the use of a tool: a file is written, or a command run, with whichever tool of the agent does that.
type Call struct {
	Write   string // the path of a file
	Content string
	Shell   string
	Beyond  bool // the command is to run outside of the agent's sandbox
}

var marker = regexp.MustCompile(`\[\[(write|bash|beyond|slow|error|truncate|hangup|say):?([^\]|]*)(?:\|([^\]]*))?\]\]`)

// Markers answers by what the newest prompt has in it:
//
//	[[write:PATH|CONTENT]]  the file is written, then comes a report
//	[[bash:COMMAND]]        the command is run, then comes a report
//	[[beyond:COMMAND]]      the same, outside of the agent's sandbox where it has one
//	[[slow:SECONDS]]        the report takes so long
//	[[error:STATUS|N]]      the request is refused, with N as Retry-After where there is one
//	[[truncate]]            a report that is cut off
//	[[hangup]]              the connection breaks in the middle of the report
//	[[say:TEXT]]            the text as it stands
//
// A report is an envelope that tells what tools answered and how many prompts with a marker the conversation has.
func Markers(r Request) Answer {
	turns := 0
	for _, m := range r.Messages {
		if m.Role == "user" && marker.MatchString(m.Text) {
			turns++
		}
	}
	report := func(what string) string {
		return fmt.Sprintf("All done.\n\n```json\n{\"status\": \"success\", \"summary\": %q, \"user_turns\": %d}\n```\n", what, turns)
	}
	all := marker.FindAllStringSubmatch(r.Prompt(), -1)
	if len(all) == 0 {
		return Answer{Text: report("no marker")}
	}
	m := all[len(all)-1]
	switch m[1] {
	case "error":
		status, err := strconv.Atoi(m[2])
		if err != nil {
			status = http.StatusInternalServerError
		}
		a := Answer{Status: status}
		if m[3] != "" {
			a.Headers = map[string]string{"Retry-After": m[3]}
		}
		return a
	case "slow":
		seconds, _ := strconv.Atoi(m[2])
		return Answer{Slow: time.Duration(seconds) * time.Second, Text: report("slow")}
	case "truncate":
		return Answer{Text: strings.TrimSuffix(report("cut"), "}\n```\n"), Truncate: true}
	case "hangup":
		return Answer{Text: report("hung up"), HangUp: true}
	case "say":
		return Answer{Text: m[2]}
	}
	if results := r.Results(); len(results) > 0 {
		return Answer{Text: report(results[len(results)-1])}
	}
	if m[1] == "write" {
		return Answer{Text: "I will write.", Call: Call{Write: m[2], Content: m[3]}}
	}
	return Answer{Text: "I will run it.", Call: Call{Shell: m[2], Beyond: m[1] == "beyond"}}
}

// tool is a tool on offer.
type tool struct {
	name     string
	custom   bool // it takes a text, not an object
	props    object
	required []string
}

func toolFrom(name, kind string, schema any) tool {
	s, _ := schema.(object)
	t := tool{name: name, custom: kind == "custom"}
	t.props, _ = s["properties"].(object)
	for _, r := range list(s["required"]) {
		t.required = append(t.required, text(r))
	}
	return t
}

// call is a Call in the words of one agent's tool.
type call struct {
	name string
	args object
	raw  string // of a custom tool
}

var (
	writers = []string{"Write", "write", "write_file", "Create", "create", "create_file", "write_to_file"}
	shells  = []string{"Bash", "bash", "exec_command", "shell_command", "shell", "local_shell", "run_shell_command", "execute_command", "Execute"}
)

// fit finds a tool that does what the call wants. Without one for writing a shell does it.
func (c Call) fit(offered []tool) *call {
	find := func(names ...string) (tool, bool) {
		for _, name := range names {
			for _, t := range offered {
				if t.name == name {
					return t, true
				}
			}
		}
		return tool{}, false
	}
	if c.Write != "" {
		if t, ok := find(writers...); ok {
			return &call{name: t.name, args: t.writing(c)}
		}
		if t, ok := find("apply_patch"); ok {
			patch := "*** Begin Patch\n*** Add File: " + c.Write + "\n+" + strings.ReplaceAll(strings.TrimSuffix(c.Content, "\n"), "\n", "\n+") + "\n*** End Patch\n"
			if t.custom {
				return &call{name: t.name, raw: patch}
			}
			return &call{name: t.name, args: object{"input": patch}}
		}
		c.Shell = fmt.Sprintf("mkdir -p '%s' && printf '%%s' '%s' > '%s'", path.Dir(c.Write), strings.ReplaceAll(c.Content, "'", `'\''`), c.Write)
	}
	if c.Shell == "" {
		return nil
	}
	t, ok := find(shells...)
	if !ok {
		return nil
	}
	return &call{name: t.name, args: t.running(c)}
}

func (t tool) writing(c Call) object {
	args := object{}
	for key := range t.props {
		switch key {
		case "file_path", "filePath", "path", "absolute_path":
			args[key] = c.Write
		case "content", "file_text":
			args[key] = c.Content
		}
	}
	return args
}

func (t tool) running(c Call) object {
	command := c.Shell
	args := object{}
	for key, schema := range t.props {
		s, _ := schema.(object)
		switch key {
		case "command", "cmd":
			args[key] = command
			if s["type"] == "array" {
				args[key] = []string{"bash", "-lc", command}
			}
		case "description":
			args[key] = "run a command"
		case "sandbox_permissions":
			if c.Beyond {
				args[key], args["justification"] = "require_escalated", "it has to be"
			}
		}
	}
	for _, key := range t.required {
		if _, ok := args[key]; ok {
			continue
		}
		s, _ := t.props[key].(object)
		switch s["type"] {
		case "boolean":
			args[key] = false
		case "number", "integer":
			args[key] = 30
		default:
			args[key] = "low"
		}
	}
	return args
}

// list, text and flat take JSON apart that may have any shape.
func list(v any) []any { l, _ := v.([]any); return l }

func text(v any) string { s, _ := v.(string); return s }

func flat(v any) string {
	switch x := v.(type) {
	case string:
		return x
	case []any:
		var parts []string
		for _, e := range x {
			if t := flat(e); t != "" {
				parts = append(parts, t)
			}
		}
		return strings.Join(parts, "\n")
	case object:
		if t, ok := x["text"].(string); ok {
			return t
		}
		return flat(x["content"])
	}
	return ""
}

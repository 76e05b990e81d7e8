package harness

import (
	"bytes"
	"encoding/json"
	"strings"
)

// This file has the messages of the Agent Client Protocol as far as Foundry reads them. They are read leniently:
// a field that is missing or new, or a kind of message that came after this was written, must not end a turn.

// acpMessage tells what a message is.
type acpMessage struct {
	Method string          `json:"method"`
	ID     json.RawMessage `json:"id"`
	Params json.RawMessage `json:"params"`
}

// acpStart is the answer to initialize.
type acpStart struct {
	ProtocolVersion int `json:"protocolVersion"`
	Info            struct {
		Version string `json:"version"`
	} `json:"agentInfo"`
	Capabilities struct {
		LoadSession bool `json:"loadSession"`
		Session     struct {
			Resume json.RawMessage `json:"resume"`
			Close  json.RawMessage `json:"close"`
		} `json:"sessionCapabilities"`
	} `json:"agentCapabilities"`
	AuthMethods []struct {
		Name        string `json:"name"`
		Description string `json:"description"`
	} `json:"authMethods"`
}

// acpState is the answer to session/new, session/load and session/resume: what can be chosen in a session. An
// agent has either modes and models or options for them, some have both.
type acpState struct {
	SessionID string `json:"sessionId"`
	Modes     *struct {
		Current string `json:"currentModeId"`
		Offered []struct {
			ID string `json:"id"`
		} `json:"availableModes"`
	} `json:"modes"`
	Models *struct {
		Current string `json:"currentModelId"`
		Offered []struct {
			ID   string `json:"modelId"`
			Name string `json:"name"`
		} `json:"availableModels"`
	} `json:"models"`
	Options []acpOption `json:"configOptions"`
}

// acpOption is a choice that an agent offers. Its values come in a list, or in groups with a list each.
type acpOption struct {
	ID       string     `json:"id"`
	Category string     `json:"category"`
	Current  any        `json:"currentValue"`
	Values   []acpValue `json:"options"`
}

type acpValue struct {
	Value  string     `json:"value"`
	Name   string     `json:"name"`
	Values []acpValue `json:"options"` // of a group
}

// choice is one thing that can be chosen in a session: its mode, its model, how long it thinks.
type choice struct {
	current string
	offered []acpValue // with Value and Name
	option  string     // the id of the option; "" when a method of its own sets it
	known   bool       // the agent offers such a choice
}

// has finds an offered value by its id, or else by its name.
func (c choice) has(want string) (string, bool) {
	for _, v := range c.offered {
		if v.Value == want {
			return v.Value, true
		}
	}
	for _, v := range c.offered {
		if strings.EqualFold(v.Name, want) {
			return v.Value, true
		}
	}
	return "", false
}

func (s acpState) option(category string) choice {
	for _, o := range s.Options {
		if o.Category != category {
			continue
		}
		current, _ := o.Current.(string)
		c := choice{current: current, option: o.ID, known: true}
		for _, v := range o.Values {
			if len(v.Values) > 0 {
				c.offered = append(c.offered, v.Values...)
			} else {
				c.offered = append(c.offered, v)
			}
		}
		return c
	}
	return choice{}
}

func (s acpState) mode() choice {
	if s.Modes == nil || len(s.Modes.Offered) == 0 {
		return s.option("mode")
	}
	c := choice{current: s.Modes.Current, known: true}
	for _, m := range s.Modes.Offered {
		c.offered = append(c.offered, acpValue{Value: m.ID, Name: m.ID})
	}
	return c
}

func (s acpState) model() choice {
	if c := s.option("model"); c.known || s.Models == nil {
		return c
	}
	c := choice{current: s.Models.Current, known: true}
	for _, m := range s.Models.Offered {
		c.offered = append(c.offered, acpValue{Value: m.ID, Name: m.Name})
	}
	return c
}

// acpReply is the answer to session/prompt.
type acpReply struct {
	StopReason string    `json:"stopReason"`
	Usage      *acpUsage `json:"usage"`
	Meta       struct {
		Quota struct {
			Tokens *struct {
				Input  *int `json:"input_tokens"`
				Output *int `json:"output_tokens"`
			} `json:"token_count"`
		} `json:"quota"`
	} `json:"_meta"`
}

// acpUsage is what a turn has spent. Agents differ in whether the input holds what came from a cache, and the output
// what was thought; the total says which.
type acpUsage struct {
	Input      int  `json:"inputTokens"`
	Output     int  `json:"outputTokens"`
	Total      int  `json:"totalTokens"`
	CacheRead  *int `json:"cachedReadTokens"`
	CacheWrite *int `json:"cachedWriteTokens"`
	Thought    *int `json:"thoughtTokens"`
}

// usage is in Foundry's terms, in which the input holds the cached part and the output the thoughts.
func (u acpUsage) usage() Usage {
	part := func(n *int) int {
		if n == nil {
			return 0
		}
		return *n
	}
	cached, thought := part(u.CacheRead)+part(u.CacheWrite), part(u.Thought)
	in, out := u.Input+cached, u.Output
	switch u.Total {
	case in + out + thought:
		out += thought
	case u.Input + u.Output + thought:
		in, out = u.Input, u.Output+thought
	case u.Input + u.Output:
		in = u.Input
	}
	return Usage{Input: &in, Output: &out, CacheRead: u.CacheRead, CacheWrite: u.CacheWrite}
}

// acpUpdate is a session/update. Which fields it has depends on Kind.
type acpUpdate struct {
	Kind      string          `json:"sessionUpdate"`
	MessageID string          `json:"messageId"`
	Content   json.RawMessage `json:"content"` // a block of a message, a list of what a tool shows
	acpTool
	Used int `json:"used"`
	Cost *struct {
		Amount   float64 `json:"amount"`
		Currency string  `json:"currency"`
	} `json:"cost"`
}

// acpTool is the use of a tool, as updates and permission requests tell it: each holds what is new.
type acpTool struct {
	ID        string `json:"toolCallId"`
	Title     string `json:"title"`
	Kind      string `json:"kind"`
	Status    string `json:"status"`
	Locations []struct {
		Path string `json:"path"`
	} `json:"locations"`
	Input  json.RawMessage `json:"rawInput"`
	Output json.RawMessage `json:"rawOutput"`
	Meta   struct {
		Name   string `json:"toolName"`
		Claude struct {
			Name string `json:"toolName"`
		} `json:"claudeCode"`
	} `json:"_meta"`
}

// acpPermission is a session/request_permission.
type acpPermission struct {
	ToolCall struct {
		acpTool
		Content json.RawMessage `json:"content"`
	} `json:"toolCall"`
	Options []struct {
		ID   string `json:"optionId"`
		Kind string `json:"kind"`
	} `json:"options"`
}

// option is the id of the first option of one of the kinds.
func (p acpPermission) option(kinds ...string) string {
	for _, kind := range kinds {
		for _, o := range p.Options {
			if o.Kind == kind {
				return o.ID
			}
		}
	}
	return ""
}

// blockText is the text of a content block, and of a list of them or of what a tool shows. Blocks of other types
// have none.
func blockText(raw json.RawMessage) string {
	raw = bytes.TrimSpace(raw)
	if len(raw) > 0 && raw[0] == '[' {
		var list []json.RawMessage
		if json.Unmarshal(raw, &list) != nil {
			return ""
		}
		var out []string
		for _, item := range list {
			if text := blockText(item); text != "" {
				out = append(out, text)
			}
		}
		return strings.Join(out, "\n")
	}
	var block struct {
		Type    string          `json:"type"`
		Text    string          `json:"text"`
		Content json.RawMessage `json:"content"`
	}
	if json.Unmarshal(raw, &block) != nil {
		return ""
	}
	if block.Type == "content" {
		return blockText(block.Content)
	}
	return block.Text
}

// diffPaths are the paths of the changes among what a tool shows.
func diffPaths(raw json.RawMessage) []string {
	var list []struct {
		Type string `json:"type"`
		Path string `json:"path"`
	}
	if json.Unmarshal(raw, &list) != nil {
		return nil
	}
	var out []string
	for _, d := range list {
		if d.Type == "diff" && d.Path != "" {
			out = append(out, d.Path)
		}
	}
	return out
}

package graph

import "foundry/schema"

// This file lends the text forms of values to those who make up what a run is given.

// ReplyText is what an agent answers when a file gives data as its reply: a text as it is, anything else as JSON.
func ReplyText(d schema.Data) string { return reply(d) }

// ParamText is the text form of a param's value as a file gives it; false when it is of another type than the
// param.
func (p *Param) ParamText(d schema.Data) (string, bool) { return paramText(p.Type, d) }

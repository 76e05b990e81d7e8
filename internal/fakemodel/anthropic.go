package fakemodel

import "encoding/json"

// anthropic is the API of Claude: POST /v1/messages.
var anthropic = dialect{
	read: func(in object) Request {
		var r Request
		for _, t := range list(in["tools"]) {
			m, _ := t.(object)
			r.offer(toolFrom(text(m["name"]), "", m["input_schema"]))
		}
		for _, x := range list(in["messages"]) {
			m, _ := x.(object)
			out := Message{Role: text(m["role"]), Text: text(m["content"])}
			for _, b := range list(m["content"]) {
				block, _ := b.(object)
				switch block["type"] {
				case "text":
					out.Text += text(block["text"]) + "\n"
				case "tool_result":
					out.Results = append(out.Results, flat(block["content"]))
				}
			}
			r.Messages = append(r.Messages, out)
		}
		return r
	},
	refuse: func(status int) object {
		kind := "api_error"
		switch status {
		case 429:
			kind = "rate_limit_error"
		case 529:
			kind = "overloaded_error"
		}
		return object{"type": "error", "error": object{"type": kind, "message": "the fake model refuses"}}
	},
	answer: func(p *reply) {
		stop := "end_turn"
		switch {
		case p.answer.Truncate:
			stop = "max_tokens"
		case p.call != nil:
			stop = "tool_use"
		}
		usage := object{"input_tokens": p.usage.Input - p.usage.CacheRead - p.usage.CacheWrite, "output_tokens": p.usage.Output,
			"cache_creation_input_tokens": p.usage.CacheWrite, "cache_read_input_tokens": p.usage.CacheRead}
		message := object{"id": "msg_" + p.id, "type": "message", "role": "assistant", "model": p.model, "stop_sequence": nil}
		if !p.stream {
			content := []object{{"type": "text", "text": p.answer.Text}}
			if p.call != nil {
				content = append(content, object{"type": "tool_use", "id": "toolu_" + p.id, "name": p.call.name, "input": p.call.args})
			}
			message["content"], message["stop_reason"], message["usage"] = content, stop, usage
			p.whole(message)
			return
		}
		event := func(kind string, v object) {
			v["type"] = kind
			p.event(kind, v)
		}
		start := object{}
		for k, v := range usage {
			start[k] = v
		}
		start["output_tokens"] = 1
		message["content"], message["stop_reason"], message["usage"] = []any{}, nil, start
		event("message_start", object{"message": message})
		event("content_block_start", object{"index": 0, "content_block": object{"type": "text", "text": ""}})
		if !p.text(func(t string) {
			event("content_block_delta", object{"index": 0, "delta": object{"type": "text_delta", "text": t}})
		}) {
			return
		}
		event("content_block_stop", object{"index": 0})
		if p.call != nil {
			args, _ := json.Marshal(p.call.args)
			event("content_block_start", object{"index": 1, "content_block": object{"type": "tool_use", "id": "toolu_" + p.id, "name": p.call.name, "input": object{}}})
			event("content_block_delta", object{"index": 1, "delta": object{"type": "input_json_delta", "partial_json": string(args)}})
			event("content_block_stop", object{"index": 1})
		}
		p.count()
		event("message_delta", object{"delta": object{"stop_reason": stop, "stop_sequence": nil}, "usage": object{"output_tokens": p.usage.Output}})
		event("message_stop", object{})
	},
}

func (r *Request) offer(t tool) {
	r.Tools = append(r.Tools, t.name)
	r.offered = append(r.offered, t)
}

package fakemodel

import (
	"encoding/json"
	"fmt"
)

func refuseOpenAI(status int) object {
	kind := "server_error"
	if status == 429 {
		kind = "rate_limit_exceeded"
	}
	return object{"error": object{"type": kind, "code": kind, "message": "the fake model refuses"}}
}

// responses is the newer API of OpenAI: POST /v1/responses.
var responses = dialect{
	refuse: refuseOpenAI,
	read: func(in object) Request {
		var r Request
		for _, t := range list(in["tools"]) {
			m, _ := t.(object)
			kind := text(m["type"])
			name := text(m["name"])
			if name == "" {
				name = kind
			}
			if kind != "namespace" {
				r.offer(toolFrom(name, kind, m["parameters"]))
			}
		}
		if s, ok := in["input"].(string); ok {
			r.Messages = append(r.Messages, Message{Role: "user", Text: s})
		}
		for _, x := range list(in["input"]) {
			m, _ := x.(object)
			switch text(m["type"]) {
			case "function_call_output", "custom_tool_call_output", "local_shell_call_output":
				r.Messages = append(r.Messages, Message{Role: "tool", Results: []string{flat(m["output"])}})
			case "message", "":
				r.Messages = append(r.Messages, Message{Role: text(m["role"]), Text: flat(m["content"])})
			}
		}
		return r
	},
	answer: func(p *reply) {
		status := "completed"
		if p.answer.Truncate {
			status = "incomplete"
		}
		message := object{"type": "message", "id": "msg_" + p.id, "role": "assistant", "status": status,
			"content": []object{{"type": "output_text", "text": p.answer.Text, "annotations": []any{}}}}
		out := []object{message}
		if p.call != nil {
			out = append(out, p.responsesCall())
		}
		response := func(status string, out []object) object {
			o := object{"id": "resp_" + p.id, "object": "response", "created_at": 1, "status": status, "model": p.model, "output": out, "error": nil, "incomplete_details": nil}
			if status == "incomplete" {
				o["incomplete_details"] = object{"reason": "max_output_tokens"}
			}
			if status != "in_progress" {
				o["usage"] = object{"input_tokens": p.usage.Input, "input_tokens_details": object{"cached_tokens": p.usage.CacheRead},
					"output_tokens": p.usage.Output, "output_tokens_details": object{"reasoning_tokens": 3}, "total_tokens": p.usage.Input + p.usage.Output}
			}
			return o
		}
		p.usage.CacheWrite = 0 // which this API does not tell
		if !p.stream {
			p.whole(response(status, out))
			return
		}
		serial := 0
		event := func(kind string, v object) {
			v["type"], v["sequence_number"] = kind, serial
			serial++
			p.event(kind, v)
		}
		at := object{"item_id": message["id"], "output_index": 0, "content_index": 0}
		with := func(key string, v any) object {
			o := object{key: v}
			for k, v := range at {
				o[k] = v
			}
			return o
		}
		event("response.created", object{"response": response("in_progress", []object{})})
		event("response.output_item.added", object{"output_index": 0, "item": object{"type": "message", "id": message["id"], "role": "assistant", "status": "in_progress", "content": []any{}}})
		event("response.content_part.added", with("part", object{"type": "output_text", "text": "", "annotations": []any{}}))
		if !p.text(func(t string) { event("response.output_text.delta", with("delta", t)) }) {
			return
		}
		event("response.output_text.done", with("text", p.answer.Text))
		event("response.content_part.done", with("part", message["content"].([]object)[0]))
		for i, item := range out {
			if i > 0 {
				event("response.output_item.added", object{"output_index": i, "item": item})
			}
			event("response.output_item.done", object{"output_index": i, "item": item})
		}
		p.count()
		event("response."+status, object{"response": response(status, out)})
	},
}

func (p *reply) responsesCall() object {
	if p.call.args == nil {
		return object{"type": "custom_tool_call", "id": "ctc_" + p.id, "call_id": "call_" + p.id, "name": p.call.name, "input": p.call.raw, "status": "completed"}
	}
	args, _ := json.Marshal(p.call.args)
	return object{"type": "function_call", "id": "fc_" + p.id, "call_id": "call_" + p.id, "name": p.call.name, "arguments": string(args), "status": "completed"}
}

// chat is the older API of OpenAI, which many providers speak: POST /v1/chat/completions.
var chat = dialect{
	refuse: refuseOpenAI,
	read: func(in object) Request {
		var r Request
		for _, t := range list(in["tools"]) {
			m, _ := t.(object)
			f, _ := m["function"].(object)
			r.offer(toolFrom(text(f["name"]), "", f["parameters"]))
		}
		for _, x := range list(in["messages"]) {
			m, _ := x.(object)
			out := Message{Role: text(m["role"]), Text: flat(m["content"])}
			if out.Role == "tool" {
				out.Results, out.Text = []string{out.Text}, ""
			}
			r.Messages = append(r.Messages, out)
		}
		return r
	},
	answer: func(p *reply) {
		p.usage.CacheWrite = 0 // which this API does not tell
		usage := object{"prompt_tokens": p.usage.Input, "completion_tokens": p.usage.Output, "total_tokens": p.usage.Input + p.usage.Output,
			"prompt_tokens_details": object{"cached_tokens": p.usage.CacheRead}, "completion_tokens_details": object{"reasoning_tokens": 3}}
		finish := "stop"
		var calls []object
		switch {
		case p.answer.Truncate:
			finish = "length"
		case p.call != nil:
			finish = "tool_calls"
			args := p.call.args
			if args == nil {
				args = object{"input": p.call.raw}
			}
			b, _ := json.Marshal(args)
			calls = []object{{"index": 0, "id": "call_" + p.id, "type": "function", "function": object{"name": p.call.name, "arguments": string(b)}}}
		}
		head := object{"id": "chatcmpl-" + p.id, "created": 1, "model": p.model}
		with := func(kind string, choices []object, u any) object {
			o := object{"object": kind, "choices": choices}
			for k, v := range head {
				o[k] = v
			}
			if u != nil {
				o["usage"] = u
			}
			return o
		}
		if !p.stream {
			m := object{"role": "assistant", "content": p.answer.Text}
			if calls != nil {
				m["tool_calls"] = calls
			}
			p.whole(with("chat.completion", []object{{"index": 0, "message": m, "finish_reason": finish}}, usage))
			return
		}
		delta := func(d object, finish any) {
			p.event("", with("chat.completion.chunk", []object{{"index": 0, "delta": d, "finish_reason": finish}}, nil))
		}
		delta(object{"role": "assistant", "content": ""}, nil)
		if !p.text(func(t string) { delta(object{"content": t}, nil) }) {
			return
		}
		if calls != nil {
			delta(object{"tool_calls": calls}, nil)
		}
		delta(object{}, finish)
		p.count()
		p.event("", with("chat.completion.chunk", []object{}, usage))
		fmt.Fprint(p.w, "data: [DONE]\n\n")
		p.flush()
	},
}

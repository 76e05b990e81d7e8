package fakemodel

import "encoding/json"

// gemini is the API of Google: POST /v1beta/models/MODEL:generateContent and :streamGenerateContent.
var gemini = dialect{
	refuse: func(status int) object {
		kind := "INTERNAL"
		if status == 429 {
			kind = "RESOURCE_EXHAUSTED"
		}
		return object{"error": object{"code": status, "status": kind, "message": "the fake model refuses"}}
	},
	read: func(in object) Request {
		var r Request
		for _, t := range list(in["tools"]) {
			m, _ := t.(object)
			for _, d := range list(m["functionDeclarations"]) {
				f, _ := d.(object)
				schema := f["parametersJsonSchema"]
				if schema == nil {
					schema = f["parameters"]
				}
				r.offer(toolFrom(text(f["name"]), "", schema))
			}
		}
		for _, x := range list(in["contents"]) {
			m, _ := x.(object)
			out := Message{Role: text(m["role"])}
			if out.Role == "model" {
				out.Role = "assistant"
			}
			for _, q := range list(m["parts"]) {
				part, _ := q.(object)
				if t := text(part["text"]); t != "" {
					out.Text += t + "\n"
				}
				if f, ok := part["functionResponse"].(object); ok {
					b, _ := json.Marshal(f["response"])
					out.Results = append(out.Results, string(b))
				}
			}
			r.Messages = append(r.Messages, out)
		}
		if c, ok := in["generationConfig"].(object); ok && c["responseMimeType"] == "application/json" {
			r.offered, r.Tools = nil, nil // a question of the agent's own, beside the conversation
			r.Messages = []Message{{Role: "user", Text: `[[say:{"reasoning":"fake","model_choice":"flash","next_speaker":"user","complexity_reasoning":"x","complexity_score":10}]]`}}
		}
		return r
	},
	answer: func(p *reply) {
		p.usage.CacheWrite = 0 // which this API does not tell
		usage := object{"promptTokenCount": p.usage.Input, "candidatesTokenCount": p.usage.Output, "totalTokenCount": p.usage.Input + p.usage.Output,
			"cachedContentTokenCount": p.usage.CacheRead}
		finish := "STOP"
		if p.answer.Truncate {
			finish = "MAX_TOKENS"
		}
		content := func(parts []object, last bool) object {
			c := object{"index": 0, "content": object{"role": "model", "parts": parts}}
			o := object{"candidates": []object{c}, "modelVersion": "fake", "responseId": "resp_" + p.id}
			if last {
				c["finishReason"], o["usageMetadata"] = finish, usage
			}
			return o
		}
		var end []object
		if p.call != nil {
			end = []object{{"functionCall": object{"name": p.call.name, "args": p.call.args, "id": "call_" + p.id}}}
		}
		if !p.stream {
			p.whole(content(append([]object{{"text": p.answer.Text}}, end...), true))
			return
		}
		if !p.text(func(t string) { p.event("", content([]object{{"text": t}}, false)) }) {
			return
		}
		if end == nil {
			end = []object{{"text": ""}}
		}
		p.count()
		p.event("", content(end, true))
	},
}

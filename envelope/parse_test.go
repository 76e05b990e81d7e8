package envelope

import (
	"strings"
	"testing"
)

func builtin(t testing.TB, name string) *Kind {
	t.Helper()
	k, ok := Builtin(name)
	if !ok {
		t.Fatalf("there is no kind %q", name)
	}
	return k
}

// reply is a case of Parse: what an agent wrote, and what must come of it.
type reply struct {
	name      string
	kind      string // "" is build
	text      string
	summary   string // accepted with this summary
	status    string // and this status; "" is success
	problem   string // or refused, with this in a problem
	truncated bool
	note      string // in a note
}

func (c reply) run(t *testing.T) {
	t.Parallel()
	if c.kind == "" {
		c.kind = "build"
	}
	k := builtin(t, c.kind)
	got := Parse(k, c.text, false)
	if got.Truncated != c.truncated {
		t.Errorf("truncated is %v: %+v", got.Truncated, got)
	}
	if (got.Envelope == nil) != (len(got.Problems) > 0) {
		t.Fatalf("neither accepted nor refused: %+v", got)
	}
	if c.problem != "" || c.truncated {
		if got.Envelope != nil {
			t.Fatalf("accepted %v", got.Envelope)
		}
		if all := joined(got.Problems); !strings.Contains(all, c.problem) {
			t.Errorf("problems are %q, want %q", all, c.problem)
		}
		return
	}
	if got.Envelope == nil {
		t.Fatalf("refused: %v", got.Problems)
	}
	if c.status == "" {
		c.status = "success"
	}
	if got.Envelope["summary"] != c.summary || got.Envelope["status"] != c.status {
		t.Errorf("got %q %q, want %q %q", got.Envelope["status"], got.Envelope["summary"], c.status, c.summary)
	}
	if notes := strings.Join(got.Notes, "\n"); !strings.Contains(notes, c.note) || c.note == "" && notes != "" {
		t.Errorf("notes are %q, want %q", notes, c.note)
	}
}

func joined(problems []Problem) string {
	var out []string
	for _, p := range problems {
		out = append(out, p.String())
	}
	return strings.Join(out, "\n")
}

func runReplies(t *testing.T, cases []reply) {
	t.Helper()
	t.Parallel()
	for _, c := range cases {
		t.Run(c.name, c.run)
	}
}

func TestFences(t *testing.T) {
	runReplies(t, []reply{
		{name: "json5 tag", text: "Done.\n\n```json5\n{\"status\":\"success\",\"summary\":\"parser split\"}\n```\n", summary: "parser split"},
		{name: "space before tag", text: "Done.\n``` json\n{\"status\":\"success\",\"summary\":\"space\"}\n```", summary: "space"},
		{name: "CRLF and info string", text: "```JSON title=\"report\"\r\n{\"status\":\"success\",\"summary\":\"crlf\"}\r\n```\r\n", summary: "crlf"},
		{name: "tildes", text: "~~~\n{\"status\":\"success\",\"summary\":\"tilde\"}\n~~~\n", summary: "tilde"},
		{name: "no closing fence", text: "```json\n{\"status\":\"success\",\"summary\":\"open\"}\n", summary: "open"},
		{name: "on the line of the fence", text: "```json {\"status\":\"success\",\"summary\":\"inline\"}\n```", summary: "inline"},
		{name: "code in a line", text: "see ```{\"status\":\"success\",\"summary\":\"code\"}```", summary: "code"},
		{name: "a closing fence too many", text: "```json\n{\"status\":\"success\",\"summary\":\"extra\"}\n```\n```\n", summary: "extra"},
		{name: "in a markdown fence", text: "````markdown\n# report\n```json\n{\"status\":\"success\",\"summary\":\"inner\"}\n```\n````\n", summary: "inner"},
		{name: "indented", text: "1. the report\n\n   ```json\n   {\"status\":\"success\",\"summary\":\"indented\"}\n   ```\n", summary: "indented"},
		{name: "byte order mark", text: "\ufeff{\"status\":\"success\",\"summary\":\"bom\"}", summary: "bom"},
		{name: "byte order mark in the fence", text: "```json\n\ufeff{\"status\":\"success\",\"summary\":\"bom\"}\n```", summary: "bom"},
		{name: "fence in a string", text: "The README now documents it.\n\n```json\n{\n  \"status\": \"success\",\n  \"summary\": \"Usage:\\n```sh\\nmake {all} }\\n```\\nand `}` is literal\"\n}\n```\nTell me if you want more.\n",
			summary: "Usage:\n```sh\nmake {all} }\n```\nand `}` is literal"},
		{name: "fence in a string with raw line breaks", text: "{\"status\":\"success\",\"summary\":\"a\n```\nb\"}", summary: "a\n```\nb", note: "repaired: raw line break"},
		{name: "braces and quotes in a string", text: `{"status":"success","summary":"use ` + "`print`" + ` and \"{\" then \\\"}"}`, summary: `use ` + "`print`" + ` and "{" then \"}`},
	})
}

func TestSeveralObjects(t *testing.T) {
	runReplies(t, []reply{
		{name: "the template first", text: "You asked for this shape:\n```json\n{\"status\":\"success\",\"summary\":\"<one line>\",\"artifacts\":[\"<path>\"]}\n```\nHere is my report:\n```json\n{\"status\":\"fail\",\"summary\":\"two tests still red\"}\n```",
			status: "fail", summary: "two tests still red", note: "JSON object 1 says status success, the one used says fail"},
		{name: "a file after the answer", text: "```json\n{\"status\":\"success\",\"summary\":\"added config\"}\n```\nFor reference the new file is\n```json\n{\"port\": 8080, \"debug\": false}\n```",
			summary: "added config", note: "2 JSON objects in the reply, number 1 was used"},
		{name: "a response after the answer", text: "{\"status\":\"success\",\"summary\":\"health\"}\nGET /health says {\"status\":\"ok\"}", summary: "health", note: "number 1 was used"},
		{name: "draft then final", text: "{\"status\":\"success\",\"summary\":\"draft\"}\nWait, the build broke.\n{\"status\":\"fail\",\"summary\":\"final\"}", status: "fail", summary: "final", note: "says status success"},
		{name: "draft then final with a wrong status", text: "{\"status\":\"success\",\"summary\":\"draft\"}\nWait, the build broke.\n{\"status\":\"failed\",\"summary\":\"final\"}", problem: `status: must be one of success, fail, blocked, got "failed"`},
		{name: "draft then final with a broken escape", text: "{\"status\":\"success\",\"summary\":\"draft\"}\nWait.\n{\"summary\":\"C:\\d\",\"status\":\"fail\"}", problem: `invalid escape \d`},
		{name: "draft then final with odd quotes", text: "{\"status\":\"success\",\"summary\":\"draft\"}\nWait.\n{\"summary\":\"a \"b\",\"status\":\"fail\"}", problem: "expected a comma"},
		{name: "broken then good", text: "{\"status\":\"success\",\"summary\":\"C:\\d\"}\nOnce more:\n{\"status\":\"success\",\"summary\":\"good\"}", summary: "good"},
		{name: "an object inside", text: `{"status":"fail","summary":"outer","extra":{"status":"success","summary":"inner"}}`, status: "fail", summary: "outer", note: "unknown keys ignored: extra"},
		{name: "an object inside a broken one", text: `{"status":"fail","summary":"\d","extra":{"status":"success","summary":"inner"}}`, problem: `invalid escape \d`},
		{name: "a list of one", text: `[{"status":"success","summary":"listed"}]`, summary: "listed"},
		{name: "a list of two", text: `[{"status":"fail","summary":"a"},{"status":"success","summary":"b"}]`, problem: "in a list"},
		{name: "a list of two after a draft", text: `{"status":"success","summary":"x"} [{"status":"fail","summary":"a"},{"status":"success","summary":"b"}]`, problem: "in a list"},
		{name: "objects of another kind in a list", text: `{"status":"success","summary":"x"} [{"port":1},{"port":2}]`, summary: "x"},
		{name: "a brace at the end", text: `I looked at {things}, [more] and f({"a": b}). {"status":"success","summary":"found"} Bye {`, truncated: true, problem: "ends inside an object"},
		{name: "prose with braces", text: `I looked at {things}, [more] and f({"a": b}). {"status":"success","summary":"found"} Bye {x}.`, summary: "found"},
		{name: "approvals that disagree", kind: "review", text: `{"status":"success","summary":"a","approved":true} {"status":"success","summary":"b","approved":false}`, summary: "b", note: "JSON object 1 says approved true, the one used says false"},
		{name: "an unknown key of any type", text: `{"status":"success","approved":[1],"summary":"a"} {"status":"success","summary":"b","approved":{}}`, summary: "b", note: "unknown keys ignored: approved"},
		{name: "only another object", text: `{"port": 8080}`, problem: "status: is missing, it must be one of success, fail, blocked"},
		{name: "prose", text: "All tests pass now.", problem: "there is no JSON object in the reply"},
		{name: "nothing", text: "", problem: "there is no JSON object in the reply"},
	})
}

func TestRepairs(t *testing.T) {
	runReplies(t, []reply{
		{name: "trailing comma", text: `{"status":"success","summary":"a, ] and , } stay","artifacts":["a.md",],"changed_files":[],}`, summary: "a, ] and , } stay", note: "repaired: trailing comma"},
		{name: "comments", text: "{\n  // all good\n  \"status\": \"success\", /* really */\n  \"summary\": \"url http://x.invalid//y stays\"\n}", summary: "url http://x.invalid//y stays", note: "repaired: comments"},
		{name: "raw line break and tab", text: "{\"status\":\"success\",\"summary\":\"line one\nline two\tTAB\"}", summary: "line one\nline two\tTAB", note: "repaired: raw line break"},
		{name: "bad escape", text: `{"status":"success","summary":"matches \d+ in C:\build\users"}`, problem: `invalid escape \d at byte 39 (near ,"summary":"matches \d+ in C:\bu), a backslash is written \\`},
		{name: "unicode escape without digits", text: `{"status":"success","summary":"C:\users"}`, problem: `invalid escape \u`},
		{name: "single quotes", text: `{'status': 'success', 'summary': None, 'ok': True}`, problem: "expected a key in double quotes at byte 1"},
		{name: "quotes inside", text: `{"status":"success","summary":"sent a note to the "owner", waiting"}`, problem: "expected a comma or the closing bracket at byte 51"},
		{name: "curly quotes", text: "{“status”: “success”, \"summary\": \"He said “done”\"}", problem: "found U+201C"},
		{name: "odd spaces", text: "{\u00a0\"status\":\"success\",\u200b\"summary\":\"odd spaces\"}", problem: "expected a key in double quotes at byte 1 (near {\u00a0\"status\":\"), found U+00A0"},
		{name: "two commas", text: `{"status":"success",,"summary":"x"}`, problem: "expected a key"},
		{name: "a comma only", text: `{"status":"success","artifacts":[,],"summary":"x"}`, problem: "expected a value"},
		{name: "no comma", text: `{"status":"success" "summary":"x"}`, problem: "expected a comma"},
		{name: "no colon", text: `{"status" "success"}`, problem: "expected a colon"},
		{name: "a hash is no comment", text: "{\"status\":\"success\", # ok\n\"summary\":\"x\"}", problem: "expected a key"},
	})
}

func TestTruncated(t *testing.T) {
	runReplies(t, []reply{
		{name: "in a string", text: `{"status":"success","summary":"rewrote the sched`, truncated: true},
		{name: "in a list", text: `{"status":"success","summary":"x","artifacts":["a"],"changed_files":["a"`, truncated: true},
		{name: "in an escape", text: `{"status":"success","summary":"x\u00`, truncated: true},
		{name: "in a character", text: "{\"status\":\"success\",\"summary\":\"caf\xc3", truncated: true},
		{name: "in a word", text: `{"status":"success","approved":tr`, truncated: true},
		{name: "in a number", text: `{"status":"success","n":-`, truncated: true},
		{name: "after the last comma", text: `{"status":"success",`, truncated: true},
		{name: "in a comment", text: `{"status":"success", /* and`, truncated: true},
		{name: "a later report begun", text: "```json\n{\"status\":\"success\",\"summary\":\"plan part\"}\n```\nFinal report:\n```json\n{\"status\":\"fail\",\"summary\":\"3 of 9 fil", truncated: true},
		{name: "a later fence begun", text: "```json\n{\"status\":\"success\",\"summary\":\"plan part\"}\n```\nFinal report:\n```json\n", truncated: true, problem: "inside a fence"},
		{name: "code begun", text: "{\"status\":\"success\",\"summary\":\"x\"}\n```\nfunc main", truncated: true, problem: "inside a fence"},
		{name: "a list begun", text: "[{\"status\":\"success\",\"summary\":\"x\"}", truncated: true, problem: "inside a list of objects"},
		{name: "reasoning begun", text: "{\"status\":\"success\",\"summary\":\"x\"}\n<think>\nno, wait", truncated: true, problem: "inside its reasoning"},
	})
}

func TestTruncatedByTheHarness(t *testing.T) {
	t.Parallel()
	got := Parse(builtin(t, "generic"), `{"status":"success","summary":"x"}`, true)
	if got.Envelope != nil || !got.Truncated || len(got.Problems) != 1 || got.Candidates != 1 {
		t.Errorf("got %+v", got)
	}
}

func TestReasoning(t *testing.T) {
	answer := `{"status":"fail","summary":"answer"}`
	draft := `{"status":"success","summary":"draft"}`
	accepted := func(name, text string) reply {
		return reply{name: name, text: text, status: "fail", summary: "answer"}
	}
	runReplies(t, []reply{
		accepted("a block before", "<think>\n"+draft+"\n</think>\n"+answer),
		accepted("a block after", answer+"\n<thinking>\n"+draft+"\n</thinking>\n"),
		accepted("on one line", "Hm. <reasoning>"+draft+"</reasoning> "+answer),
		accepted("other case, an attribute", "<Thinking effort=\"high\">"+draft+"</THINKING>"+answer),
		accepted("an open string inside", "<think>it said {\"status\": \"su</think>\n"+answer),
		accepted("a fence inside", "<think>\n```json\n"+draft+"\n</think>\n"+answer),
		accepted("nested", "<think>a <think>b</think>\n"+draft+"\n</think>\n"+answer),
		{name: "only a draft", text: "<think>\n" + draft + "\n</think>\nDone.", problem: "there is no JSON object"},
		{name: "the opening tag is lost", text: draft + "\n</think>\nDone.", problem: "there is no JSON object"},
		{name: "a tag in prose", text: "I removed the <think> tag. " + answer, status: "fail", summary: "answer"},
		{name: "a closing tag in prose", text: answer + " The </think> tag is gone.", status: "fail", summary: "answer"},
		{name: "a tag in a fence", text: "```xml\n<think>\n```\n" + answer, status: "fail", summary: "answer"},
		{name: "a tag in a string", text: `{"status":"success","summary":"<think> is parsed"}`, summary: "<think> is parsed"},
		{name: "another tag", text: "<thinker>\n" + answer, status: "fail", summary: "answer"},
	})
}

func TestBytes(t *testing.T) {
	runReplies(t, []reply{
		{name: "line separators", text: "{\"status\":\"success\",\"summary\":\"a\u2028b\u2029c\u0085d\"}", summary: "a\u2028b\u2029c\u0085d"},
		{name: "invalid UTF-8", text: "{\"status\":\"success\",\"summary\":\"caf\xe9 \xff\",\"artifacts\":[\"caf\xe9.md\"]}", problem: "invalid UTF-8 (0xE9) at byte 34"},
		{name: "invalid UTF-8 in prose", text: "caf\xe9: {\"status\":\"success\",\"summary\":\"x\"}", summary: "x"},
		{name: "half a pair in text", text: `{"status":"success","summary":"\ud83d cut"}`, summary: "\ufffd cut"},
		{name: "a pair", text: `{"status":"success","summary":"\ud83d\ude00"}`, summary: "😀"},
		{name: "half a pair, then another escape", text: `{"status":"success","summary":"\ud83d\u0041"}`, summary: "\ufffdA"},
		{name: "half a pair in a path", text: `{"status":"success","summary":"x","artifacts":["\ud83d.md"]}`, problem: "artifacts[0]: is not a path"},
		{name: "raw NUL", text: "{\"status\":\"success\",\"summary\":\"a\x00b\"}", problem: "control character U+0000"},
		{name: "NUL in a path", text: `{"status":"success","summary":"ok","changed_files":["b","a\u0000b"]}`, problem: "changed_files[1]: is not a path, it has a NUL"},
		{name: "an escaped key", text: `{"\u0073tatus":"success","summary":"x"}`, summary: "x"},
	})
}

func TestTypes(t *testing.T) {
	runReplies(t, []reply{
		{name: "string for bool", kind: "review", text: `{"status":"success","approved":"false"}`, problem: "approved: must be true or false, got a string"},
		{name: "null for bool", kind: "review", text: `{"status":"success","approved":null}`, problem: "approved: must be true or false, got null"},
		{name: "number for bool", kind: "review", text: `{"status":"success","approved":1}`, problem: "got a number"},
		{name: "no bool", kind: "review", text: `{"status":"success","summary":"x"}`, problem: "approved: is missing, it must be true or false"},
		{name: "key twice", kind: "review", text: `{"status":"success","approved":false,"findings":[],"approved":true}`, problem: "approved: the key stands there twice"},
		{name: "key twice by an escape", kind: "review", text: `{"status":"success","approved":false,"\u0061pproved":true}`, problem: "approved: the key stands there twice"},
		{name: "key twice, deep in what is ignored", text: `{"status":"success","extra":[{"a":1,"a":2}]}`, problem: "extra[0].a: the key stands there twice"},
		{name: "key in another case", kind: "review", text: `{"status":"success","approved":false,"Approved":true}`, problem: `Approved: the key is spelled "approved"`},
		{name: "key with a long s", kind: "review", text: `{"approved":false,"ſtatuſ":"success","findings":[]}`, problem: `ſtatuſ: the key is spelled "status"`},
		{name: "a number that is none", kind: "review", text: `{"status":"success","approved":true,"ratio":NaN}`, problem: "expected a value"},
		{name: "string for list", text: `{"status":"success","summary":"x","artifacts":"a.md, b.md","changed_files":"src/a.go"}`, problem: "artifacts: must be a list of paths, got a string\nchanged_files: must be a list of paths, got a string"},
		{name: "number in a list of paths", text: `{"status":"success","artifacts":["a",1]}`, problem: "artifacts[1]: must be a path from the repository root, got a number"},
		{name: "empty path", text: `{"status":"success","artifacts":[""]}`, problem: "artifacts[0]: is empty"},
		{name: "null for an optional field", text: `{"status":"success","summary":null}`, problem: "summary: must be a string, got null, leave it out instead"},
		{name: "deep in a list", kind: "review", text: `{"status":"success","approved":true,"findings":[{"requirement":"a","met":true},{"requirement":"b","met":"no"}]}`, problem: "findings[1].met: must be true or false, got a string"},
		{name: "missing deep in a list", kind: "review", text: `{"status":"success","approved":true,"findings":[{"requirement":"a"}]}`, problem: "findings[0].met: is missing"},
		{name: "wrong word", text: `{"status":"SUCCESS","summary":"x"}`, problem: `status: must be one of success, fail, blocked, got "SUCCESS"`},
		{name: "enum deep in a list", kind: "plan", text: `{"status":"success","steps":[{"id":"a","complexity":"huge"}]}`, problem: `steps[0].complexity: must be one of trivial, normal, complex, got "huge"`},
		{name: "list for object", text: `{"status":"blocked","blocked":[]}`, problem: "blocked: must be an object, got a list"},
	})
}

func TestManyProblemsAreCut(t *testing.T) {
	t.Parallel()
	text := `{"status":"success","artifacts":[` + strings.Repeat("1,", 99) + `1]}`
	got := Parse(builtin(t, "generic"), text, false)
	if len(got.Problems) != maxProblems+1 || got.Problems[maxProblems].Message != "and 80 more problems" {
		t.Errorf("got %d problems, the last %v", len(got.Problems), got.Problems[len(got.Problems)-1])
	}
}

func TestManyNotesAreCut(t *testing.T) {
	t.Parallel()
	text := strings.Repeat(`{"status":"fail","summary":"x"} `, 30) + `{"status":"success"`
	for c := 'a'; c <= 'z'; c++ {
		text += `,"` + string(c) + `":1`
	}
	got := Parse(builtin(t, "generic"), text+"}", false)
	all := strings.Join(got.Notes, "\n")
	if len(got.Notes) != 2+maxListed+1 || !strings.Contains(all, "h, i, j and 16 more\n") || !strings.HasSuffix(all, "and 20 more that disagree") {
		t.Errorf("%s", all)
	}
}

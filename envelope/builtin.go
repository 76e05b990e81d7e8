package envelope

// Builtins returns the kinds that ship, generic first.
func Builtins() []Kind {
	return []Kind{
		kind("generic"),
		kind("plan",
			Field{Name: "commit_message", Type: String, Doc: "one line for the commit of the plan"},
			Field{Name: "steps", Type: List, Of: Nested, Planned: true, Fields: []Field{
				{Name: "id", Type: String, Doc: "short_name"},
				{Name: "title", Type: String, Doc: "what the step does, in one line"},
				{Name: "detail", Type: String, Doc: "what has to be known to do it"},
				{Name: "needs", Type: List, Of: String, Doc: "id of a step that must be done before"},
				{Name: "complexity", Type: String, Enum: []string{"trivial", "normal", "complex"}},
				{Name: "files", Type: List, Of: Path},
			}},
			Field{Name: ChangeLimits, Type: List, Of: Nested, Planned: true, Fields: []Field{
				{Name: "quote", Type: String, Doc: "the sentence of the request that forbids a change, verbatim"},
				{Name: "paths", Type: List, Of: Path},
			}}),
		kind("build",
			Field{Name: "changed_files", Type: List, Of: Path, Doc: "every file created, changed or deleted, both names of a renamed one"},
			Field{Name: "commit_message", Type: String, Doc: "one line for the commit"}),
		kind("scout",
			Field{Name: "findings", Type: List, Of: String, Doc: "one finding, with the path and line that show it"}),
		kind("review",
			Field{Name: "approved", Type: Bool, Required: true},
			Field{Name: "findings", Type: List, Of: Nested, Fields: []Field{
				{Name: "requirement", Type: String, Required: true, Doc: "one requirement"},
				{Name: "met", Type: Bool, Required: true},
				{Name: "evidence", Type: String, Doc: "the path and line, or the output, that shows it"},
			}},
			Field{Name: "blocking", Type: List, Of: String, Doc: "what must be fixed before this can be approved"}),
		kind("document",
			Field{Name: "document_path", Type: Path},
			Field{Name: "documented_files", Type: List, Of: Path}),
	}
}

// The verdicts of a reviewer.
const (
	VerdictPass        = "pass"
	VerdictFail        = "fail"
	VerdictUnreachable = "unreachable" // it cannot be told, and another attempt would not help
)

// Review is what the reviewer of a phase answers. It is no kind that a file can name, and has none of the base fields.
func Review() *Kind {
	return &Kind{Name: "verdict", Fields: []Field{
		{Name: "verdict", Type: String, Enum: []string{VerdictPass, VerdictFail, VerdictUnreachable}, Required: true},
		{Name: "reason", Type: String, Required: true, Doc: "why, in a sentence or two; for a fail, what has to be done"},
		{Name: "evidence", Type: List, Of: String, Doc: "a path from the repository root, or the number of a call, such as call 3"},
	}}
}

// Builtin finds a kind that ships by its name.
func Builtin(name string) (*Kind, bool) {
	for _, k := range Builtins() {
		if k.Name == name {
			return &k, true
		}
	}
	return nil, false
}

func kind(name string, fields ...Field) Kind {
	return Kind{Name: name, Fields: append(baseFields(), fields...)}
}

// baseFields are the fields of every kind.
func baseFields() []Field {
	return []Field{
		{Name: "status", Type: String, Enum: []string{"success", "fail", "blocked"}, Required: true},
		{Name: "summary", Type: String, Doc: "what was done and what came of it, in a sentence or two"},
		{Name: "artifacts", Type: List, Of: Path},
		{Name: "notes_for_next_agent", Type: String, Doc: "what the next agent must know; may be empty"},
		{Name: "blocked", Type: Nested, Fields: []Field{
			{Name: "reason", Type: String, Doc: "only with status blocked: what is in the way"},
			{Name: "needs", Type: String, Doc: "only with status blocked: what would clear it"},
		}},
	}
}

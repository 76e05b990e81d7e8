package cli

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"foundry/diag"
	"foundry/dsl"
	"foundry/envelope"
	"foundry/gates"
	"foundry/internal/check"
	"foundry/internal/harness"
	"foundry/schema"
)

var update = flag.Bool("update", false, "rewrite the generated parts of the documentation")

// generatedPart is a part of a document that is made from a table of the program: "<!-- generated: WHAT -->" up
// to "<!-- end -->".
var generatedPart = regexp.MustCompile(`(?s)<!-- generated: ([^\n]*?) -->\n(.*?)<!-- end -->`)

// TestGeneratedDocs holds the generated parts of the documentation to the tables that they are made from.
// With -update it writes them.
func TestGeneratedDocs(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, name := range documents(t) {
		old := readText(t, name)
		made := old
		for _, m := range generatedPart.FindAllStringSubmatchIndex(old, -1) {
			what := old[m[2]:m[3]]
			text, err := generate(what, old[:m[0]])
			if err != nil {
				t.Errorf("%s: %s: %v", name, what, err)
				continue
			}
			seen[what] = true
			made = strings.Replace(made, old[m[0]:m[1]], "<!-- generated: "+what+" -->\n"+text+"<!-- end -->", 1)
		}
		if made == old {
			continue
		}
		if !*update {
			t.Errorf("%s is not what the tables say; go test ./internal/cli -run TestGeneratedDocs -update writes it", name)
			continue
		}
		if err := os.WriteFile(name, []byte(made), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, k := range schema.Keys() {
		if !seen[strings.TrimSpace("keys "+k.Where+" "+k.Kind)] {
			t.Errorf("no document has a table with the key %s.%s (keys %s %s)", k.Where, k.Name, k.Where, k.Kind)
		}
	}
	for _, what := range []string{"grammar", "functions", "gates", "envelopes", "harnesses", "harnesses can", "exits"} {
		if !seen[what] {
			t.Errorf("no document has the generated part %q", what)
		}
	}
}

// documents are the texts for people, README and ARCHITECTURE among them.
func documents(t *testing.T) []string {
	t.Helper()
	names, err := filepath.Glob("../../docs/*.md")
	if err != nil || len(names) < 5 {
		t.Fatalf("the documents were not found: %v %v", names, err)
	}
	return append(names, "../../README.md", "../../ARCHITECTURE.md")
}

func readText(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// generate makes one part; before is the document up to it.
func generate(what, before string) (string, error) {
	words := strings.Fields(what)
	switch words[0] {
	case "keys":
		return keyTable(words[1], strings.Join(words[2:], " "))
	case "grammar":
		return "```\n" + dsl.RouteGrammar() + "\n```\n", nil
	case "functions":
		return functionTable(), nil
	case "gates":
		return gateTable(), nil
	case "envelopes":
		return envelopeTable(), nil
	case "harnesses":
		if len(words) > 1 {
			return harnessLimits(), nil
		}
		return harnessTable(), nil
	case "exits":
		return exitTable(), nil
	case "graph":
		return drawnGraph(before)
	}
	return "", fmt.Errorf("nothing makes this part")
}

// rows sets a table.
func rows(head string, lines [][]string) string {
	var b strings.Builder
	b.WriteString(head + "\n" + strings.Repeat("|---", strings.Count(head, "|")-1) + "|\n")
	for _, cells := range lines {
		for i := range cells {
			cells[i] = strings.ReplaceAll(cells[i], "|", `\|`)
		}
		b.WriteString("| " + strings.Join(cells, " | ") + " |\n")
	}
	return b.String()
}

func code(s string) string { return "`" + s + "`" }

// keyTable is the keys of a section; kind chooses among those of phases and entries of tests.
func keyTable(where, kind string) (string, error) {
	var lines [][]string
	for _, k := range schema.Keys() {
		if k.Where != where || k.Kind != kind {
			continue
		}
		fallback := ""
		switch {
		case k.Required && k.Unless != "":
			fallback = "required without " + code(k.Unless)
		case k.Required:
			fallback = "required"
		case k.Default != "":
			fallback = k.Default
			if !strings.ContainsAny(k.Default, " '") || k.Default[0] == '[' {
				fallback = code(k.Default)
			}
		}
		lines = append(lines, []string{code(k.Name), valueWords(k), fallback, k.Doc})
	}
	if len(lines) == 0 {
		return "", fmt.Errorf("there are no such keys")
	}
	return rows("| key | value | default | meaning |", lines), nil
}

// shapeWords say what a value looks like.
var shapeWords = map[schema.Shape]string{
	schema.ShapeText: "text", schema.ShapeInt: "whole number", schema.ShapeNumber: "number", schema.ShapeBool: "`true`, `false`",
	schema.ShapeDuration: "duration", schema.ShapeSize: "size", schema.ShapeTexts: "list of texts", schema.ShapeArgv: "list of texts",
	schema.ShapePairs: "texts by name", schema.ShapeFiles: "texts by path, or `null`", schema.ShapeProse: "text, or `{file: path}`",
	schema.ShapeScript: "script", schema.ShapeScripts: "list of scripts", schema.ShapeExitCodes: "list of whole numbers, or `nonzero`",
	schema.ShapeRoute: "rules", schema.ShapeGates: "list of gates", schema.ShapeData: "anything", schema.ShapeEntries: "lists of entries by name",
	schema.ShapeCounts: "whole numbers by name", schema.ShapeTextLists: "lists of texts or `null`, by name",
}

func valueWords(k schema.Key) string {
	if len(k.Enum) > 0 {
		var words []string
		for _, w := range k.Enum {
			words = append(words, code(w))
		}
		if k.Shape == schema.ShapePairs {
			return "by name: " + strings.Join(words, ", ")
		}
		return strings.Join(words, ", ")
	}
	switch k.Shape {
	case schema.ShapeSection:
		return code(k.Of) + " keys"
	case schema.ShapeList:
		return "list of " + code(k.Of) + " keys"
	case schema.ShapeMap:
		return code(k.Of) + " keys by name"
	case schema.ShapeInt:
		if k.Min > 0 {
			return fmt.Sprintf("whole number from %d", k.Min)
		}
	}
	return shapeWords[k.Shape]
}

func functionTable() string {
	var lines [][]string
	for _, f := range dsl.Functions() {
		gives := f.Result
		if gives == "" {
			gives = "depends"
		}
		usage := code(f.Usage)
		if before, after, two := strings.Cut(f.Usage, ") or "); two {
			usage = code(before+")") + " or " + code(after)
		}
		lines = append(lines, []string{usage, gives, f.Doc})
	}
	return rows("| call | gives | meaning |", lines)
}

func gateTable() string {
	var lines [][]string
	for _, info := range gates.Table() {
		var args []string
		for _, a := range info.Args {
			args = append(args, code(a.Name))
		}
		lines = append(lines, []string{"[" + code(info.Name) + "](gates.md#" + info.Name + ")", strings.Join(args, ", "), info.Summary})
	}
	return rows("| gate | arguments | passes when |", lines)
}

func envelopeTable() string {
	var lines [][]string
	base, _ := envelope.Builtin("generic")
	lines = append(lines, []string{"every kind", fieldWords(base.Fields)})
	for _, k := range envelope.Builtins() {
		own := k.Fields[len(base.Fields):]
		if len(own) > 0 {
			lines = append(lines, []string{code(k.Name), fieldWords(own)})
		}
	}
	return rows("| kind | fields |", lines)
}

func fieldWords(fields []envelope.Field) string {
	var out []string
	for _, f := range fields {
		out = append(out, code(f.Name)+" "+typeWords(f))
	}
	return strings.Join(out, "; ")
}

func typeWords(f envelope.Field) string {
	text := f.Type.String()
	if f.Type == envelope.List {
		text = "list of " + f.Of.String()
	}
	if len(f.Enum) > 0 {
		text = strings.Join(f.Enum, "/")
	}
	if len(f.Fields) > 0 {
		text += " [" + fieldWords(f.Fields) + "]"
	}
	if f.Required {
		text += " (required)"
	}
	return text
}

func harnessTable() string {
	var lines [][]string
	for _, h := range harness.Table() {
		row := []string{code(h.Name), h.Summary, "", ""}
		if h.Program != "" {
			row[2], row[3] = code(h.Program), code(h.Install)
		}
		lines = append(lines, row)
	}
	return rows("| harness | drives | program | installed by |", lines)
}

// harnessLimits says what each harness can and cannot do: what preflight holds a pipeline to.
func harnessLimits() string {
	var out strings.Builder
	var lines [][]string
	yes := map[bool]string{true: "yes", false: "no"}
	for _, h := range harness.Table() {
		lines = append(lines, []string{code(h.Name), yes[h.Remembers], yes[h.Resumes], yes[h.Permits], yes[!h.Silent], yes[h.ReportsCost], yes[h.Effort], yes[h.KeepsTools], yes[h.NoSandbox == ""]})
	}
	out.WriteString(rows("| harness | remembers a conversation | and in a new process | asks for permission | tells tokens | tells cost | `effort` | `tools` | in a `sandbox` |", lines))
	out.WriteString("\n")
	for _, h := range harness.Table() {
		lacks := h.Lacks
		if h.NoSandbox != "" {
			lacks = append(slices.Clone(lacks), "it cannot run in a sandbox: "+h.NoSandbox)
		}
		if len(lacks) > 0 {
			fmt.Fprintf(&out, "- %s: %s.\n", code(h.Name), strings.Join(lacks, "; "))
		}
	}
	return out.String()
}

func exitTable() string {
	var lines [][]string
	for e := Done; int(e) < len(exits); e++ {
		lines = append(lines, []string{fmt.Sprint(e.Code()), exits[e].meaning})
	}
	return rows("| exit | meaning |", lines)
}

// drawnGraph is what `foundry graph` says of the file that is shown above.
func drawnGraph(before string) (string, error) {
	at := strings.LastIndex(before, "```yaml\n")
	if at < 0 {
		return "", fmt.Errorf("no file is shown above")
	}
	text, _, _ := strings.Cut(before[at+len("```yaml\n"):], "```")
	p := parse(text)
	name, ok := p.names.Default()
	if !ok {
		return "", fmt.Errorf("the file above has no default pipeline")
	}
	g, found := p.names.Compile(name)
	if g == nil {
		return "", fmt.Errorf("the file above does not compile: %s", found.Sorted()[0].Message)
	}
	return "```\n" + g.Text() + "```\n", nil
}

// yamlExample is a block of YAML with the line above it, which may say how it is to be read.
var yamlExample = regexp.MustCompile("(?s)([^\n]*)\n```yaml\n(.*?)```")

// fragmentMark stands on the line above an example that is a part of a file: phases (it begins with "- id:"), or
// sections. What it needs around it is put there before it is linted.
const fragmentMark = "<!-- part of a file -->"

// otherMark stands above an example that is YAML of another program.
const otherMark = "<!-- not a pipeline file -->"

// TestDocExamplesLint lints every example of the documentation. A whole file has no findings at all; a part of
// one has no errors, and the examples of docs/gates.md are all parts. docs/rules.md has a test of its own.
func TestDocExamplesLint(t *testing.T) {
	t.Parallel()
	whole, editors := 0, validator(t)
	for _, name := range documents(t) {
		if filepath.Base(name) == "rules.md" {
			continue
		}
		for _, m := range yamlExample.FindAllStringSubmatch(readText(t, name), -1) {
			if m[1] == otherMark {
				continue
			}
			if m[1] == fragmentMark || filepath.Base(name) == "gates.md" {
				if found := findingsOf(m[2]); strings.Contains(found, " error: ") {
					t.Errorf("%s: a part of a file has findings:\n%s\n%s", name, found, m[2])
				}
				continue
			}
			whole++
			p := parse(m[2])
			found := p.findings
			if !p.doc.Broken {
				found.Merge(p.names.Lint())
			}
			for _, d := range diag.Unsilenced(found.Sorted()) {
				t.Errorf("%s: line %d of an example: %s [%s] (a part of a file stands below %q, another program's below %q)\n%s",
					name, d.Span.Position().Line, d.Message, d.Rule, fragmentMark, otherMark, m[2])
			}
			if err := validate(editors, m[2]); err != nil {
				t.Errorf("%s: an example does not validate: %v", name, err)
			}
			runTests(t, name, p)
		}
	}
	if whole < 3 {
		t.Errorf("only %d whole files were found", whole)
	}
}

// runTests runs the pipeline tests of an example.
func runTests(t *testing.T, name string, p *project) {
	t.Helper()
	suite := check.NewSuite(p.names)
	found := suite.Add(p.doc.Tests)
	for _, d := range found.Sorted() {
		t.Errorf("%s: a test of an example: %s", name, d.Message)
	}
	for _, c := range suite.Cases() {
		result, err := c.Run()
		if err != nil || !result.Passed() {
			t.Errorf("%s: test %q of an example: %v %v", name, c.Name, err, result.Problems)
		}
	}
}

// TestDocsPointSomewhere follows the links between the documents.
func TestDocsPointSomewhere(t *testing.T) {
	t.Parallel()
	link := regexp.MustCompile(`\]\(([^)#:]*)(?:#([^)]*))?\)`)
	for _, name := range documents(t) {
		text := readText(t, name)
		for _, m := range link.FindAllStringSubmatch(text, -1) {
			target := text
			if m[1] != "" {
				data, err := os.ReadFile(filepath.Join(filepath.Dir(name), m[1]))
				if err != nil {
					t.Errorf("%s points to %s, which is not there", name, m[1])
					continue
				}
				target = string(data)
			}
			if m[2] != "" && !slices.Contains(anchors(target), m[2]) {
				t.Errorf("%s points to %s#%s, and there is no such heading", name, m[1], m[2])
			}
		}
	}
}

// anchors are the headings of a document as links name them.
func anchors(text string) []string {
	var out []string
	for _, m := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(text, -1) {
		words := regexp.MustCompile(`[^a-z0-9 _-]`).ReplaceAllString(strings.ToLower(m[1]), "")
		out = append(out, strings.ReplaceAll(words, " ", "-"))
	}
	return out
}

// TestRunsNamesEveryEvent holds the kinds of events in docs/runs.md to those that there are.
func TestRunsNamesEveryEvent(t *testing.T) {
	t.Parallel()
	kinds := regexp.MustCompile(`(?m)^\t\w+ +Kind = "([a-z_.]+)"`).FindAllStringSubmatch(readText(t, "../../runner/event.go"), -1)
	if len(kinds) < 40 {
		t.Fatalf("only %d kinds were found", len(kinds))
	}
	text := readText(t, "../../docs/runs.md")
	_, section, _ := strings.Cut(text, "Three sorts")
	section, _, _ = strings.Cut(section, "The facts alone")
	listed := 0
	for _, line := range strings.Split(section, "\n- ")[1:] {
		_, list, _ := strings.Cut(line, ":")
		listed += strings.Count(list, "`") / 2
	}
	for _, m := range kinds {
		if !strings.Contains(section, code(m[1])) {
			t.Errorf("docs/runs.md does not name %s", m[1])
		}
	}
	if listed != len(kinds) {
		t.Errorf("docs/runs.md names %d kinds, there are %d", listed, len(kinds))
	}
}

// TestHarnessesAreTheSame: the linter's list of harnesses and the table of those that there are.
func TestHarnessesAreTheSame(t *testing.T) {
	t.Parallel()
	for _, h := range harness.Table() {
		found := findingsOf("agents: {a: {harness: " + h.Name + ", argv: [x], script: [{reply: x}]}}\npipelines: {p: {phases: [{id: a, agent: a}]}}\n")
		if strings.Contains(found, "["+string(diag.UnknownHarness)+"]") {
			t.Errorf("harness %s, and the linter says:\n%s", h.Name, found)
		}
	}
	found := findingsOf("agents: {a: {harness: clod}}\n")
	for _, h := range harness.Table() {
		if !strings.Contains(found, h.Name) {
			t.Errorf("the hint for an unknown harness does not name %s:\n%s", h.Name, found)
		}
	}
}

package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"foundry/builtins"
	"foundry/diag"
	"foundry/graph"
	"foundry/internal/atomicfile"
	"foundry/schema"
)

func ejectVerb(s *session) verb {
	return verb{
		Command: &cli.Command{
			Name:      "eject",
			Usage:     "copy a builtin pipeline or agent into the pipeline file, to edit it",
			ArgsUsage: "PIPELINE|AGENT",
			Description: `Copies the definition of a builtin, with its comments, to the end of the section "pipelines" or "agents" of the pipeline
file. The rest of the file stays as it is, byte for byte. From then on your copy takes the place of the builtin; a
later version of Foundry never changes it, and "foundry ls" says when what ships has changed.`,
			Flags: []cli.Flag{
				&cli.BoolFlag{Name: "pipeline", Usage: "NAME is a pipeline, where an agent has the same name"},
				&cli.BoolFlag{Name: "agent", Usage: "NAME is an agent, where a pipeline has the same name"},
				&cli.BoolFlag{Name: "print", Usage: "print the definition instead of writing it"},
			},
			Action: s.eject,
		},
		exits:    []Exit{Failed},
		operands: ejectCandidates,
		examples: []example{
			{"foundry eject plan-build-test", "to change its phases"},
			{"foundry eject scout --agent", "the agent; there is a pipeline scout as well"},
			{"foundry eject reviewer --print", "look at it only"},
		},
	}
}

func (s *session) eject(c *cli.Context) error {
	if err := atMost(c, 1); err != nil {
		return err
	}
	kind, block, err := s.ejected(c)
	if err != nil {
		return err
	}
	if c.Bool("print") {
		return s.print(block)
	}
	p, err := s.load()
	if err != nil {
		return err
	}
	if p.findings.HasErrors() {
		return s.refuse(p.findings, p.name)
	}
	name := c.Args().First()
	for _, n := range p.names.Names() {
		if n.Kind == kind && n.Name == name && !n.Builtin {
			return badUsage("%s %q is defined already, at %s", kind, name, placeOf(n)).
				hintf("`foundry eject %s --print` shows what ships", name)
		}
	}
	text, line, err := insert(p.source.Text, sectionOf(kind), block)
	if err != nil {
		return badUsage("eject %s into %s: %w", name, p.name, err).
			hintf("copy the output of `foundry eject %s --print` by hand", name)
	}
	if err := checkInsertion(p, kind, name, text); err != nil {
		return badUsage("eject %s into %s: %w; nothing was written", name, p.name, err).
			hintf("copy the output of `foundry eject %s --print` by hand", name)
	}
	if err := replaceFile(p.path, text); err != nil {
		return failure(fmt.Errorf("write %s: %w", p.name, plainPathError(err)))
	}
	return s.print(fmt.Sprintf("%s:%d: %s %s now takes the place of the builtin\n", p.name, line, kind, name))
}

// ejected is the definition that the arguments mean, with the mark that says what it is a copy of.
func (s *session) ejected(c *cli.Context) (graph.NameKind, string, error) {
	name := c.Args().First()
	if name == "" {
		return 0, "", badUsage("eject: which pipeline or agent?").hintf("`foundry ls builtins` lists them")
	}
	if c.Bool("pipeline") && c.Bool("agent") {
		return 0, "", badUsage("eject: --pipeline and --agent exclude each other")
	}
	type match struct {
		kind  graph.NameKind
		block string
	}
	var found []match
	for _, kind := range []graph.NameKind{graph.PipelineName, graph.AgentName} {
		block, ok := definition(builtins.YAML(), sectionOf(kind), name)
		if ok && !(kind == graph.PipelineName && c.Bool("agent")) && !(kind == graph.AgentName && c.Bool("pipeline")) {
			found = append(found, match{kind, ejectMark(name, block) + "\n" + block})
		}
	}
	switch len(found) {
	case 1:
		return found[0].kind, found[0].block, nil
	case 2:
		return 0, "", badUsage("%q is a builtin pipeline and a builtin agent", name).hintf("add --pipeline or --agent")
	}
	err := badUsage("%q is no builtin pipeline or agent", name)
	var known []string
	for _, k := range ejectCandidates(s) {
		known = append(known, k.word)
	}
	if like := near(name, known); like != "" {
		return 0, "", err.hintf("did you mean %q?", like)
	}
	return 0, "", err.hintf("`foundry ls builtins` lists them")
}

// ejectCandidates completes with what can be ejected.
func ejectCandidates(s *session) []candidate {
	var out []candidate
	for _, n := range newProject(s.dir, "", "", nil, nil).names.Names() {
		if sectionOf(n.Kind) != "" && !slices.ContainsFunc(out, func(c candidate) bool { return c.word == n.Name }) {
			out = append(out, candidate{n.Name, n.Description})
		}
	}
	return out
}

// insert puts a definition at the end of a section of a pipeline file, made when it is missing, and says on
// which line it begins. All other bytes stay.
func insert(text, section, block string) (out string, line int, err error) {
	eol := "\n"
	if i := strings.IndexByte(text, '\n'); i > 0 && text[i-1] == '\r' {
		eol = "\r\n"
	}
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += eol
	}
	lines := textLines(text)
	start, end, ok := sectionLines(lines, section)
	indent, before := 2, ""
	if !ok {
		end = len(lines)
		if last := lines[len(lines)-1]; last == "" {
			end--
		}
		if end > 0 && strings.TrimSpace(lines[end-1]) == "..." {
			end--
		}
		before = section + ":\n"
		if end > 0 && !isBlank(lines[end-1]) {
			before = "\n" + before
		}
	} else {
		_, value, _ := strings.Cut(lines[start], ":")
		if v := strings.TrimSpace(value); v != "" && v[0] != '#' {
			return "", 0, fmt.Errorf("the section %q does not have its entries on lines of their own", section)
		}
		if n := entryIndent(lines, start, end); n > 0 {
			indent, before = n, "\n"
		}
	}
	added := before + shift(strings.SplitAfter(strings.TrimSuffix(block, "\n"), "\n"), indent)
	added = strings.TrimSuffix(added, "\n") + "\n"
	if end < len(lines) && !isBlank(lines[end]) {
		added += "\n"
	}
	line = end + strings.Count(before, "\n") + 1
	for _, l := range strings.Split(block, "\n") {
		if !isComment(l) {
			break
		}
		line++
	}
	added = strings.ReplaceAll(added, "\n", eol)
	return strings.Join(lines[:end], "") + added + strings.Join(lines[end:], ""), line, nil
}

// checkInsertion decodes the new text: it has what the old one had, and the builtin's definition besides.
func checkInsertion(p *project, kind graph.NameKind, name, text string) error {
	doc, found := schema.Decode(diag.NewSource(p.name, text))
	if found.HasErrors() {
		return fmt.Errorf("the result would not be valid: %s", found.Sorted()[0].Message)
	}
	ships := shipped()
	var copied, original any
	if kind == graph.PipelineName {
		i := slices.IndexFunc(doc.Pipelines, func(x schema.Pipeline) bool { return x.Name.Value == name })
		j := slices.IndexFunc(ships.Pipelines, func(x schema.Pipeline) bool { return x.Name.Value == name })
		if i < 0 {
			return fmt.Errorf("the pipeline would not be found again")
		}
		copied, original = doc.Pipelines[i], ships.Pipelines[j]
		doc.Pipelines = slices.Delete(doc.Pipelines, i, i+1)
	} else {
		i := slices.IndexFunc(doc.Agents, func(x schema.Agent) bool { return x.Name.Value == name })
		j := slices.IndexFunc(ships.Agents, func(x schema.Agent) bool { return x.Name.Value == name })
		if i < 0 {
			return fmt.Errorf("the agent would not be found again")
		}
		copied, original = doc.Agents[i], ships.Agents[j]
		doc.Agents = slices.Delete(doc.Agents, i, i+1)
	}
	if !sameMeaning(reflect.ValueOf(copied), reflect.ValueOf(original)) {
		return fmt.Errorf("the copy would not mean what the builtin means")
	}
	if !sameMeaning(reflect.ValueOf(*doc), reflect.ValueOf(*p.doc)) {
		return fmt.Errorf("the rest of the file would mean something else")
	}
	return nil
}

var (
	spanType     = reflect.TypeFor[diag.Span]()
	sourceType   = reflect.TypeFor[*diag.Source]()
	fragmentType = reflect.TypeFor[diag.Fragment]()
)

// sameMeaning compares two parts of documents and leaves aside where they were written.
func sameMeaning(a, b reflect.Value) bool {
	if !a.IsValid() || !b.IsValid() {
		return a.IsValid() == b.IsValid()
	}
	if a.Type() != b.Type() {
		return false
	}
	switch a.Type() {
	case spanType, sourceType:
		return true
	case fragmentType:
		return a.FieldByName("Text").String() == b.FieldByName("Text").String()
	}
	switch a.Kind() {
	case reflect.Struct:
		for i := range a.NumField() {
			if !sameMeaning(a.Field(i), b.Field(i)) {
				return false
			}
		}
		return true
	case reflect.Slice, reflect.Array:
		if a.Len() != b.Len() {
			return false
		}
		for i := range a.Len() {
			if !sameMeaning(a.Index(i), b.Index(i)) {
				return false
			}
		}
		return true
	case reflect.Pointer, reflect.Interface:
		return sameMeaning(a.Elem(), b.Elem())
	}
	return a.Equal(b)
}

// replaceFile writes a file anew so that it is never half written. A link stays a link, and the mode stays.
func replaceFile(path, text string) error {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return err
	}
	info, err := os.Stat(real)
	if err != nil {
		return err
	}
	return atomicfile.WriteSynced(real, []byte(text), info.Mode().Perm())
}

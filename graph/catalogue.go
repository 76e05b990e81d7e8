package graph

import (
	"path"
	"slices"
	"strings"
	"sync"

	"foundry/diag"
	"foundry/schema"
)

// This file holds the catalogue: all that a pipeline file and what ships define, by name. A definition of
// the user's file shadows a builtin one of the same name.

// Files is how a pipeline file reaches the files it names. Path is the pipeline file's own path from the
// repository root, with slashes; Read returns a file's text by such a path; List returns the files that a pattern
// matches, sorted; Show is such a path as the user would type it. Read and List may be nil when the file names no
// other, Show when paths are shown as they are.
type Files struct {
	Path string
	Read func(path string) (string, error)
	List func(pattern string) ([]string, error)
	Show func(path string) string
}

// Catalogue compiles the pipelines of a file. It remembers what it resolved, so it must not be used by
// several goroutines at once; the graphs it makes may.
type Catalogue struct {
	user    *schema.Document // never nil
	builtin *schema.Document // never nil
	files   Files

	homes    map[*diag.Source]string // the paths of the included files
	protect  []string                // patterns of the included files
	included diag.List               // what is wrong with includes, and with the files themselves
	partial  bool                    // an included file, or a part of this one, could not be read: what it defines is not known
	unread   bool                    // something beside the pipelines could not be read, in this file or an included one
	replaced map[diag.Span]diag.Span // by the name of a definition: that of the included one whose place it takes

	other map[string]string // harnesses that are tried, by agent; "" is every agent

	texts     map[string]text
	named     []string // the files that hold texts, sorted
	agents    map[*schema.Agent]*agentDef
	kinds     map[*schema.Envelope]*kindDef
	pipelines map[*schema.Pipeline]*pipelineDef
	whole     map[*schema.Pipeline]*compiler // compiled
	scoped    map[*schema.Pipeline]*compiler // compiled up to their scopes, for Members

	everyPhase func() []string // the names of the phases of all pipelines, sorted
}

// New makes the catalogue of a user's document and of what ships. Either may be nil.
func New(user, builtin *schema.Document, files Files) *Catalogue {
	if user == nil {
		user = &schema.Document{}
	}
	if builtin == nil {
		builtin = &schema.Document{}
	}
	c := &Catalogue{user: user, builtin: builtin, files: files, texts: map[string]text{},
		agents: map[*schema.Agent]*agentDef{}, kinds: map[*schema.Envelope]*kindDef{}, pipelines: map[*schema.Pipeline]*pipelineDef{},
		whole: map[*schema.Pipeline]*compiler{}, scoped: map[*schema.Pipeline]*compiler{}, homes: map[*diag.Source]string{}, replaced: map[diag.Span]diag.Span{}}
	c.unread, c.partial = user.Unread, user.Unlisted
	c.include()
	c.named = c.namedTexts()
	c.everyPhase = sync.OnceValue(func() []string { return everyPhase(c.user, builtin) })
	return c
}

func everyPhase(docs ...*schema.Document) []string {
	var out []string
	for _, doc := range docs {
		for i := range doc.Pipelines {
			for j := range doc.Pipelines[i].Phases {
				out = append(out, doc.Pipelines[i].Phases[j].ID.Value)
			}
			for j := range doc.Pipelines[i].Patch {
				out = append(out, doc.Pipelines[i].Patch[j].Name.Value)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// elsewhere says whether a pipeline has a phase of that name.
func (c *Catalogue) elsewhere(phase string) bool {
	_, ok := slices.BinarySearch(c.everyPhase(), phase)
	return ok
}

// Default is the pipeline that a run without a name means: the one that `default` names, else the only one of
// the file, its includes left aside if it has one. False when there is no such pipeline.
func (c *Catalogue) Default() (string, bool) {
	if name := c.user.Default.Value; c.user.Default.Set {
		_, ok := c.pipeline(name)
		return name, ok
	}
	own := 0 // an included one stands behind those of the file itself
	for i := range c.user.Pipelines {
		if !c.isIncluded(c.user.Pipelines[i].Name.Span()) {
			own++
		}
	}
	if own == 1 || own == 0 && len(c.user.Pipelines) == 1 {
		return c.user.Pipelines[0].Name.Value, true
	}
	return "", false
}

// NameKind says what a name of the catalogue stands for.
type NameKind uint8

// The kinds of names; the zero value is invalid.
const (
	PipelineName NameKind = iota + 1
	AgentName
	GateName
	CommandName
	EnvelopeName
)

var nameKinds = [...]string{PipelineName: "pipeline", AgentName: "agent", GateName: "gate", CommandName: "command", EnvelopeName: "envelope"}

// String is the word for the kind.
func (k NameKind) String() string {
	if k == 0 || int(k) >= len(nameKinds) {
		return "invalid"
	}
	return nameKinds[k]
}

// Name is one named definition.
type Name struct {
	Kind        NameKind
	Name        string
	Description string
	Place       diag.Span // of its name; nowhere for a gate or envelope kind that is part of the program
	Builtin     bool      // ships with Foundry
	Shadows     bool      // takes the place of a builtin of the same name
	Included    bool      // stands in an included file
	Replaces    diag.Span // the name of the included definition whose place it takes; nowhere when there is none
	Default     bool      // the pipeline that a run without a name means
}

// Names lists every definition: pipelines, agents, gates, commands, envelopes; the user's in file order, then
// the builtin ones that nothing shadows. Nothing is compiled for it.
func (c *Catalogue) Names() []Name {
	out := c.pipelineNames()
	out = append(out, c.agentNames()...)
	out = append(out, c.gateNames()...)
	for i := range c.user.Commands {
		cmd := &c.user.Commands[i]
		out = append(out, Name{Kind: CommandName, Name: cmd.Name.Value, Description: label(cmd.Run), Place: cmd.Name.Span()})
	}
	out = append(out, c.kindNames()...)
	for i := range out {
		out[i].Included, out[i].Replaces = c.isIncluded(out[i].Place), c.replaced[out[i].Place]
	}
	return out
}

func (c *Catalogue) pipelineNames() []Name {
	var out []Name
	fallback, has := c.Default()
	for _, doc := range []*schema.Document{c.user, c.builtin} {
		for i := range doc.Pipelines {
			p := &doc.Pipelines[i]
			own := doc == c.user
			if !own && find(c.user.Pipelines, p.Name.Value, pipelineName) != nil {
				continue
			}
			n := Name{Kind: PipelineName, Name: p.Name.Value, Description: p.Description.Value, Place: p.Name.Span(), Builtin: !own}
			n.Shadows = own && find(c.builtin.Pipelines, p.Name.Value, pipelineName) != nil
			n.Default = has && n.Name == fallback
			if n.Description == "" {
				if merged := c.resolvePipeline(p); merged.ok {
					n.Description = merged.p.Description.Value
				}
			}
			out = append(out, n)
		}
	}
	return out
}

func (c *Catalogue) agentNames() []Name {
	var out []Name
	for _, doc := range []*schema.Document{c.user, c.builtin} {
		for i := range doc.Agents {
			a := &doc.Agents[i]
			own := doc == c.user
			if !own && find(c.user.Agents, a.Name.Value, agentName) != nil {
				continue
			}
			n := Name{Kind: AgentName, Name: a.Name.Value, Description: a.Description.Value, Place: a.Name.Span(), Builtin: !own}
			n.Shadows = own && find(c.builtin.Agents, a.Name.Value, agentName) != nil
			if n.Description == "" {
				n.Description = c.resolveAgent(a).a.Description.Value
			}
			out = append(out, n)
		}
	}
	return out
}

func pipelineName(p *schema.Pipeline) string { return p.Name.Value }
func agentName(a *schema.Agent) string       { return a.Name.Value }
func commandName(c *schema.Command) string   { return c.Name.Value }
func gateName(g *schema.Gate) string         { return g.Name.Value }
func kindName(e *schema.Envelope) string     { return e.Name.Value }

// find is the first definition of that name, nil when there is none.
func find[T any](list []T, name string, of func(*T) string) *T {
	for i := range list {
		if of(&list[i]) == name {
			return &list[i]
		}
	}
	return nil
}

// names are all names of the lists, sorted and without repetitions, for suggestions.
func names[T any](of func(*T) string, lists ...[]T) []string {
	var out []string
	for _, list := range lists {
		for i := range list {
			out = append(out, of(&list[i]))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// pipeline finds a pipeline by name, the user's first.
func (c *Catalogue) pipeline(name string) (*schema.Pipeline, bool) {
	if p := find(c.user.Pipelines, name, pipelineName); p != nil {
		return p, true
	}
	p := find(c.builtin.Pipelines, name, pipelineName)
	return p, p != nil
}

// agent finds an agent by name, the user's first.
func (c *Catalogue) agent(name string) (*schema.Agent, bool) {
	if a := find(c.user.Agents, name, agentName); a != nil {
		return a, true
	}
	a := find(c.builtin.Agents, name, agentName)
	return a, a != nil
}

func (c *Catalogue) command(name string) (*schema.Command, bool) {
	cmd := find(c.user.Commands, name, commandName)
	return cmd, cmd != nil
}

// text is a text in a file of its own.
type text struct {
	frag diag.Fragment
	err  string // why it cannot be read, "" when it was
}

// prose is the text of either form of a Prose. A file that cannot be read is reported and false is returned.
func (c *Catalogue) prose(p schema.Prose, list *diag.List) (diag.Fragment, bool) {
	if !p.File.Set {
		return p.Text.Frag, p.Text.Set
	}
	name, ok := c.beside(p.File)
	if !ok {
		list.Report(diag.MissingFile, p.File.Span(), "%q is outside the repository", p.File.Value).
			Hintf("name a file inside the repository, relative to the one that names it")
		return diag.Fragment{}, false
	}
	t, known := c.texts[name]
	if !known {
		t = c.read(name)
		c.texts[name] = t
	}
	if t.err != "" {
		list.Report(diag.MissingFile, p.File.Span(), "%q cannot be read: %s", p.File.Value, t.err).
			Hintf("create %s, or write the text here", name)
		return diag.Fragment{}, false
	}
	return t.frag, true
}

func (c *Catalogue) read(name string) text {
	if c.files.Read == nil {
		return text{err: "there is nothing to read files from"}
	}
	content, err := c.files.Read(name)
	if err != nil {
		return text{err: err.Error()}
	}
	return text{frag: diag.FileFragment(diag.NewSource(c.shown(name), content))}
}

// beside turns a path that stands in a pipeline file into one from the repository root; false when it leaves
// the repository. Paths are relative to the file they stand in, which may be an included one.
func (c *Catalogue) beside(t schema.Text) (string, bool) {
	return join(c.home(t.Span()), t.Value)
}

func join(file, p string) (string, bool) {
	if p == "" || strings.HasPrefix(p, "/") {
		return "", false
	}
	p = path.Join(path.Dir(file), p)
	return p, p != ".." && !strings.HasPrefix(p, "../")
}

// namedTexts are the files that the user's document takes texts from, as paths from the repository root.
func (c *Catalogue) namedTexts() []string {
	var out []string
	add := func(p schema.Prose) {
		if !p.File.Set {
			return
		}
		if name, ok := c.beside(p.File); ok {
			out = append(out, name)
		}
	}
	for i := range c.user.Agents {
		add(c.user.Agents[i].System)
		add(c.user.Agents[i].Prompt)
	}
	for i := range c.user.Pipelines {
		for j := range c.user.Pipelines[i].Phases {
			add(c.user.Pipelines[i].Phases[j].Prompt)
		}
		for j := range c.user.Pipelines[i].Patch {
			add(c.user.Pipelines[i].Patch[j].Phase.Prompt)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// didYouMean adds the hint for a mistyped name: the nearest one, else what there is. It returns the nearest one,
// which is used from here on, so that one mistake is told once; "" when none is near.
func didYouMean(d *diag.Diagnostic, word string, known []string, none string) string {
	near := diag.Suggest(word, known)
	switch {
	case near != "":
		d.Hintf("did you mean %q?", near)
	case len(known) == 0 || len(known) > 12:
		d.Hintf("%s", none)
	case len(known) == 1:
		d.Hintf("the only one is %s", listed(known))
	default:
		d.Hintf("there are %s", listed(known))
	}
	return near
}

// listed joins quoted names: "a", "b" and "c".
func listed(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = `"` + w + `"`
	}
	if len(quoted) < 2 {
		return strings.Join(quoted, "")
	}
	return strings.Join(quoted[:len(quoted)-1], ", ") + " and " + quoted[len(quoted)-1]
}

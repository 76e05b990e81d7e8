package runner

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"foundry/dsl"
	"foundry/graph"
)

// This file renders what a phase sends out: prompts, corrections, commands, environments, questions.

// World is what the texts of a phase may say of the world, looked at just before they are rendered.
type World struct {
	Context      string   // a card about the repository
	HandoffDir   string   // absolute
	HandoffFiles []string // relative to HandoffDir
	Diff         string   // for a review: what the visit changed
	Calls        []string // for a review: what the agent was seen to do in the visit, in order
}

func (w World) into(v dsl.Values) dsl.Values {
	v.Vars["context"] = w.Context
	v.Vars["handoff_dir"] = w.HandoffDir
	v.Vars["handoff_files"] = append([]string{}, w.HandoffFiles...)
	return v
}

// Message is a turn's prompt as it is sent.
type Message struct {
	System string // for the session; empty when the session has it already
	Text   string
	Inputs []InputDigest // what was sent of each input, for the log
}

// Prompt renders the turn that a SendTurn command asks for. A session that remembers is sent what changed
// since this phase's last prompt; one that does not gets the whole prompt every time.
func Prompt(g *graph.Graph, s State, c Command, w World, remembers bool) (Message, error) {
	g = s.Graph(g)
	if c.Purpose.Reviews() {
		return reviewPrompt(g, s, c, w, remembers)
	}
	p := c.ID.Phase
	wk := &s.phases[p].work
	values := w.into(valuesOf(g, s, p, nil))
	var out Message
	inputs, err := inputTexts(g, s, p, values, w)
	if err != nil {
		return out, err
	}
	for _, in := range inputs {
		out.Inputs = append(out.Inputs, InputDigest{Name: in.name, Digest: digest(in.text)})
	}
	agent := &g.Agents[c.Agent]
	if agent.System != nil && (!remembers || c.Session <= 1) {
		if out.System, err = agent.System.Render(values); err != nil {
			return out, err
		}
	}
	var parts []string
	whole := !remembers || c.Session <= 1 || (c.Purpose == ForPrompt && len(wk.digests) == 0)
	if c.Purpose == ForPrompt && !whole {
		parts = whatChanged(g, s, p, inputs)
		whole = len(parts) == 0
	}
	if whole {
		if parts, err = wholePrompt(g, s, p, values, inputs); err != nil {
			return out, err
		}
	}
	if wk.resent && remembers {
		parts = append([]string{cutOffText(g)}, parts...)
	}
	switch c.Purpose {
	case ForEnvelope:
		parts = append(parts, envelopeCorrection(g, p, wk.problems))
	case ForPermission:
		parts = append(parts, permissionTexts(wk, agent.Name, remembers)...)
		parts = append(parts, reportSection(g, p))
	case ForCheck:
		parts = append(parts, checkCorrections(wk)...)
		parts = append(parts, reportSection(g, p))
	case ForMending:
		parts = append(parts, reviewCorrection(wk), reportSection(g, p))
	default:
		parts = append(parts, reportSection(g, p))
	}
	out.Text = strings.Join(parts, "\n\n") + "\n"
	return out, nil
}

type inputText struct {
	name      string
	text      string
	mentioned bool // the prompt's own text has it
}

// inputTexts renders the phase's inputs, in their order.
func inputTexts(g *graph.Graph, s State, p graph.PhaseID, v dsl.Values, w World) ([]inputText, error) {
	ph := &g.Phases[p]
	out := itemTexts(g, s, p)
	for _, in := range ph.Inputs {
		t := inputText{name: in.Name, mentioned: mentions(g, ph.Prompt, in)}
		switch in.Kind {
		case graph.InputRequest:
			if ph.Item != nil {
				continue // it stands first
			}
			t.text = s.info.Request
		case graph.InputHandoff:
			t.text = dsl.Text(v.Vars["handoff_files"])
		case graph.InputFeedback:
			continue // always handed over
		case graph.InputPhase:
			t.text = phaseText(g, s, in.Phase)
		case graph.InputField:
			if r := s.phases[in.Phase].current(); r != nil && r.envelope != nil {
				t.text = dsl.Text(r.envelope[in.Field])
			}
		}
		if t.text == "" {
			t.text = "(not available)"
		}
		out = append(out, t)
	}
	return out, nil
}

// itemTexts are what every item is told, named by its phase or not: the request, the entry of the list, and what has
// ended before it.
func itemTexts(g *graph.Graph, s State, p graph.PhaseID) []inputText {
	ph := &g.Phases[p]
	if ph.Item == nil {
		return nil
	}
	as := g.Phases[ph.Owner].Each.As
	out := []inputText{{name: as, text: dsl.Text(trimmed(map[string]any{as: ph.Item.Value})[as]), mentioned: names(ph.Prompt, as)}}
	if s.info.Request != "" {
		out = slices.Insert(out, 0, inputText{name: "request", text: s.info.Request, mentioned: names(ph.Prompt, "request")})
	}
	if done := finished(g, s, p); done != "" {
		out = append(out, inputText{name: "finished before", text: done})
	}
	return out
}

// names says whether a text reads a name.
func names(t *dsl.Template, name string) bool {
	return t != nil && slices.ContainsFunc(t.Reads(), func(r dsl.Read) bool { return r.Phase == "" && r.Field == name })
}

// phaseText is another phase's result as an input: an agent's envelope, a command's end and last lines, how a call
// ended.
func phaseText(g *graph.Graph, s State, p graph.PhaseID) string {
	r := s.phases[p].current()
	switch {
	case r == nil:
		return ""
	case g.Phases[p].Each != nil:
		lines := []string{strings.TrimSpace(r.status.String() + "\n" + r.text)}
		for _, id := range g.BodyOf(p).Own {
			if r := s.phases[id].current(); r != nil {
				lines = append(lines, "- "+itemLine(g, s, id, r))
			} else {
				lines = append(lines, "- "+g.Phases[id].Item.Key+" ("+s.phases[id].status.String()+")")
			}
		}
		return strings.Join(lines, "\n")
	case g.Phases[p].Call != nil:
		return strings.TrimSpace(strings.Join([]string{r.status.String(), r.reason, r.text}, "\n"))
	case r.command != nil:
		return strings.TrimSpace(howItEnded(r.command) + "\n" + lastLines(r.command.Output, 60))
	case r.envelope != nil:
		return dsl.Text(trimmed(r.envelope))
	}
	return ""
}

// trimmed leaves out the fields that say nothing.
func trimmed(e map[string]any) map[string]any {
	out := map[string]any{}
	for k, v := range e {
		switch v := v.(type) {
		case string:
			if v != "" {
				out[k] = v
			}
		case []any:
			if len(v) > 0 {
				out[k] = v
			}
		case map[string]any:
			if t := trimmed(v); len(t) > 0 {
				out[k] = t
			}
		default:
			out[k] = v
		}
	}
	return out
}

func mentions(g *graph.Graph, t *dsl.Template, in graph.Input) bool {
	if t == nil {
		return false
	}
	for _, r := range t.Reads() {
		switch in.Kind {
		case graph.InputRequest:
			if r.Phase == "" && r.Field == "request" {
				return true
			}
		case graph.InputHandoff:
			if r.Phase == "" && r.Field == "handoff_files" {
				return true
			}
		case graph.InputPhase, graph.InputField:
			if r.Phase == g.Phases[in.Phase].Local {
				return true
			}
		}
	}
	return false
}

// wholePrompt is the agent's text, the inputs that it does not mention, and the feedback.
func wholePrompt(g *graph.Graph, s State, p graph.PhaseID, v dsl.Values, inputs []inputText) ([]string, error) {
	ph := &g.Phases[p]
	var parts []string
	feedback := false
	if ph.Prompt != nil {
		text, err := ph.Prompt.Render(v)
		if err != nil {
			return nil, err
		}
		if text = strings.TrimSpace(text); text != "" {
			parts = append(parts, text)
		}
		for _, r := range ph.Prompt.Reads() {
			feedback = feedback || (r.Phase == "" && r.Field == "feedback")
		}
	}
	for _, in := range inputs {
		if !in.mentioned {
			parts = append(parts, section(in.name, in.text))
		}
	}
	if given := s.phases[p].work.given; given != "" && !feedback {
		parts = append(parts, section("feedback", given))
	}
	return parts, nil
}

// whatChanged is a revisit's prompt in a session that remembers: feedback, and each input whose text differs
// from what this phase last sent. Nothing changed: no parts.
func whatChanged(g *graph.Graph, s State, p graph.PhaseID, inputs []inputText) []string {
	wk := &s.phases[p].work
	var parts []string
	if wk.given != "" {
		parts = append(parts, section("feedback", wk.given))
	}
	for _, in := range inputs {
		same := false
		for _, d := range wk.digests {
			same = same || (d.Name == in.name && d.Digest == digest(in.text))
		}
		if !same {
			parts = append(parts, section(in.name, in.text))
		}
	}
	if len(parts) == 0 {
		return nil
	}
	head := fmt.Sprintf("Phase %s again, round %d. The task is the same as before; this is what is new.", g.Phases[p].Local, s.phases[p].round())
	return append([]string{head}, parts...)
}

func section(name, text string) string { return "## " + name + "\n\n" + strings.TrimSpace(text) }

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}

func reportSection(g *graph.Graph, p graph.PhaseID) string {
	return "## report\n\nEnd your reply with one JSON object of this form, and nothing after it:\n\n```json\n" +
		strings.TrimSpace(g.Phases[p].Envelope.Example()) + "\n```"
}

func envelopeCorrection(g *graph.Graph, p graph.PhaseID, problems []string) string {
	var b strings.Builder
	b.WriteString("Your report could not be used:\n")
	for _, pr := range problems {
		b.WriteString("- " + pr + "\n")
	}
	b.WriteString("\nDo not do any further work. Answer with the report alone: one JSON object of this form, and nothing else.\n\n```json\n")
	b.WriteString(strings.TrimSpace(g.Phases[p].Envelope.Example()) + "\n```")
	return b.String()
}

// cutOffText is for an agent that remembers a turn which did not come to its end.
func cutOffText(g *graph.Graph) string {
	became := "What it had changed in the workspace was undone"
	if g.Isolation == graph.Checkout {
		became = "What it had changed in the workspace is still there"
	}
	return "The turn before this one was cut off. " + became + ": go by what the files are now, and do again what is missing."
}

// checkCorrections are the texts for a boundary and for gates that failed.
func checkCorrections(wk *work) []string {
	var parts []string
	if len(wk.violations) > 0 {
		parts = append(parts, "You changed what this phase may not change:\n"+checksText(wk.violations, nil)+
			"\n\nKeep to the paths that this phase may write. If the task cannot be done within them, report status \"blocked\" and say what is needed.")
	}
	if failed := checksText(nil, wk.verdicts); failed != "" {
		parts = append(parts, "These checks failed:\n"+failed+
			"\n\nMend the work, or correct the claim in your report if the claim is what is wrong. Then report again, for the whole of this phase.")
	}
	return parts
}

// Start is a command as it is started.
type Start struct {
	Shell   string   // set for a shell text
	Argv    []string // set for an argv
	Dir     string   // relative to the workspace
	Env     []string // NAME=value, the project's, the command's and the phase's in this order, then Foundry's
	Message string   // of git_commit
}

// Resolve renders what a code phase starts.
func Resolve(g *graph.Graph, s State, p graph.PhaseID, w World) (Start, error) {
	g = s.Graph(g)
	ph := &g.Phases[p]
	out := Start{Shell: ph.Script.Shell, Dir: ph.Dir}
	var v dsl.Values
	if len(ph.Script.Argv) > 0 || len(ph.Env) > 0 || ph.Message != nil { // most scripts read nothing
		v = w.into(valuesOf(g, s, p, nil))
	}
	var err error
	if out.Argv, err = renderAll(ph.Script.Argv, v); err != nil {
		return out, err
	}
	if out.Env, err = environment(ph.Env, v); err != nil {
		return out, err
	}
	out.Env = append(out.Env, "FOUNDRY_RUN_ID="+s.info.ID, "FOUNDRY_PHASE="+ph.Name, fmt.Sprintf("FOUNDRY_VISIT=%d", s.phases[p].visits),
		"FOUNDRY_HANDOFF_DIR="+w.HandoffDir, "FOUNDRY_FEEDBACK="+strings.ReplaceAll(s.phases[p].work.given, "\x00", ""))
	if ph.Message != nil {
		if out.Message, err = ph.Message.Render(v); err != nil {
			return out, err
		}
		out.Message = strings.TrimSpace(out.Message)
	}
	if out.Message == "" && ph.Kind == graph.Commit {
		out.Message = s.commitMessage(g, p)
	}
	return out, nil
}

// ResolveCommand renders a gate's command, with the environment of its phase.
func ResolveCommand(g *graph.Graph, s State, p graph.PhaseID, c *graph.Command, w World) (Start, error) {
	g = s.Graph(g)
	env := append(append([]graph.EnvVar{}, g.Project.Env...), c.Env...)
	env = append(env, g.Phases[p].Env...)
	return resolveScript(c.Script, c.Dir, env, g.Phases[p].Name, s.info.ID, w.into(valuesOf(g, s, p, nil)))
}

// ResolveCriterion renders the command of a criterion of the pipeline that a call runs, of the run's own for -1.
func ResolveCriterion(g *graph.Graph, s State, call graph.PhaseID, c *graph.Command, w World) (Start, error) {
	g = s.Graph(g)
	name := ""
	if call >= 0 {
		name = g.Phases[call].Name
	}
	return resolveScript(c.Script, c.Dir, append(append([]graph.EnvVar{}, g.Project.Env...), c.Env...), name, s.info.ID, w.into(valuesIn(g, s, call, -1, nil)))
}

// ResolveSetup renders a command that makes a fresh worktree ready, before anything of the run has started.
func ResolveSetup(g *graph.Graph, info RunInfo, script graph.Script) (Start, error) {
	s := State{info: &info}
	return resolveScript(script, "", g.Project.Env, "", info.ID, World{}.into(valuesOf(g, s, -1, nil)))
}

func resolveScript(script graph.Script, dir string, env []graph.EnvVar, phase, run string, v dsl.Values) (Start, error) {
	out := Start{Shell: script.Shell, Dir: dir}
	var err error
	if out.Argv, err = renderAll(script.Argv, v); err != nil {
		return out, err
	}
	if out.Env, err = environment(env, v); err != nil {
		return out, err
	}
	out.Env = append(out.Env, "FOUNDRY_RUN_ID="+run)
	if phase != "" {
		out.Env = append(out.Env, "FOUNDRY_PHASE="+phase)
	}
	return out, nil
}

// AgentEnvironment renders an agent's environment for a visit: the project's and the phase's, and by itself
// the agent's own, which wins over everything else.
func AgentEnvironment(g *graph.Graph, s State, p graph.PhaseID, agent int, w World) (shared, own []string, err error) {
	g = s.Graph(g)
	v := w.into(valuesOf(g, s, p, nil))
	if shared, err = environment(append(append([]graph.EnvVar{}, g.Project.Env...), g.Phases[p].Env...), v); err != nil {
		return nil, nil, err
	}
	own, err = environment(g.Agents[agent].Env, v)
	return shared, own, err
}

func renderAll(list []*dsl.Template, v dsl.Values) ([]string, error) {
	var out []string
	for _, t := range list {
		text, err := t.Render(v)
		if err != nil {
			return nil, err
		}
		out = append(out, strings.ReplaceAll(text, "\x00", ""))
	}
	return out, nil
}

func environment(list []graph.EnvVar, v dsl.Values) ([]string, error) {
	var out []string
	for _, e := range list {
		text, err := e.Value.Render(v)
		if err != nil {
			return nil, fmt.Errorf("env %s: %w", e.Name, err)
		}
		out = append(out, e.Name+"="+strings.ReplaceAll(text, "\x00", ""))
	}
	return out, nil
}

// Question renders what an ask phase asks.
func Question(g *graph.Graph, s State, p graph.PhaseID) (string, error) {
	g = s.Graph(g)
	t := g.Phases[p].Question
	if t == nil {
		return "", nil
	}
	text, err := t.Render(World{Context: s.phases[p].work.context}.into(valuesOf(g, s, p, nil)))
	return strings.TrimSpace(text), err
}

// checkTexts renders once everything that must not miss a value, so that the phase fails before anything is
// started for it.
func checkTexts(g *graph.Graph, s State, p graph.PhaseID) error {
	switch g.Phases[p].Kind {
	case graph.Ask:
		_, err := Question(g, s, p)
		return err
	case graph.AgentWork:
		if _, _, err := AgentEnvironment(g, s, p, g.Phases[p].Agent, World{}); err != nil {
			return err
		}
		if r := g.Phases[p].Review; r != nil {
			if _, _, err := AgentEnvironment(g, s, p, r.Agent, World{}); err != nil {
				return err
			}
		}
		_, err := wholePrompt(g, s, p, World{}.into(valuesOf(g, s, p, nil)), nil)
		return err
	case graph.Calls:
		_, err := settings(g, s, p)
		return err
	case graph.FansOut:
		return nil // reading the list is its work
	}
	_, err := Resolve(g, s, p, World{})
	return err
}

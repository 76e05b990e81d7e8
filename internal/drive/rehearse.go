package drive

import (
	"strings"

	"foundry/dsl"
	"foundry/graph"
	"foundry/runner"
)

// Rehearsal is what one phase would send or start. What only a run can know stands as it is written.
type Rehearsal struct {
	Phase    string   `json:"phase"`
	Kind     string   `json:"kind"`
	Agent    string   `json:"agent,omitempty"`
	Review   string   `json:"review,omitempty"` // the agent that judges it
	Prompt   string   `json:"prompt,omitempty"`
	Command  string   `json:"command,omitempty"`
	Dir      string   `json:"dir,omitempty"`
	Env      []string `json:"env,omitempty"`
	Question string   `json:"question,omitempty"`
	Message  string   `json:"message,omitempty"`
	Writes   string   `json:"writes,omitempty"`
}

// Rehearse renders every phase's texts for a run that has not begun.
func Rehearse(g *graph.Graph, info runner.RunInfo) ([]Rehearsal, error) {
	for name, value := range map[string]*string{"run_id": &info.ID, "branch": &info.Branch, "base": &info.Base, "worktree": &info.Worktree} {
		if *value == "" {
			*value = asWritten(name)
		}
	}
	world := runner.World{Context: asWritten("context"), HandoffDir: asWritten("handoff_dir")}
	state, _, err := runner.Step(g, runner.New(g), runner.Event{Kind: runner.RunStarted, Run: &info})
	if err != nil {
		return nil, err
	}
	out := make([]Rehearsal, 0, len(g.Phases))
	for i := range g.Phases {
		ph := &g.Phases[i]
		r := Rehearsal{Phase: ph.Name, Kind: ph.Kind.String(), Dir: ph.Dir}
		for _, v := range ph.Env {
			r.Env = append(r.Env, v.Name+"="+v.Value.Source())
		}
		switch ph.Kind {
		case graph.FansOut: // what its items are, only a run knows
			r.Command, r.Prompt = g.What(ph.ID), strings.TrimSpace(source(ph.Prompt))
		case graph.AgentWork:
			agent := &g.Agents[ph.Agent]
			r.Agent, r.Writes = agent.Name+" on "+agent.Harness, writesText(ph)
			if ph.Review != nil {
				judge := &g.Agents[ph.Review.Agent]
				r.Review = judge.Name + " on " + judge.Harness
			}
			m, err := runner.Prompt(g, state, runner.Command{ID: runner.ID{Kind: runner.SendTurn, Phase: ph.ID}, Purpose: runner.ForPrompt, Agent: ph.Agent, Session: 1}, world, false)
			if err != nil {
				return nil, err
			}
			r.Prompt = strings.TrimSpace(m.System + "\n\n" + m.Text)
		case graph.Ask:
			r.Question = source(ph.Question)
		case graph.Commit:
			r.Command, r.Message = "git commit", source(ph.Message)
		case graph.Calls:
			r.Command = g.What(ph.ID)
		default:
			r.Command = ph.Script.Label
		}
		out = append(out, r)
	}
	for i := range g.After {
		a := &g.After[i]
		r := Rehearsal{Phase: a.ID, Kind: "after " + a.On.String(), Command: a.Command.Script.Label, Dir: a.Command.Dir}
		for _, v := range a.Command.Env {
			r.Env = append(r.Env, v.Name+"="+v.Value.Source())
		}
		out = append(out, r)
	}
	return out, nil
}

// asWritten is the template of a name that only a run can know.
func asWritten(name string) string { return "{{" + name + "}}" }

func source(t *dsl.Template) string {
	if t == nil {
		return ""
	}
	return t.Source()
}

func writesText(ph *graph.Phase) string {
	if ph.Boundary.ReadOnly() {
		return "nothing"
	}
	var parts []string
	for _, l := range ph.Boundary.Writes {
		parts = append(parts, strings.Join(l.Globs, " "))
	}
	if len(parts) == 0 {
		return "anything that is not protected"
	}
	return strings.Join(parts, " and ")
}

package drive

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"foundry/glob"
	"foundry/graph"
	"foundry/internal/harness"
	"foundry/runner"
)

// This file answers the permission requests of agents, all of them. What a request says is believed only as far as it
// restricts the agent: whatever it is allowed, the boundary is checked when it has ended.

// permits says what one agent may do in one phase.
type permits struct {
	root     string // the top of the workspace, with no symlink in it
	boundary glob.Boundary
	policy   string // allow, deny or ask: for what the boundary does not decide
}

// answer decides about a request. ask says that a person has to.
func (p permits) answer(r harness.Request) (d harness.Decision, ask bool) {
	for _, path := range r.Tool.Paths {
		if why := p.refuses(path, r.Tool.Kind == harness.Read); why != "" {
			return harness.Decision{Reason: why}, false
		}
	}
	switch r.Tool.Kind {
	case harness.Read, harness.Think:
		return harness.Decision{Allow: true}, false
	case harness.Edit:
		if len(r.Tool.Paths) > 0 {
			return harness.Decision{Allow: true}, false
		}
	}
	switch p.policy {
	case "allow":
		return harness.Decision{Allow: true}, false
	case "ask":
		return harness.Decision{}, true
	}
	return harness.Decision{Reason: fmt.Sprintf("%s is not permitted to this agent (permissions: deny); go on without it", r.Tool.Name)}, false
}

// permission puts an agent's request to a person. Who does not answer within the agent's turn_timeout has refused; the
// clocks of the turn and of the run stand still meanwhile.
func (d *driver) permission(ctx context.Context, c runner.Command, agent *graph.Agent, r harness.Request, send func(...runner.Event)) harness.Decision {
	if d.Ask == nil {
		return harness.Decision{Reason: "nobody can be asked"}
	}
	t := newTeller(d.named(c, runner.PermissionAsked), d.Tree.Dir(), d.Record.Mask(), nil, nil)
	asked := t.note
	asked.Turn, asked.Agent, asked.Tool = c.ID.Turn, agent.Name, t.toolOf(r.Tool)
	asked.Text = oneLine(fmt.Sprintf("may %s use %s?", agent.Name, t.doing(harness.Activity{Tool: r.Tool, Text: r.Title})))
	send(asked)
	if agent.TurnTimeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, agent.TurnTimeout)
		defer cancel()
	}
	run := d.Record.ID()
	answer, ok := d.Ask(ctx, Question{Run: run, Phase: asked.Phase, Text: asked.Text, Diff: "foundry logs " + run + " " + asked.Phase})
	answered := d.named(c, runner.PermissionAnswered)
	answered.Turn, answered.Agent = c.ID.Turn, agent.Name
	decision := harness.Decision{Reason: "nobody answered whether it may be used; go on without it"}
	if ok && ctx.Err() == nil {
		answered.Answer, answered.Text, answered.Who = "reject", answer.Note, answer.Who
		decision.Reason = "a person refused it"
		if answer.Note != "" {
			decision.Reason += ": " + answer.Note
		}
		if answer.Approve {
			answered.Answer, decision = "approve", harness.Decision{Allow: true}
		}
	}
	send(answered)
	return decision
}

// refuses says why a path may not be touched, or, with reading, not be read; "" when it may.
func (p permits) refuses(path string, reading bool) string {
	rel, err := filepath.Rel(p.root, resolved(path))
	if err != nil || !filepath.IsLocal(rel) {
		return fmt.Sprintf("%s is outside the workspace %s", path, p.root)
	}
	rel = filepath.ToSlash(rel)
	if reading || rel == "." || glob.InHandoff(rel) {
		return ""
	}
	if why, ok := p.boundary.Check(rel); !ok {
		return fmt.Sprintf("%s: %s", rel, why)
	}
	return ""
}

// resolved is a path with the symlinks in it followed as far as it exists.
func resolved(path string) string {
	path = filepath.Clean(path)
	links := 0
	for at, rest := path, ""; ; {
		if real, err := filepath.EvalSymlinks(at); err == nil {
			return filepath.Join(real, rest)
		}
		if target, err := os.Readlink(at); err == nil { // a link to what is not there yet is written through
			if !filepath.IsAbs(target) {
				target = filepath.Join(filepath.Dir(at), target)
			}
			if links++; links > 40 {
				return path // a circle, which nothing can be written through
			}
			at = target
			continue
		}
		parent := filepath.Dir(at)
		if parent == at {
			return path
		}
		at, rest = parent, filepath.Join(filepath.Base(at), rest)
	}
}

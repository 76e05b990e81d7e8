package drive

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"sync"

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

// asker answers the requests of one turn.
type asker struct {
	d     *driver
	state runner.State
	c     runner.Command
	agent *graph.Agent
	may   permits
	send  func(...runner.Event)
	stop  context.CancelFunc // ends the turn

	mu   sync.Mutex
	open *runner.Event // the request for which the turn was stopped, as it is told; nil: it was not
}

// permit decides about a request: by the boundary, by what a person has said to it in this visit, by the policy, or by
// asking a person. Where nobody can be asked the turn ends, and the request stays open.
func (a *asker) permit(ctx context.Context, r harness.Request) harness.Decision {
	decision, ask := a.may.answer(r)
	if !ask {
		return decision
	}
	t := newTeller(a.d.named(a.c, runner.PermissionAsked), a.d.treeOf(a.c).Dir(), a.d.Record.Mask(), nil, nil)
	asked := t.note
	asked.Turn, asked.Agent, asked.Tool = a.c.ID.Turn, a.agent.Name, t.toolOf(r.Tool)
	if whole := t.mask.Text(r.Tool.Command); whole != asked.Tool.Command {
		sum := sha256.Sum256([]byte(whole))
		asked.Tool.Whole = hex.EncodeToString(sum[:])
	}
	asked.Text = oneLine(fmt.Sprintf("may %s use %s?", a.agent.Name, t.doing(harness.Activity{Tool: r.Tool, Text: r.Title})))
	if allow, note, known := a.state.Permitted(a.c.ID.Phase, a.agent.Name, *asked.Tool); known {
		return decided(allow, note)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.open == nil && a.d.Ask != nil {
		if decision, ok := a.put(ctx, asked); ok {
			return decision
		}
	}
	if a.open == nil && ctx.Err() == nil {
		a.open = &asked
		a.stop()
	}
	return harness.Decision{Reason: "nobody can be asked now"}
}

// put puts a request to whoever is at the terminal. Who does not answer within the agent's turn_timeout has refused; the
// clocks of the turn and of the run stand still meanwhile. It is false when the question was left.
func (a *asker) put(ctx context.Context, asked runner.Event) (harness.Decision, bool) {
	a.send(asked)
	limited := ctx
	if a.agent.TurnTimeout > 0 {
		var cancel context.CancelFunc
		limited, cancel = context.WithTimeout(ctx, a.agent.TurnTimeout)
		defer cancel()
	}
	run := a.d.Record.ID()
	answer, ok := a.d.Ask(limited, Question{Run: run, Phase: asked.Phase, Text: asked.Text, Diff: "foundry logs " + run + " " + runner.Typed(asked.Phase)})
	answered := a.d.named(a.c, runner.PermissionAnswered)
	answered.Turn, answered.Agent = a.c.ID.Turn, a.agent.Name
	ok = ok && limited.Err() == nil
	if ok {
		answered.Answer, answered.Text, answered.Who = "reject", answer.Note, answer.Who
		if answer.Approve {
			answered.Answer = "approve"
		}
	}
	a.send(answered)
	switch {
	case ok:
		return decided(answer.Approve, answer.Note), true
	case limited.Err() != nil:
		return harness.Decision{Reason: "nobody answered whether it may be used; go on without it"}, true
	}
	return harness.Decision{}, false
}

// decided is a person's word.
func decided(allow bool, note string) harness.Decision {
	if allow {
		return harness.Decision{Allow: true}
	}
	reason := "a person refused it"
	if note != "" {
		reason += ": " + note
	}
	return harness.Decision{Reason: reason}
}

// stopped is the request for which the turn was stopped; nil: it was not.
func (a *asker) stopped() *runner.Event {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.open
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

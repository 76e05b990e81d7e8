package graph

import (
	"bytes"
	"encoding/json"

	"foundry/dsl"
)

// This file gives a graph the stable JSON shape that `graph --format json` prints and a run's record keeps.

type jsonGraph struct {
	Pipeline    string          `json:"pipeline"`
	Description string          `json:"description"`
	Builtin     bool            `json:"builtin"`
	File        string          `json:"file"`
	Request     string          `json:"request"` // optional, required, none
	Isolation   string          `json:"isolation"`
	Merge       string          `json:"merge"`
	Accept      string          `json:"accept"`
	Params      []jsonParam     `json:"params"`
	Limits      jsonLimits      `json:"limits"`
	Phases      []jsonPhase     `json:"phases"`
	Criteria    []jsonCriterion `json:"criteria"`
	After       []jsonAfter     `json:"after"`
	Bound       jsonBound       `json:"bound"`
	Fingerprint string          `json:"fingerprint"`
}

type jsonParam struct {
	Name     string   `json:"name"`
	Type     string   `json:"type"`
	Default  *string  `json:"default"`
	Required bool     `json:"required"`
	Choices  []string `json:"choices"`
}

// jsonLimits has null for what is not limited; time is in seconds.
type jsonLimits struct {
	Time   *float64 `json:"time"`
	Turns  *int     `json:"turns"`
	Tokens *int     `json:"tokens"`
	Cost   *float64 `json:"cost"`
	Phases *int     `json:"phases"`
}

type jsonPhase struct {
	ID          string      `json:"id"`
	Kind        string      `json:"kind"` // agent, command, git_commit, git_status, noop, ask, call, each
	What        string      `json:"what"`
	Agent       string      `json:"agent,omitempty"`
	Command     string      `json:"command,omitempty"`
	Call        *jsonCall   `json:"call,omitempty"`
	Each        *jsonEach   `json:"each,omitempty"`
	Envelope    string      `json:"envelope,omitempty"`
	Detour      bool        `json:"detour"`
	Optional    bool        `json:"optional"`
	Needs       []string    `json:"needs"`
	When        string      `json:"when,omitempty"`
	Writes      [][]string  `json:"writes"`             // each list must allow a path; none: what is not protected
	Parallel    string      `json:"parallel,omitempty"` // worktree, where it works in one of its own
	Retries     int         `json:"retries"`
	Repeat      int         `json:"repeat,omitempty"` // of a command: how many times in a row it must pass
	Review      *jsonReview `json:"review,omitempty"`
	Gates       []string    `json:"gates"`
	Routes      []jsonRule  `json:"routes"`
	Visits      int         `json:"visits"` // at most
	Fingerprint string      `json:"fingerprint"`
}

// jsonReview is who judges the work of a phase, and what follows when it does not pass.
type jsonReview struct {
	Agent          string `json:"agent"`
	Retries        int    `json:"retries"`
	RevertRejected bool   `json:"revert_rejected"`
}

// jsonAfter is a command that follows the end of a run.
type jsonAfter struct {
	ID   string `json:"id"`
	On   string `json:"on"` // accepted, rejected, always
	When string `json:"when,omitempty"`
	Run  string `json:"run"`
}

// jsonCall is what a call runs; the phases of it follow under the names call/phase.
type jsonCall struct {
	Pipeline string            `json:"pipeline"`
	Set      map[string]string `json:"set"`
	Accept   string            `json:"accept"`
	Criteria []jsonCriterion   `json:"criteria"`
}

// jsonEach is the list over which a phase is repeated.
type jsonEach struct {
	In      string     `json:"in"`
	As      string     `json:"as"`
	Limit   int        `json:"limit"`
	Require string     `json:"require"` // all, any
	Kind    string     `json:"kind"`    // of an item
	Call    string     `json:"call,omitempty"`
	Routes  []jsonRule `json:"routes"` // those of an item, which lead to itself
	Visits  int        `json:"visits"` // of all items of one visit, at most
}

type jsonRule struct {
	On      string `json:"on"`
	When    string `json:"when,omitempty"`
	To      string `json:"to"` // a phase, next, finish or abort
	Way     string `json:"way,omitempty"`
	Retry   int    `json:"retry,omitempty"`
	Message string `json:"message,omitempty"`
	Text    string `json:"text"`
}

type jsonCriterion struct {
	Name     string `json:"name"`
	Run      string `json:"run"`
	Required bool   `json:"required"`
}

type jsonBound struct {
	Visits int     `json:"visits"`
	Turns  int     `json:"turns"`
	Time   float64 `json:"time"` // seconds
	First  string  `json:"first"`
}

// MarshalJSON writes the stable shape. Lists are never null.
func (g *Graph) MarshalJSON() ([]byte, error) {
	request := "optional"
	if g.NeedRequest {
		request = "required"
	} else if g.NoRequest {
		request = "none"
	}
	out := jsonGraph{Pipeline: g.Pipeline, Description: g.Description, Builtin: g.Builtin, File: g.File, Request: request,
		Isolation: g.Isolation.String(), Merge: g.Merge.String(), Accept: g.AcceptText, Params: []jsonParam{},
		Phases: []jsonPhase{}, Fingerprint: g.Fingerprint,
		Bound:  jsonBound{Visits: g.Bound.Phases, Turns: g.Bound.Turns, Time: g.Bound.Time.Seconds(), First: g.Bound.First},
		Limits: jsonLimits{Turns: some(g.Limits.Turns), Tokens: some(g.Limits.Tokens), Cost: some(g.Limits.Cost), Phases: some(g.Limits.Phases), Time: some(g.Limits.Time.Seconds())}}
	for i := range g.Params {
		p := &g.Params[i]
		param := jsonParam{Name: p.Name, Type: p.Type.String(), Required: p.Required, Choices: list(p.Choices)}
		if p.Has {
			param.Default = &p.Default
		}
		out.Params = append(out.Params, param)
	}
	for i := range g.Phases {
		out.Phases = append(out.Phases, g.jsonPhase(&g.Phases[i]))
	}
	out.Criteria, out.After = jsonCriteria(g.Criteria), []jsonAfter{}
	for i := range g.After {
		a := &g.After[i]
		row := jsonAfter{ID: a.ID, On: a.On.String(), Run: a.Command.Script.Label}
		if a.When != nil {
			row.When = a.When.Text()
		}
		out.After = append(out.After, row)
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(out)
	return bytes.TrimRight(b.Bytes(), "\n"), err
}

func jsonCriteria(list []Criterion) []jsonCriterion {
	out := []jsonCriterion{}
	for i := range list {
		c := &list[i]
		out = append(out, jsonCriterion{Name: c.Name, Run: c.Command.Script.Label, Required: c.Required})
	}
	return out
}

func (g *Graph) jsonPhase(ph *Phase) jsonPhase {
	out := jsonPhase{ID: ph.Name, Kind: ph.Kind.String(), What: g.What(ph.ID), Command: ph.Command, Detour: ph.Detour, Optional: ph.Optional,
		Needs: []string{}, Writes: [][]string{}, Retries: ph.Retries, Gates: []string{}, Routes: []jsonRule{},
		Visits: g.Bound.Visits[ph.ID], Fingerprint: ph.Fingerprint}
	if ph.aside() {
		out.Parallel = "worktree"
	}
	if ph.Repeat > 1 {
		out.Repeat = ph.Repeat
	}
	if ph.Agent >= 0 {
		out.Agent = g.Agents[ph.Agent].Name
	}
	if r := ph.Review; r != nil {
		out.Review = &jsonReview{Agent: g.Agents[r.Agent].Name, Retries: r.Retries, RevertRejected: r.Revert}
	}
	if ph.Envelope != nil {
		out.Envelope = ph.Envelope.Name
	}
	if ph.When != nil {
		out.When = ph.When.Text()
	}
	if ph.Call != nil {
		out.Call = &jsonCall{Pipeline: ph.Call.Pipeline, Set: map[string]string{}, Accept: ph.Call.AcceptText, Criteria: jsonCriteria(ph.Call.Criteria)}
		for _, s := range ph.Call.Set {
			out.Call.Set[s.Name] = s.Value.Source()
		}
	}
	if e := ph.Each; e != nil {
		out.Each = &jsonEach{In: e.In.Text(), As: e.As, Limit: e.Limit, Require: "all", Kind: e.Kind.String(), Routes: []jsonRule{}, Visits: e.itemVisits()}
		if e.Any {
			out.Each.Require = "any"
		}
		if e.Callee != nil {
			out.Each.Call = e.Callee.Pipeline
		}
		for i := range e.Rules {
			out.Each.Routes = append(out.Each.Routes, g.jsonRule(&e.Rules[i]))
		}
	}
	for _, n := range ph.Needs {
		out.Needs = append(out.Needs, g.Phases[n].Name)
	}
	for _, l := range ph.Boundary.Writes {
		out.Writes = append(out.Writes, list(l.Globs))
	}
	for i := range ph.Gates {
		out.Gates = append(out.Gates, ph.Gates[i].Spec.Name)
	}
	for _, r := range g.RulesOf(ph.ID) {
		out.Routes = append(out.Routes, g.jsonRule(&r))
	}
	return out
}

func (g *Graph) jsonRule(r *Rule) jsonRule {
	out := jsonRule{On: r.Trigger.String(), To: r.Action.String(), Way: r.Way.String(), Retry: r.Retry, Message: r.Message, Text: r.Text}
	if r.Action == dsl.Goto {
		out.To = g.to(r)
	}
	if r.When != nil {
		out.When = r.When.Text()
	}
	return out
}

// some is a pointer to a limit, nil for none.
func some[T int | float64](v T) *T {
	if v == 0 {
		return nil
	}
	return &v
}

func list(s []string) []string {
	if s == nil {
		return []string{}
	}
	return s
}

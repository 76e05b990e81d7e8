package lsp

// What the texts of the language are: names of something, words, expressions, templates. The table of keys says what
// a value looks like; this says what it means, for the keys where that matters to an editor.

import (
	"foundry/graph"
	"foundry/schema"
)

// use is what a text is.
type use struct {
	kind  useKind
	names graph.NameKind // of useName
	place graph.Place    // of useExpr and useTemplate
	level int            // how deep below the key's value it stands at least
}

type useKind uint8

const (
	useNothing useKind = iota // any text
	useWord                   // one of a few words
	useName                   // the name of a definition
	useParent                 // the same, and builtin/ may stand before it
	usePhase                  // the id of a phase
	useEarlier                // of one further up
	useInput                  // what an agent can be handed
	useID                     // the id that a phase gives itself
	useHarness
	useStep
	useRoute
	useExpr
	useTemplate
)

// uses lists the texts by key; of lists, pairs and the like it is what each text in them is.
var uses = map[string]use{
	"file.default":           {kind: useName, names: graph.PipelineName},
	"test.pipeline":          {kind: useName, names: graph.PipelineName},
	"phase.call":             {kind: useName, names: graph.PipelineName},
	"pipeline.extends":       {kind: useParent, names: graph.PipelineName},
	"agent.extends":          {kind: useParent, names: graph.AgentName},
	"agent.fallback":         {kind: useName, names: graph.AgentName, level: 1},
	"phase.agent":            {kind: useName, names: graph.AgentName},
	"phase.review":           {kind: useName, names: graph.AgentName},
	"phase.command":          {kind: useName, names: graph.CommandName},
	"criterion.command":      {kind: useName, names: graph.CommandName},
	"envelope.extends":       {kind: useName, names: graph.EnvelopeName},
	"agent.envelope":         {kind: useName, names: graph.EnvelopeName},
	"phase.envelope":         {kind: useName, names: graph.EnvelopeName},
	"phase.gates":            {kind: useName, names: graph.GateName, level: 1},
	"file.gates":             {kind: useName, names: graph.GateName, level: 1},
	"phase.id":               {kind: useID},
	"patch.after":            {kind: usePhase},
	"phase.needs":            {kind: useEarlier, level: 1},
	"phase.inputs":           {kind: useInput, level: 1},
	"expect.path":            {kind: usePhase, level: 1},
	"expect.not_run":         {kind: usePhase, level: 1},
	"project.harness":        {kind: useHarness},
	"agent.harness":          {kind: useHarness},
	"phase.builtin":          {kind: useStep},
	"phase.route":            {kind: useRoute, place: graph.After},
	"phase.when":             {kind: useExpr, place: graph.Before},
	"pipeline.accept":        {kind: useExpr, place: graph.Before},
	"each.in":                {kind: useExpr, place: graph.Before},
	"gate/check.expr":        {kind: useExpr, place: graph.After},
	"agent.system":           {kind: useTemplate, place: graph.Inside},
	"agent.prompt":           {kind: useTemplate, place: graph.Inside},
	"phase.prompt":           {kind: useTemplate, place: graph.Inside},
	"phase.ask":              {kind: useTemplate, place: graph.Inside},
	"phase.message":          {kind: useTemplate, place: graph.Inside},
	"phase.set":              {kind: useTemplate, place: graph.Inside, level: 1},
	"project.env":            {kind: useTemplate, place: graph.Inside, level: 1},
	"command.env":            {kind: useTemplate, place: graph.Inside, level: 1},
	"agent.env":              {kind: useTemplate, place: graph.Inside, level: 1},
	"phase.env":              {kind: useTemplate, place: graph.Inside, level: 1},
	"phase.run":              {kind: useTemplate, place: graph.Inside, level: 1}, // of an argv; in a shell braces are text
	"command.run":            {kind: useTemplate, place: graph.Inside, level: 1},
	"file.commands":          {kind: useTemplate, place: graph.Inside, level: 2},
	"worktree.setup":         {kind: useTemplate, place: graph.Inside, level: 2},
	commandGate + ".run":     {kind: useTemplate, place: graph.Inside, level: 1},
	commandGate + ".command": {kind: useName, names: graph.CommandName},
}

const commandGate = gatePrefix + "command_passes"

// useOf is what a scalar at a place is.
func useOf(w want) use {
	k := w.key
	if k == nil {
		return use{}
	}
	if u, ok := uses[k.Where+"."+k.Name]; ok {
		if w.level < u.level {
			return use{}
		}
		return u
	}
	if len(k.Enum) > 0 || k.Shape == schema.ShapeBool || k.Shape == schema.ShapeExitCodes && w.level == 0 {
		return use{kind: useWord}
	}
	return use{}
}

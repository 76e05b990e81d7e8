package cli

import (
	"strings"

	"foundry/diag"
	"foundry/internal/harness"
)

// This file lets a run try agents on another harness than the pipeline file says: `up --agent NAME=HARNESS`. The choice
// is kept with the run, so that a resume goes on with it.

// tryAgents takes the values of --agent: NAME=HARNESS, or HARNESS for every agent that is not named. It comes before
// the project is compiled.
func (p *project) tryAgents(values []string) error {
	for _, value := range values {
		agent, kind, named := strings.Cut(value, "=")
		if !named {
			agent, kind = "", value
		}
		if named && agent == "" {
			return badUsage("--agent %s: there is no name before the =", value).hintf("write NAME=HARNESS, or HARNESS alone for every agent")
		}
		if _, err := harness.Named(kind); err != nil {
			var known []string
			for _, info := range harness.Table() {
				known = append(known, info.Name)
			}
			return badUsage("--agent %s: %w", value, err).hintf("the harnesses are %s", strings.Join(known, ", "))
		}
		if !p.names.Try(agent, kind) {
			hint := "the agents are " + strings.Join(p.names.AgentNames(), ", ")
			if near := diag.Suggest(agent, p.names.AgentNames()); near != "" {
				hint = "did you mean " + near + "=" + kind + "?"
			}
			return badUsage("--agent %s: there is no agent %q", value, agent).hintf("%s", hint)
		}
	}
	p.tried = values
	return nil
}

package harness

import (
	"os"
	"strconv"

	"foundry/internal/process"
)

// environment is what an agent's process is started with: the variables of the turn without those that would
// lead its git astray or make it think that it runs inside another agent, then what its kind of agent needs, then
// FOUNDRY_*, then the agent's own.
func environment(c Config, t Turn, preset []string) []string {
	base := t.Env
	if base == nil {
		base = os.Environ()
	}
	return process.Environ(base, preset, []string{
		"FOUNDRY_RUN_ID=" + c.RunID,
		"FOUNDRY_PHASE=" + t.Phase,
		"FOUNDRY_AGENT=" + c.Agent,
		"FOUNDRY_VISIT=" + strconv.Itoa(t.Visit),
		"FOUNDRY_ATTEMPT=" + strconv.Itoa(t.Attempt),
		"FOUNDRY_TURN=" + strconv.Itoa(t.Number),
		"FOUNDRY_SESSION_DIR=" + t.SessionDir,
		"FOUNDRY_HANDOFF_DIR=" + t.HandoffDir,
		"FOUNDRY_MODEL=" + model(c, t),
		"FOUNDRY_ITEM=" + t.Item,
	}, c.Env, t.Own)
}

func model(c Config, t Turn) string {
	if t.Model != "" {
		return t.Model
	}
	return c.Model
}

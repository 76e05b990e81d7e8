package process

import "time"

// RunToken is the environment variable that every process of a run carries; its value is the run's id.
const RunToken = "FOUNDRY_RUN_ID"

// Survivors returns the living processes that carry the run's id in their environment, whatever group or
// session they are in. Foundry itself is not among them. Only Linux can tell; elsewhere the list is empty.
func Survivors(run string) []int {
	if run == "" {
		return nil
	}
	return withToken(RunToken, run)
}

// EndSurvivors ends all processes of a run: TERM, the grace, KILL until none is left or two seconds have
// passed. It returns the descriptions of those it found.
func EndSurvivors(run string, grace time.Duration) (found []string) {
	pids := Survivors(run)
	for _, pid := range pids {
		found = append(found, describe(pid))
	}
	End(pids, false)
	for deadline := time.Now().Add(grace); len(pids) > 0 && time.Now().Before(deadline); pids = Survivors(run) {
		time.Sleep(pollTime)
	}
	for deadline := time.Now().Add(closeTime); len(pids) > 0 && time.Now().Before(deadline); pids = Survivors(run) {
		End(pids, true)
		time.Sleep(pollTime)
	}
	return found
}

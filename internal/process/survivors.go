package process

import (
	"slices"
	"time"
)

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

// EndSurvivors ends all processes of a run, and those that were given to this process (see AdoptOrphans), which
// may have dropped their environment: TERM, the grace, KILL until none is left or two seconds have passed. It
// returns the descriptions of those it found.
func EndSurvivors(run string, grace time.Duration) (found []string) {
	pids := left(run)
	for _, pid := range pids {
		found = append(found, describe(pid))
	}
	End(pids, false)
	for deadline := time.Now().Add(grace); len(pids) > 0 && time.Now().Before(deadline); pids = left(run) {
		time.Sleep(pollTime)
	}
	for deadline := time.Now().Add(closeTime); len(pids) > 0 && time.Now().Before(deadline); pids = left(run) {
		End(pids, true)
		time.Sleep(pollTime)
	}
	return found
}

// outside leaves out the processes that are in one of the groups.
func outside(pids []int, groups ...group) []int {
	return slices.DeleteFunc(pids, func(pid int) bool {
		return slices.ContainsFunc(groups, func(g group) bool { return g.has(pid) })
	})
}

// AwaitAbandoned waits until nothing works in a directory any more, or below it, that was started by a Foundry process
// which died since, killed with -9 perhaps: a git of it goes on for a moment, and whoever works in the same place
// meanwhile meets its locks and half-written files. The directory is named without links. It waits for at most the
// limit, and says whether all of it has ended. Only Linux can tell; elsewhere nothing is waited for.
func AwaitAbandoned(dir string, limit time.Duration) bool {
	for deadline := time.Now().Add(limit); len(abandoned(dir)) > 0; time.Sleep(pollTime) {
		if time.Now().After(deadline) {
			return false
		}
	}
	return true
}

// left lists each process that EndSurvivors is for once.
func left(run string) []int {
	pids := Survivors(run)
	for _, pid := range Orphans() {
		if !slices.Contains(pids, pid) {
			pids = append(pids, pid)
		}
	}
	return pids
}

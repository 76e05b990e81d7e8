package runner

import "foundry/graph"

// This file renders what follows the end of a run. Whether and when it starts is for those who settle runs: the machine
// has ended by then.

// AfterHolds evaluates the condition of a command of `after`, with its terms.
func AfterHolds(g *graph.Graph, s State, a *graph.AfterRun) (holds bool, seen []Seen, err error) {
	if a.When == nil {
		return true, nil, nil
	}
	holds, terms, err := a.When.Holds(valuesIn(g, s, -1, -1, nil))
	return holds, seenTerms(terms), err
}

// ResolveAfter renders a command of `after`. commit is what the run was merged as, "" when it was not.
func ResolveAfter(g *graph.Graph, s State, a *graph.AfterRun, status, commit string) (Start, error) {
	st, err := resolveScript(a.Command.Script, a.Command.Dir, a.Command.Env, "", s.info.ID, World{}.into(valuesIn(g, s, -1, -1, nil)))
	st.Env = append(st.Env, "FOUNDRY_STATUS="+status, "FOUNDRY_COMMIT="+commit)
	return st, err
}

package cli

import (
	"fmt"
	"strings"

	"foundry/graph"
	"foundry/internal/drive"
	"foundry/runner"
)

// dryRun shows what a run would send and start: every prompt and command of the pipeline, rendered as far as
// that is known before anything has run. It writes nothing and spends nothing.
func (s *session) dryRun(g *graph.Graph, info *runner.RunInfo, asJSON bool) error {
	rows, err := drive.Rehearse(g, *info)
	if err != nil {
		return failure(err)
	}
	if asJSON {
		return s.print(s.mask(g).Text(string(encodeJSON(rows))))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "pipeline %s, %s, at most %s and %s\n", g.Pipeline, count(len(g.Phases), "phase"), count(g.Bound.Phases, "visit"), count(g.Bound.Turns, "turn"))
	if worst := s.worst(g); worst != "" {
		fmt.Fprintf(&b, "a run takes at most %s\n", worst)
	}
	for _, r := range rows {
		fmt.Fprintf(&b, "\n== %s (%s)\n", r.Phase, r.Kind)
		for _, line := range [][2]string{{"agent", r.Agent}, {"reviewer", r.Review}, {"command", r.Command}, {"directory", r.Dir}, {"question", r.Question}, {"message", r.Message}, {"may write", r.Writes}} {
			if line[1] != "" {
				fmt.Fprintf(&b, "%s: %s\n", line[0], line[1])
			}
		}
		for _, v := range r.Env {
			fmt.Fprintf(&b, "env: %s\n", v)
		}
		if r.Prompt != "" {
			fmt.Fprintf(&b, "prompt:\n%s\n", indent(r.Prompt))
		}
	}
	return s.print(s.mask(g).Text(b.String()))
}

func indent(text string) string {
	return "  | " + strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n  | ")
}

package cli

import "foundry/internal/process"

// verbMaker makes a command. Its name stands beside it, so that a start of the program makes only the command
// that was asked for.
type verbMaker struct {
	name string
	make func(*session) verb
}

// verbMakers lists the commands in the order of the help. A command is one file that returns a verb, and one
// line here.
func verbMakers() []verbMaker {
	return []verbMaker{
		{"init", initVerb},
		{"up", upVerb},
		{"lint", lintVerb},
		{"fmt", fmtVerb},
		{"test", testVerb},
		{"graph", graphVerb},
		{"ls", lsVerb},
		{"explain", explainVerb},
		{"eject", ejectVerb},
		{"runs", runsVerb},
		{"show", showVerb},
		{"logs", logsVerb},
		{"diff", diffVerb},
		{"approve", approveVerb},
		{"reject", rejectVerb},
		{"resume", resumeVerb},
		{"kill", killVerb},
		{"merge", mergeVerb},
		{"discard", discardVerb},
		{"doctor", doctorVerb},
		{"schema", schemaVerb},
		{"lsp", lspVerb},
		{"demo", demoVerb},
		{"completion", completionVerb},
		{"version", versionVerb},
		{completeName, completeVerb},
		{process.GuardVerb, guardVerb},
	}
}

// allVerbs makes every command, for the help and for completion.
func allVerbs(s *session) []verb {
	var verbs []verb
	for _, m := range verbMakers() {
		verbs = append(verbs, m.make(s))
	}
	return verbs
}

// findVerb makes the command of a name. A name that there is not is a *problem with a suggestion.
func (s *session) findVerb(name string) (*verb, error) {
	for _, m := range verbMakers() {
		if m.name == name {
			v := m.make(s)
			return &v, nil
		}
	}
	names := []string{"help"}
	for _, v := range allVerbs(s) {
		if !v.Hidden {
			names = append(names, v.Name)
		}
	}
	p := badUsage("unknown command %q", name)
	if like := near(name, names); like != "" {
		return nil, p.hintf("did you mean %q?", like)
	}
	return nil, p.hintf("`foundry --help` lists the commands")
}

package cli

import "foundry/internal/process"

// verbMaker makes a command. Its name stands beside it, so that a start of the program makes only the command
// that was asked for.
type verbMaker struct {
	name  string
	make  func(*session) verb
	reach reach
}

// reach is what a command may do to a repository and its runs. The zero value is invalid.
type reach uint8

const (
	reads       reach = iota + 1 // it only reads, and executes nothing of the repository
	writesFiles                  // it writes the pipeline file, and executes nothing of the repository
	steers                       // it starts, continues, ends or lands runs, or writes into the checkout, and is refused from inside a run
	runsItsOwn                   // it is about no run of the repository
)

// verbMakers lists the commands in the order of the help. A command is one file that returns a verb, and one
// line here.
func verbMakers() []verbMaker {
	return []verbMaker{
		{"init", initVerb, writesFiles},
		{"up", upVerb, steers},
		{"watch", watchVerb, steers},
		{"lint", lintVerb, reads},
		{"fmt", fmtVerb, writesFiles},
		{"test", testVerb, reads},
		{"graph", graphVerb, reads},
		{"ls", lsVerb, reads},
		{"explain", explainVerb, reads},
		{"eject", ejectVerb, writesFiles},
		{"runs", runsVerb, reads},
		{"show", showVerb, reads},
		{"logs", logsVerb, reads},
		{"diff", diffVerb, reads},
		{"report", reportVerb, reads},
		{"costs", costsVerb, reads},
		{"approve", approveVerb, steers},
		{"reject", rejectVerb, steers},
		{"resume", resumeVerb, steers},
		{"rewind", rewindVerb, steers},
		{"kill", killVerb, steers},
		{"merge", mergeVerb, steers},
		{"restore", restoreVerb, steers},
		{"discard", discardVerb, steers},
		{"sweep", sweepVerb, steers},
		{"doctor", doctorVerb, reads},
		{"schema", schemaVerb, reads},
		{"lsp", lspVerb, reads},
		{"demo", demoVerb, steers},
		{"completion", completionVerb, reads},
		{"version", versionVerb, reads},
		{completeName, completeVerb, reads},
		{process.GuardVerb, guardVerb, runsItsOwn},
		{process.ConfineVerb, confineVerb, runsItsOwn},
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

// foreignVerbs are the words of other tools, with what they are called here.
var foreignVerbs = map[string]string{
	"run": "up", "start": "up", "exec": "up", "build": "up",
	"status": "show", "inspect": "show", "info": "show", "ps": "runs", "history": "runs", "log": "logs", "list": "ls",
	"check": "lint", "validate": "lint", "verify": "lint", "stop": "kill", "cancel": "kill", "abort": "kill",
	"continue": "resume", "retry": "resume", "accept": "approve", "deny": "reject", "land": "merge", "apply": "merge",
	"drop": "discard", "delete": "discard", "rm": "discard", "clean": "discard", "new": "init", "prune": "sweep", "gc": "sweep",
}

// findVerb makes the command of a name. A name that there is not is a *problem with a suggestion.
func (s *session) findVerb(name string) (*verb, error) {
	for _, m := range verbMakers() {
		if m.name == name {
			v := m.make(s)
			v.reach = m.reach
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
	if own := foreignVerbs[name]; own != "" {
		return nil, p.hintf("foundry's word is %q", own)
	}
	if like := near(name, names); like != "" {
		return nil, p.hintf("did you mean %q?", like)
	}
	return nil, p.hintf("`foundry --help` lists the commands")
}

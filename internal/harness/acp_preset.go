package harness

// preset is what is known of one agent that speaks the Agent Client Protocol. It is data only: whatever an agent does
// in its own way is a field here, so that one implementation drives all of them. Each agent's values are in a
// file of their own.
type preset struct {
	title   string   // as its makers call it
	program string   // an agent's argv in the pipeline file takes its place; "" when there must be one
	args    []string // behind it

	// modelFlag and modelEnv say how a model is chosen when the program starts. They are needed for models that
	// the agent does not offer by name in a session; "" is not at all.
	modelFlag, modelEnv string
	env                 []string // NAME=VALUE; the agent's own variables in the pipeline file win

	// The modes of a session. The first that the agent offers is taken; when it offers none of them its own
	// choice stands.
	reading []string // for a turn that is not to write
	asking  []string // for a turn that writes, when somebody answers permission requests
	writing []string // for a turn that writes, when nobody does

	install string   // the command that installs the program
	signs   []string // of a login: variables, and files as ~/…
	login   string   // what a person does to log in
	bwrap   bool     // on Linux its commands run in a sandbox for which the program bwrap must be there

	state     []Place // where it keeps what outlives its process
	noSandbox string  // why it cannot run in a sandbox of Foundry's; "" when it can

	effort       bool // it offers a choice of how long it thinks
	silent       bool // it tells no usage
	forgets      bool // it says that it can load sessions, and cannot
	lastStepOnly bool // the usage in a reply is that of the turn's last model request alone, so it is not taken
	usedPerCall  bool // each usage_update tells the tokens of one model request
	cost         bool // it tells the cost

	lacks []string // what it cannot do that others can, for the documentation
}

// anyACP drives an agent of which nothing is known but that it speaks the protocol. Its modes are found by the names
// that are in use.
func anyACP() preset {
	return preset{
		title:   "every agent that speaks the Agent Client Protocol",
		reading: []string{"plan", "read-only", "spec"},
		asking:  []string{"default", "build", "normal", "auto"},
		writing: []string{"acceptEdits", "auto-edit", "autoEdit", "auto", "build"},
	}
}

// speaks is the row of a harness that drives an agent over the protocol.
func speaks(name string, p preset) Info {
	return Info{Name: name, Harness: acpAgents{p}, Summary: p.title, Remembers: true, Resumes: !p.forgets,
		ReportsCost: p.cost, Permits: true, Effort: p.effort, Silent: p.silent, Program: p.program, Install: p.install, Login: p.login, LoginSigns: p.signs, Lacks: p.lacks, State: p.state, NoSandbox: p.noSandbox}
}

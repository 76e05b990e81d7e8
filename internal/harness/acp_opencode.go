package harness

// openCode drives opencode, which speaks the protocol by itself.
func openCode() preset {
	return preset{
		title:   "opencode",
		state:   openCodePlaces,
		program: "opencode",
		args:    []string{"acp"},
		// It asks for nothing unless it is told to, and updates itself while it runs.
		env: []string{"OPENCODE_DISABLE_AUTOUPDATE=1",
			`OPENCODE_PERMISSION={"edit":"ask","bash":"ask","webfetch":"ask","external_directory":"ask"}`},
		reading:      []string{"plan"},
		asking:       []string{"build"},
		writing:      []string{"build"},
		install:      "npm install -g opencode-ai",
		login:        "run `opencode auth login`",
		lastStepOnly: true,
		silent:       true,
		cost:         true,
		lacks: []string{"it tells the tokens of a turn's last model request only, so they are not counted",
			"it does not tell when a reply was cut off", "it repeats a failed model request for minutes: keep a stall_timeout"},
	}
}

package harness

// geminiCLI drives Gemini CLI, which speaks the protocol by itself.
func geminiCLI() preset {
	return preset{
		title:     "Gemini CLI",
		state:     geminiPlaces,
		program:   "gemini",
		args:      []string{"--acp", "--skip-trust"},
		modelFlag: "-m",
		// Without it a launcher stands between Foundry and the agent, which does not end when it is told to.
		env:     []string{"GEMINI_CLI_NO_RELAUNCH=true"},
		reading: []string{"plan"},
		asking:  []string{"default"},
		writing: []string{"autoEdit"},
		install: "npm install -g @google/gemini-cli",
		signs:   []string{"GEMINI_API_KEY", "GOOGLE_API_KEY", "~/.gemini/oauth_creds.json"},
		login:   "run `gemini` once and choose how to log in, or set GEMINI_API_KEY",
		forgets: true,
		lacks:   []string{"it does not tell when a reply was cut off", "it repeats a failed model request for minutes: keep a stall_timeout"},
	}
}

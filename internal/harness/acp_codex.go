package harness

// codexACP drives Codex through its protocol adapter. Harness codex drives the program itself.
func codexACP() preset {
	return preset{
		title:       "Codex through its ACP adapter",
		state:       codexPlaces,
		program:     "codex-acp",
		reading:     []string{"read-only"},
		asking:      []string{"auto"},
		writing:     []string{"auto"},
		install:     "npm install -g @zed-industries/codex-acp",
		signs:       []string{"OPENAI_API_KEY", "CODEX_API_KEY", "~/.codex/auth.json"},
		login:       "run `codex login`, or set OPENAI_API_KEY",
		noSandbox:   "its commands run in a sandbox of their own, which cannot be set up inside another one",
		bwrap:       true,
		usedPerCall: true,
		lacks: []string{"a refused permission ends its turn", "it writes to /tmp without asking",
			"it can fall silent when the provider refuses a model request: keep a stall_timeout",
			"its commands run in a sandbox that needs bubblewrap (the program bwrap) on Linux"},
	}
}

package harness

// qwenCode drives Qwen Code, which speaks the protocol by itself.
func qwenCode() preset {
	return preset{
		title:     "Qwen Code",
		state:     qwenPlaces,
		program:   "qwen",
		args:      []string{"--acp"},
		modelFlag: "-m",
		reading:   []string{"plan"},
		asking:    []string{"default"},
		writing:   []string{"auto-edit"},
		install:   "npm install -g @qwen-code/qwen-code",
		signs:     []string{"OPENAI_API_KEY", "~/.qwen/oauth_creds.json"},
		login:     "set OPENAI_API_KEY, OPENAI_BASE_URL and OPENAI_MODEL, or run `qwen` once and choose how to log in",
		silent:    true,
		lacks:     []string{"it does not tell when a reply was cut off", "it repeats a failed model request for minutes: keep a stall_timeout"},
	}
}

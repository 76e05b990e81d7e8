package harness

// claudeACP drives Claude Code through its protocol adapter. Harness claude drives the program itself.
func claudeACP() preset {
	return preset{
		title:    "Claude Code through its ACP adapter",
		state:    claudePlaces,
		program:  "claude-agent-acp",
		modelEnv: "ANTHROPIC_MODEL",
		env:      claudeEnv,
		// Its plan mode lets edits pass where it may be bypassed; in this one it asks for each, and is refused.
		reading: []string{"default"},
		asking:  []string{"default"},
		writing: []string{"acceptEdits"},
		install: "npm install -g @agentclientprotocol/claude-agent-acp",
		signs:   []string{"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN", "~/.claude/.credentials.json"},
		login:   "run `claude` once and use /login, or set ANTHROPIC_API_KEY",
		cost:    true,
		effort:  true,
	}
}

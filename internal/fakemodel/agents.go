package fakemodel

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
)

// This file knows the real agents that are driven against a server, and how each is made to talk with it and with
// nobody else.

// Agent is a real coding agent.
type Agent struct {
	Harness string // of Foundry
	Program string // in the directory bin of what scripts/agents.sh installed
	Model   string // the server's model as the agent calls it
	Long    bool   // it is slow: it runs only when that is asked for

	needs string // a program of the system without which it cannot work; "" is none
	env   func(url string) []string
	file  string // a settings file below the home directory; "" is none
	holds func(url string) string
}

// Agents are those that are driven, the quick ones first.
func Agents() []Agent {
	anthropic := func(url string) []string {
		return []string{"ANTHROPIC_BASE_URL=" + url, "ANTHROPIC_API_KEY=dummy", "DISABLE_TELEMETRY=1", "DISABLE_ERROR_REPORTING=1", "IS_SANDBOX=1"}
	}
	key := func(string) []string { return []string{"FAKE_API_KEY=dummy"} }
	return []Agent{
		{Harness: "claude", Program: "claude", Model: "fake-model", env: anthropic},
		{Harness: "codex", Program: "codex", Model: "fake-model", env: key, file: ".codex/config.toml", holds: codexConfig},
		{Harness: "claude-acp", Program: "claude-agent-acp", Model: "fake-model", env: anthropic},
		{Harness: "codex-acp", Program: "codex-acp", Model: "fake-model", Long: true, needs: "bwrap", env: key, file: ".codex/config.toml", holds: codexConfig},
		{Harness: "gemini", Program: "gemini", Model: "fake-model", Long: true, file: ".gemini/settings.json",
			env: func(url string) []string { return []string{"GEMINI_API_KEY=dummy", "GOOGLE_GEMINI_BASE_URL=" + url} },
			holds: func(string) string {
				return `{"security": {"auth": {"selectedType": "gemini-api-key"}}, "general": {"enableAutoUpdate": false, "enableAutoUpdateNotification": false},
 "privacy": {"usageStatisticsEnabled": false}, "telemetry": {"enabled": false}}`
			}},
		{Harness: "opencode", Program: "opencode", Model: "fake/fake-model", Long: true, file: ".config/opencode/opencode.json",
			env: func(string) []string {
				return []string{"OPENCODE_DISABLE_MODELS_FETCH=1", "OPENCODE_DISABLE_LSP_DOWNLOAD=1"}
			},
			holds: func(url string) string {
				return `{"autoupdate": false, "share": "disabled", "model": "fake/fake-model", "small_model": "fake/fake-model",
 "provider": {"fake": {"npm": "@ai-sdk/openai-compatible", "name": "Fake", "options": {"baseURL": "` + url + `/v1", "apiKey": "dummy"},
 "models": {"fake-model": {"name": "fake-model", "tool_call": true, "limit": {"context": 200000, "output": 32000}}}}}}`
			}},
		{Harness: "qwen", Program: "qwen", Model: "fake-model", Long: true, file: ".qwen/settings.json",
			env: func(url string) []string {
				return []string{"OPENAI_API_KEY=dummy", "OPENAI_BASE_URL=" + url + "/v1", "OPENAI_MODEL=fake-model"}
			},
			holds: func(string) string { return `{"security": {"auth": {"selectedType": "openai"}}}` }},
	}
}

func codexConfig(url string) string {
	return `model_provider = "fake"
check_for_update_on_startup = false
[model_providers.fake]
name = "fake"
base_url = "` + url + `/v1"
env_key = "FAKE_API_KEY"
wire_api = "responses"
request_max_retries = 0
stream_max_retries = 0
[analytics]
enabled = false
`
}

// environ makes an agent use the server at url: it gives it a home and a directory for temporary files below dir, writes
// its settings there, and returns its whole environment, in which nothing is inherited but PATH.
func (a Agent) environ(dir, url string) ([]string, error) {
	home, tmp := filepath.Join(dir, "home"), filepath.Join(dir, "tmp")
	for _, d := range []string{home, tmp} {
		if err := os.MkdirAll(d, 0o777); err != nil {
			return nil, fmt.Errorf("make the directories of %s: %w", a.Program, err)
		}
	}
	if a.file != "" {
		path := filepath.Join(home, filepath.FromSlash(a.file))
		err := os.MkdirAll(filepath.Dir(path), 0o700)
		if err == nil {
			err = os.WriteFile(path, []byte(a.holds(url)), 0o600)
		}
		if err != nil {
			return nil, fmt.Errorf("write the settings of %s: %w", a.Program, err)
		}
	}
	return append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "TMPDIR=" + tmp, "LANG=C.UTF-8"}, a.env(url)...), nil
}

// installed finds the agent's program below the directory that the variable FOUNDRY_AGENTS names. why, unless empty,
// says that it is not to be driven here. An error says that it is, and cannot be.
func (a Agent) installed() (program, why string, err error) {
	dir := os.Getenv("FOUNDRY_AGENTS")
	if dir == "" {
		return "", "real agents are not asked for: scripts/agents.sh installs them, FOUNDRY_AGENTS says where", nil
	}
	if a.Long && os.Getenv("FOUNDRY_AGENTS_LONG") == "" {
		return "", "a slow agent: FOUNDRY_AGENTS_LONG=1 runs it too", nil
	}
	all, err := net.Interfaces()
	if err != nil {
		return "", "", fmt.Errorf("look at the networks: %w", err)
	}
	for _, i := range all {
		if i.Flags&net.FlagLoopback == 0 && i.Flags&net.FlagUp != 0 {
			return "", "", fmt.Errorf("real agents run only where nothing but the loopback is up, and %s is: unshare -rn sh -c 'ip link set lo up; exec go test …'", i.Name)
		}
	}
	if a.needs != "" {
		if _, err := exec.LookPath(a.needs); err != nil {
			return "", "it needs the program " + a.needs, nil
		}
	}
	program = filepath.Join(dir, "bin", a.Program)
	if _, err := os.Stat(program); err != nil {
		return "", "", fmt.Errorf("FOUNDRY_AGENTS is set and has no %s: %w", a.Program, err)
	}
	return program, "", nil
}

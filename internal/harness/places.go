package harness

import (
	"path/filepath"

	"foundry/internal/process"
)

// Place is a path that a program finds by its environment, such as the directory in which an agent keeps its state.
type Place struct {
	Env   string // the variable that names it; "" is none, and then Home holds
	Below string // the path below what the variable names; "" is that itself
	Home  string // below the home directory, when the variable is not set; "" is nowhere
	File  bool   // it is a file
}

// In is where the place is in an environment; "" when it is nowhere.
func (p Place) In(env []string) string {
	if p.Env != "" {
		if at, ok := process.Lookup(env, p.Env); ok && at != "" {
			if !filepath.IsAbs(at) {
				return ""
			}
			return filepath.Join(at, filepath.FromSlash(p.Below))
		}
	}
	home, ok := process.Lookup(env, "HOME")
	if p.Home == "" || !ok || !filepath.IsAbs(home) {
		return ""
	}
	return filepath.Join(home, filepath.FromSlash(p.Home))
}

// Where the agents keep logins, conversations and settings, all of which they write.
var (
	claudePlaces   = []Place{{Env: "CLAUDE_CONFIG_DIR", Home: ".claude"}, {Home: ".claude.json", File: true}}
	codexPlaces    = []Place{{Env: "CODEX_HOME", Home: ".codex"}}
	geminiPlaces   = []Place{{Home: ".gemini"}}
	qwenPlaces     = []Place{{Home: ".qwen"}}
	droidPlaces    = []Place{{Home: ".factory"}}
	openCodePlaces = []Place{
		{Env: "XDG_CONFIG_HOME", Below: "opencode", Home: ".config/opencode"},
		{Env: "XDG_DATA_HOME", Below: "opencode", Home: ".local/share/opencode"},
		{Env: "XDG_STATE_HOME", Below: "opencode", Home: ".local/state/opencode"},
	}
)

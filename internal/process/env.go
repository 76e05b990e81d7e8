package process

import (
	"slices"
	"strings"
)

// A run may be started from a git hook, from an alias, or from inside an agent. Their variables would point
// a child at another repository, another index or an outer session, so no child ever gets them.

// Environ returns base without the variables that tie a process to a place or a session it was started
// from, with the overlays put over it; a later overlay wins. An overlay is a list of NAME=VALUE and is not
// filtered. The result has one entry for each name, in order of first appearance; it shares no memory with
// base.
func Environ(base []string, overlays ...[]string) []string {
	out := make([]string, 0, len(base)+8)
	at := make(map[string]int, len(base)+8)
	put := func(kv string) {
		name := envName(kv)
		if i, ok := at[name]; ok {
			out[i] = kv
			return
		}
		at[name] = len(out)
		out = append(out, kv)
	}
	for _, kv := range base {
		name := envName(kv)
		// A job server of make is a pipe that a child of ours does not have; other flags are the user's.
		jobserver := (name == "MAKEFLAGS" || name == "MFLAGS") && strings.Contains(kv, "jobserver")
		if name != "" && !tied(name) && !jobserver {
			put(kv)
		}
	}
	for _, over := range overlays {
		for _, kv := range over {
			if envName(kv) != "" {
				put(kv)
			}
		}
	}
	return slices.Clip(out)
}

// Lookup returns the value of a variable in an environment; the last entry counts.
func Lookup(env []string, name string) (string, bool) {
	for i := len(env) - 1; i >= 0; i-- {
		if envName(env[i]) == name {
			return env[i][len(name)+1:], true
		}
	}
	return "", false
}

// envName returns the name of an entry, or "" when it is none. Windows has names that begin with "=".
func envName(kv string) string {
	i := strings.IndexByte(kv, '=')
	if i == 0 {
		if j := strings.IndexByte(kv[1:], '='); j >= 0 {
			i = j + 1
		}
	}
	if i <= 0 {
		return ""
	}
	return kv[:i]
}

// tied reports whether a variable names where or inside what a process was started.
func tied(name string) bool {
	switch name {
	// What `git rev-parse --local-env-vars` prints, over all versions since 2.25.
	case "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_CONFIG", "GIT_CONFIG_PARAMETERS", "GIT_CONFIG_COUNT", "GIT_OBJECT_DIRECTORY",
		"GIT_DIR", "GIT_WORK_TREE", "GIT_IMPLICIT_WORK_TREE", "GIT_GRAFT_FILE", "GIT_INDEX_FILE", "GIT_NO_REPLACE_OBJECTS",
		"GIT_REPLACE_REF_BASE", "GIT_PREFIX", "GIT_SHALLOW_FILE", "GIT_COMMON_DIR", "GIT_INTERNAL_SUPER_PREFIX",
		"GIT_INTERNAL_TOPLEVEL_PREFIX", "GIT_TOPLEVEL_PREFIX", "GIT_REF_STORAGE_FORMAT":
		return true
	// What else changes where git looks or whom it asks.
	case "GIT_NAMESPACE", "GIT_CEILING_DIRECTORIES", "GIT_DISCOVERY_ACROSS_FILESYSTEM", "GIT_EXTERNAL_DIFF", "GIT_DIFF_OPTS",
		"GIT_PAGER", "GIT_PAGER_IN_USE", "GIT_EDITOR", "GIT_SEQUENCE_EDITOR", "GIT_ASKPASS", "GIT_REFLOG_ACTION", "GIT_QUARANTINE_PATH",
		"GIT_ATTR_SOURCE", "GIT_ATTR_NOSYSTEM", "GIT_LITERAL_PATHSPECS", "GIT_GLOB_PATHSPECS", "GIT_NOGLOB_PATHSPECS", "GIT_ICASE_PATHSPECS",
		"GIT_OPTIONAL_LOCKS":
		return true
	// Marks by which agents find that they run inside another one, and refuse or behave differently.
	case "CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_SSE_PORT", "CLAUDE_CODE_SESSION_ID", "CLAUDE_CODE_REMOTE", "CLAUDE_AGENT_SDK_VERSION",
		"CODEX_SANDBOX", "CODEX_SANDBOX_NETWORK_DISABLED", "CODEX_INTERNAL_ORIGINATOR_OVERRIDE", "CODEX_THREAD_ID",
		"GEMINI_CLI", "GEMINI_CLI_NO_RELAUNCH", "QWEN_CODE", "QWEN_CODE_NO_RELAUNCH", "OPENCODE", "OPENCODE_PID", "OPENCODE_SERVER", "CURSOR_AGENT", "CURSOR_TRACE_ID":
		return true
	// The shell's idea of where it was; Run sets PWD itself.
	case "OLDPWD", "PWD":
		return true
	}
	return strings.HasPrefix(name, "GIT_CONFIG_KEY_") || strings.HasPrefix(name, "GIT_CONFIG_VALUE_") || name == ownToken
}

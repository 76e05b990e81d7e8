package drive

import (
	"path/filepath"

	"foundry/internal/harness"
	"foundry/internal/process"
)

// These are the places that every agent in a sandbox may write, as far as they are there: what tools keep for the next
// time, what they need for the moment, and the devices that take what is written to them. Directories from which
// programs are started are no part of it.

// caches are where tools keep what they fetched or built. The first holds those of all that have no habit of their own.
func caches() []harness.Place {
	return []harness.Place{
		{Env: "XDG_CACHE_HOME", Home: ".cache"},
		{Env: "GOCACHE"},
		{Env: "GOMODCACHE"},
		{Env: "GOPATH", Below: "pkg", Home: "go/pkg"},
		{Env: "npm_config_cache", Home: ".npm"},
		{Env: "YARN_CACHE_FOLDER", Home: ".yarn/berry/cache"},
		{Env: "XDG_DATA_HOME", Below: "pnpm/store", Home: ".local/share/pnpm/store"},
		{Env: "BUN_INSTALL_CACHE_DIR", Home: ".bun/install/cache"},
		{Env: "DENO_DIR"},
		{Env: "PIP_CACHE_DIR"},
		{Env: "UV_CACHE_DIR"},
		{Env: "CARGO_HOME", Below: "registry", Home: ".cargo/registry"},
		{Env: "CARGO_HOME", Below: "git", Home: ".cargo/git"},
		{Env: "CARGO_HOME", Below: ".package-cache", Home: ".cargo/.package-cache", File: true},
		{Env: "GRADLE_USER_HOME", Below: "caches", Home: ".gradle/caches"},
		{Env: "GRADLE_USER_HOME", Below: "daemon", Home: ".gradle/daemon"},
		{Env: "GRADLE_USER_HOME", Below: "native", Home: ".gradle/native"},
		{Home: ".m2/repository"},
		{Env: "NUGET_PACKAGES", Home: ".nuget/packages"},
	}
}

// tempDirs are the directories for temporary files. The first is the one that is used when nobody says otherwise.
func tempDirs(env []string) []string {
	out := []string{"/tmp", "/var/tmp"}
	if dir, ok := process.Lookup(env, "TMPDIR"); ok && filepath.IsAbs(dir) {
		out = append([]string{filepath.Clean(dir)}, out...)
	}
	return out
}

// devices take what is written to them, and nothing of it stays.
func devices() []string {
	return []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/ptmx", "/dev/pts", "/dev/shm"}
}

// runBranches are the directories of the branches of runs and of what is logged of them.
func runBranches(common string) []string {
	return []string{filepath.Join(common, "refs", "heads", "foundry"), filepath.Join(common, "logs", "refs", "heads", "foundry")}
}

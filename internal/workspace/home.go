package workspace

import (
	"os"
	"path/filepath"
	"strings"
)

// One repository may have several checkouts (git worktree add). Records and worktrees of runs belong to the
// repository: a checkout that is removed must not take them along, and each checkout must find all of them. They
// are kept in the main checkout, or in the git directory of a repository that has none.

// Home returns the directory that holds the records and the worktrees of runs of the repository that has a checkout
// at top. It looks at files alone and starts nothing. A checkout that cannot be understood is its own home.
func Home(top string) string {
	b, err := os.ReadFile(filepath.Join(top, ".git"))
	if err != nil {
		return top // a directory: this is the main checkout
	}
	gitDir, ok := strings.CutPrefix(strings.TrimRight(string(b), "\n"), "gitdir: ")
	if !ok {
		return top
	}
	if !filepath.IsAbs(gitDir) {
		gitDir = filepath.Join(top, gitDir)
	}
	if b, err = os.ReadFile(filepath.Join(gitDir, "commondir")); err != nil {
		return top // the main checkout, with its git directory elsewhere
	}
	common := strings.TrimRight(string(b), "\n")
	if !filepath.IsAbs(common) {
		common = filepath.Join(gitDir, common)
	}
	if common, err = filepath.EvalSymlinks(common); err != nil {
		return top
	}
	if filepath.Base(common) == ".git" {
		return filepath.Dir(common)
	}
	return common
}

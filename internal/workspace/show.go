package workspace

import (
	"context"
	"fmt"
	"strings"
)

// What people see of two trees: a patch, and a table of how much changed. What agents hand to each other is
// left out.

// leftOut is the pathspec of everything but the agents' own area.
var leftOut = []string{"--", ":(top)", ":(top,exclude)" + handoffDir}

// ShowDiff returns the patch between two trees or commits, with git's colours when color is set.
func (r *Repo) ShowDiff(ctx context.Context, from, to string, color bool) ([]byte, error) {
	c := "--no-color"
	if color {
		c = "--color=always"
	}
	out, err := r.show(ctx, from, to, "-p", "-M", c)
	if err != nil {
		return nil, fmt.Errorf("show the changes: %w", err)
	}
	return out, nil
}

// Stat returns one line for each changed file, with counts of lines, and a last line with the sums.
func (r *Repo) Stat(ctx context.Context, from, to string) (string, error) {
	out, err := r.show(ctx, from, to, "--stat=100", "-M")
	if err != nil {
		return "", fmt.Errorf("count the changes: %w", err)
	}
	return strings.TrimRight(string(out), "\n"), nil
}

func (r *Repo) show(ctx context.Context, from, to string, how ...string) ([]byte, error) {
	args := append([]string{"diff-tree", "-r", "--no-ext-diff", "--no-textconv"}, how...)
	a, err := r.git.do(ctx, call{args: append(append(args, from, to), leftOut...), magic: true})
	return a.out, err
}

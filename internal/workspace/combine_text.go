package workspace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"foundry/internal/process"
)

// A file that both changed is merged line by line, by git merge-file over three files in a directory of their own. It
// is not told of any repository, so that no configuration counts. What it says is only believed when it is plain.

// textMerge is a file that both changed, each in another way.
type textMerge struct {
	path string
	sides
	mode string // what it has afterwards
}

const (
	// largestText is the size in bytes up to which a file is merged by lines.
	largestText = 100 << 20
	// atOnce is how many bytes of files are read together.
	atOnce = 8 << 20
)

// mergeLines merges the files that both changed.
func (c *combining) mergeLines(ctx context.Context) error {
	if len(c.lines) == 0 {
		return nil
	}
	sizes, err := c.sizes(ctx)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "foundry-combine-")
	if err != nil {
		return fmt.Errorf("merge files: %w", err)
	}
	defer os.RemoveAll(dir)
	var batch []textMerge
	total := 0
	for i, m := range c.lines {
		if max(sizes[m.base.blob], sizes[m.ours.blob], sizes[m.theirs.blob]) > largestText {
			c.conflict(m.path, m.sides, "both changed it, and it is too large to merge")
		} else {
			batch = append(batch, m)
			total += sizes[m.base.blob] + sizes[m.ours.blob] + sizes[m.theirs.blob]
		}
		if total < atOnce && i < len(c.lines)-1 {
			continue
		}
		if err := c.mergeBatch(ctx, dir, batch); err != nil {
			return err
		}
		batch, total = nil, 0
	}
	return nil
}

// sizes asks how large the files are, by id, in bytes.
func (c *combining) sizes(ctx context.Context) (map[string]int, error) {
	var ask []string
	for _, m := range c.lines {
		ask = append(ask, m.base.blob, m.ours.blob, m.theirs.blob)
	}
	a, err := c.git.do(ctx, call{args: []string{"cat-file", "--batch-check=%(objectsize)"}, stdin: []byte(strings.Join(ask, "\n") + "\n")})
	if err != nil {
		return nil, err
	}
	said := strings.Split(strings.TrimSuffix(string(a.out), "\n"), "\n")
	if len(said) != len(ask) {
		return nil, errors.New("git listed fewer objects than it was asked for")
	}
	sizes := make(map[string]int, len(ask))
	for i, id := range ask {
		if sizes[id], err = strconv.Atoi(said[i]); err != nil {
			return nil, fmt.Errorf("git answered %q for the size of an object", said[i])
		}
	}
	return sizes, nil
}

// mergeBatch merges some of the files.
func (c *combining) mergeBatch(ctx context.Context, dir string, batch []textMerge) error {
	if len(batch) == 0 {
		return nil
	}
	var ids []string
	for _, m := range batch {
		ids = append(ids, m.base.blob, m.ours.blob, m.theirs.blob)
	}
	blobs, err := c.git.blobs(ctx, ids)
	if err != nil {
		return err
	}
	for _, m := range batch {
		base, ours, theirs := blobs[m.base.blob], blobs[m.ours.blob], blobs[m.theirs.blob]
		if binary(base) || binary(ours) || binary(theirs) {
			c.conflict(m.path, m.sides, "both changed it, and it is not text")
			continue
		}
		merged, ok, err := c.mergeFile(ctx, dir, base, ours, theirs)
		if err != nil {
			return fmt.Errorf("merge %q: %w", m.path, err)
		}
		if !ok {
			c.conflict(m.path, m.sides, "both changed the same lines")
			continue
		}
		blob, err := c.keep(ctx, merged)
		if err != nil {
			return fmt.Errorf("merge %q: %w", m.path, err)
		}
		c.edits[m.path] = edit{mode: m.mode, blob: blob}
	}
	return nil
}

// binary reports what git takes for a file without lines.
func binary(data []byte) bool { return bytes.IndexByte(data[:min(len(data), 8000)], 0) >= 0 }

// mergeFile merges three texts; ok is false when both changed the same lines. dir is a directory of the caller's.
func (c *combining) mergeFile(ctx context.Context, dir string, base, ours, theirs []byte) (merged []byte, ok bool, err error) {
	for name, data := range map[string][]byte{"base": base, "ours": ours, "theirs": theirs} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			return nil, false, err
		}
	}
	alone := git{
		env: process.Environ(c.git.env, []string{
			"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_SYSTEM=" + os.DevNull, "GIT_CONFIG_GLOBAL=" + os.DevNull, "HOME=" + dir, "XDG_CONFIG_HOME=" + dir,
		}),
		dir: dir, gitDir: filepath.Join(dir, "none"),
	}
	a, err := alone.do(ctx, call{args: []string{"merge-file", "-p", "-q", "-L", "ours", "-L", "base", "-L", "theirs", "ours", "base", "theirs"}})
	if err == nil {
		return a.out, true, nil
	}
	// It ends with the number of conflicts, 127 for more. Whatever else ends with such a number has marked none.
	var ge *GitError
	if errors.As(err, &ge) && ge.Reason == process.Exited && 0 < ge.Exit && ge.Exit <= 127 && bytes.Contains(a.out, []byte("<<<<<<< ours")) {
		return nil, false, nil
	}
	return nil, false, err
}

// keep writes a file's content as an object.
func (c *combining) keep(ctx context.Context, data []byte) (string, error) {
	if len(data) <= largest {
		return c.store.put("blob", data)
	}
	a, err := c.git.do(ctx, call{args: []string{"hash-object", "-w", "--no-filters", "--stdin"}, stdin: data, writes: true, timeout: longTime})
	return strings.TrimSpace(string(a.out)), err
}

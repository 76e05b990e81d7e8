package drive

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"foundry/glob"
	"foundry/internal/filestat"
	"foundry/internal/workspace"
)

// This file digests the files that decide whether a phase has to run. What a file holds decides; but a file that was
// read once and has not been touched since, by all that the system says, is not read again.

// Digests are the digests of files that were read, for all runs of a process. Its zero value is ready.
type Digests struct {
	mu    sync.Mutex
	files map[string]digested
	reads int // how many files were read
}

type digested struct {
	as  workspace.Stamp
	sum string
}

// of reads every file below a directory that one of the patterns matches.
func (s *Digests) of(top string, patterns []string, now func() time.Time) (map[string]string, error) {
	out := map[string]string{}
	for _, base := range bases(patterns) {
		err := filepath.WalkDir(filepath.Join(top, filepath.FromSlash(base)), func(name string, e fs.DirEntry, err error) error {
			rel, relErr := filepath.Rel(top, name)
			if err = errors.Join(err, relErr); err != nil {
				if errors.Is(err, fs.ErrNotExist) {
					return nil
				}
				return err
			}
			rel = filepath.ToSlash(rel)
			if e.IsDir() {
				if n := path.Base(rel); n == ".git" || n == ".foundry" || n == ".foundry-worktrees" || n == ".foundry-handoff" {
					return fs.SkipDir
				}
				return nil
			}
			if slices.ContainsFunc(patterns, func(p string) bool { return glob.Match(p, rel) }) {
				out[rel], err = s.file(name, e, now)
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// bases are the directories that the patterns begin with, none within another.
func bases(patterns []string) []string {
	var tops []string
	for _, p := range patterns {
		top := glob.Base(p)
		if !slices.ContainsFunc(tops, func(t string) bool { return t == "." || t == top || strings.HasPrefix(top+"/", t+"/") }) {
			tops = append(tops, top)
		}
	}
	return tops
}

// file is of what a file holds and whether it may be executed, or of where a link leads.
func (s *Digests) file(name string, e fs.DirEntry, now func() time.Time) (string, error) {
	switch {
	case e.Type()&fs.ModeSymlink != 0:
		to, err := os.Readlink(name)
		h := sha256.Sum256([]byte("link " + to))
		return hex.EncodeToString(h[:16]), err
	case !e.Type().IsRegular():
		return e.Type().String(), nil
	}
	if info, err := e.Info(); err == nil {
		s.mu.Lock()
		known, ok := s.files[name]
		s.mu.Unlock()
		if stamp, told := workspace.StampOf(info); ok && told && known.as == stamp {
			return known.sum, nil
		}
	}
	return s.read(name, now)
}

// read reads a file, and remembers it when nothing that is written from now on could go unnoticed.
func (s *Digests) read(name string, now func() time.Time) (string, error) {
	f, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	before, err := f.Stat()
	if err != nil {
		return "", err
	}
	at := now()
	h := sha256.New()
	fmt.Fprintf(h, "file %v ", before.Mode()&0o100 != 0)
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	sum := hex.EncodeToString(h.Sum(nil)[:16])
	after, err := f.Stat()
	if err != nil {
		return "", err
	}
	stamp, told := workspace.StampOf(before)
	later, _ := workspace.StampOf(after)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reads++
	if told && stamp == later && at.Sub(stamp.Touched()) > filestat.CoarsestStep {
		if s.files == nil {
			s.files = map[string]digested{}
		}
		s.files[name] = digested{stamp, sum}
	} else {
		delete(s.files, name)
	}
	return sum, nil
}

package workspace

import (
	"bytes"
	"compress/zlib"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"foundry/internal/atomicfile"
)

// A snapshot is a handful of small objects. Having git write each of them would cost more than finding what
// changed, so they are written here, in the form that git has had for single objects from its first day: the
// deflated bytes, under the digest of what they say. They are what git would have written: same ids, same
// places, same permissions, and safe from a collection of garbage that runs at the same time.

// store writes objects into a repository.
type store struct {
	dir    string // the repository's objects directory
	format string // sha1 or sha256

	mu      sync.Mutex
	deflate *zlib.Writer
}

// store returns what writes objects into this repository.
func (r *Repo) store() *store {
	return &store{dir: filepath.Join(r.common, "objects"), format: r.format}
}

// largest is the size in bytes up to which an object is written here. What is larger git itself writes, which
// can do it without having all of it in memory.
const largest = 1 << 20

func newHash(format string) hash.Hash {
	if format == "sha256" {
		return sha256.New()
	}
	return sha1.New()
}

// objectID returns the id that an object has.
func objectID(format, kind string, data []byte) string {
	h := newHash(format)
	fmt.Fprintf(h, "%s %d\x00", kind, len(data))
	h.Write(data)
	return hex.EncodeToString(h.Sum(nil))
}

// put writes an object unless it is there, and returns its id.
func (s *store) put(kind string, data []byte) (string, error) {
	id := objectID(s.format, kind, data)
	path := filepath.Join(s.dir, id[:2], id[2:])
	now := time.Now()
	if os.Chtimes(path, now, now) == nil { // young again, so that no collection takes it
		return id, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.write(path, kind, data)
	if errors.Is(err, fs.ErrNotExist) { // a collection has just removed the empty directory
		err = s.write(path, kind, data)
	}
	if err != nil {
		return "", fmt.Errorf("keep a %s: %w", kind, err)
	}
	return id, nil
}

func (s *store) write(path, kind string, data []byte) error {
	perm, err := s.directory(filepath.Dir(path))
	if err != nil {
		return err
	}
	if s.deflate == nil {
		if s.deflate, err = zlib.NewWriterLevel(io.Discard, zlib.BestSpeed); err != nil {
			panic("BUG: workspace: " + err.Error())
		}
	}
	var out bytes.Buffer
	s.deflate.Reset(&out)
	fmt.Fprintf(s.deflate, "%s %d\x00", kind, len(data))
	s.deflate.Write(data)
	s.deflate.Close()
	return atomicfile.WriteAmong("tmp_obj_*", path, out.Bytes(), perm) // git removes forgotten files of this name
}

// commit writes a commit of a tree. Foundry itself is its author.
func (s *store) commit(tree, message string, parents ...string) (string, error) {
	var b strings.Builder
	b.WriteString("tree " + tree + "\n")
	for _, p := range parents {
		b.WriteString("parent " + p + "\n")
	}
	who := fmt.Sprintf("Foundry <foundry@localhost> %d +0000", time.Now().Unix())
	b.WriteString("author " + who + "\ncommitter " + who + "\n\n" + message)
	return s.put("commit", []byte(b.String()))
}

// directory makes the directory of an object, and returns the permissions that the object has. Whoever may
// read the objects of this repository may read this one: a repository can be shared by a group.
func (s *store) directory(dir string) (fs.FileMode, error) {
	top, err := os.Stat(s.dir)
	if err != nil {
		return 0, err
	}
	if err := os.Mkdir(dir, 0o777); err == nil {
		if err := os.Chmod(dir, top.Mode()&(fs.ModePerm|fs.ModeSetgid)); err != nil {
			return 0, err
		}
	} else if !errors.Is(err, fs.ErrExist) {
		return 0, err
	}
	return top.Mode().Perm() & 0o444, nil
}

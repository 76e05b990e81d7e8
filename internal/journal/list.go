package journal

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"

	"foundry/internal/atomicfile"
	"foundry/runner"
)

// Entry is a run in a list. It marshals to the rows of `runs --json`.
type Entry struct {
	runner.Outline
	Live    bool   `json:"live"`              // a process holds the run's lock
	Problem string `json:"problem,omitempty"` // why the log could not be read; Status is then failed, Reason journal
}

// cache is run.json: the outline, and how long the log was that it was folded from.
type cache struct {
	Log int64 `json:"log_bytes"`
	runner.Outline
}

// saveCache writes run.json. It is a cache: a failure costs the next reader time and is not told.
func (r *Record) saveCache() {
	writeCache(r.dir, r.size, r.outline)
}

func writeCache(dir string, size int64, o runner.Outline) {
	data, err := json.MarshalIndent(cache{size, o}, "", "  ")
	if err != nil {
		panic("BUG: an outline cannot be encoded: " + err.Error())
	}
	_ = atomicfile.WriteSynced(filepath.Join(dir, cacheName), append(data, '\n'), 0o600)
}

// List is every run, newest first. It reads run.json where that is as long as the log says, and else the log.
func (s Store) List() ([]Entry, error) { return s.Newest(-1) }

// Newest is the newest n runs, newest first; all when n is negative. It opens only the records of as many days
// as it needs.
func (s Store) Newest(n int) ([]Entry, error) {
	ids, err := s.ids()
	if err != nil {
		return nil, err
	}
	var list []Entry
	for len(ids) > 0 && (n < 0 || len(list) < n) {
		from := len(ids) - 1 // the start of the newest day
		for from > 0 && day(ids[from-1]) == day(ids[from]) {
			from--
		}
		group := make([]Entry, 0, len(ids)-from)
		for _, id := range ids[from:] {
			group = append(group, s.entry(id))
		}
		sort.SliceStable(group, func(i, j int) bool { return newer(&group[i], &group[j]) })
		list = append(list, group...)
		ids = ids[:from]
	}
	if n >= 0 && len(list) > n {
		list = list[:n]
	}
	return list, nil
}

// day is the part of an id that sorts by time.
func day(id string) string {
	if at := strings.LastIndexByte(id, '_'); at > 0 {
		return id[:at]
	}
	return id
}

func newer(a, b *Entry) bool {
	switch {
	case a.stillborn() != b.stillborn():
		return b.stillborn()
	case a.Started == nil && b.Started == nil:
		return a.ID > b.ID
	case a.Started == nil || b.Started == nil:
		return a.Started == nil // it has not written its first event yet
	case !a.Started.Equal(*b.Started):
		return a.Started.After(*b.Started)
	}
	return a.ID > b.ID
}

// stillborn says that a run's process died before the run's first event: nothing was done in it.
func (e *Entry) stillborn() bool { return e.Started == nil && !e.Live && e.Problem == "" }

func (s Store) entry(id string) Entry {
	e := Entry{Outline: runner.NewOutline(id)}
	dir := s.Dir(id)
	info, err := os.Stat(filepath.Join(dir, logName))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		e.damage(err)
		return e
	}
	var c cache
	if data, cerr := os.ReadFile(filepath.Join(dir, cacheName)); err == nil && cerr == nil &&
		json.Unmarshal(data, &c) == nil && c.Log == info.Size() && c.ID == id {
		e.Outline = c.Outline
	} else {
		events, rerr := s.Read(id)
		if rerr != nil {
			e.damage(rerr)
			return e
		}
		e.Outline = runner.OutlineOf(id, events)
		c.Log = -1
	}
	if e.Final() {
		return e.cached(dir, info, c)
	}
	if e.Live = s.Live(id); !e.Live {
		e = e.cached(dir, info, c)
		e.Abandon()
	}
	return e
}

// cached writes run.json anew when it was of no use and nobody is writing the log.
func (e Entry) cached(dir string, info fs.FileInfo, c cache) Entry {
	if c.Log < 0 && info != nil {
		writeCache(dir, info.Size(), e.Outline)
	}
	return e
}

func (e *Entry) damage(err error) {
	e.Status, e.Reason, e.Problem = "failed", "journal", err.Error()
}

// AmbiguousError says that a prefix of a run id fits several.
type AmbiguousError struct {
	Prefix     string
	Candidates []string // sorted
}

func (e *AmbiguousError) Error() string {
	shown := e.Candidates
	more := ""
	if len(shown) > 8 {
		more = fmt.Sprintf(" and %d more", len(shown)-8)
		shown = shown[:8]
	}
	return fmt.Sprintf("%q fits %d runs: %s%s", e.Prefix, len(e.Candidates), strings.Join(shown, ", "), more)
}

// Find is the id of the run that a person named: an id, a beginning that fits one id only (of the whole id, of the
// id without "run_", or of the part behind the day), or "last" for the one that started last. It returns an *AmbiguousError or ErrUnknown.
func (s Store) Find(arg string) (string, error) {
	if arg == "last" {
		list, err := s.Newest(1)
		if err != nil {
			return "", err
		}
		if len(list) == 0 {
			return "", failf(ErrUnknown, "there is no run yet; `foundry up` starts one")
		}
		return list[0].ID, nil
	}
	ids, err := s.ids()
	if err != nil {
		return "", err
	}
	var found []string
	for _, id := range ids {
		if id == arg {
			return id, nil
		}
		if arg != "" && (strings.HasPrefix(id, arg) || strings.HasPrefix(id, "run_"+arg) || strings.HasPrefix(id, day(id)+"_"+arg)) {
			found = append(found, id)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return "", unknown(arg)
	}
	return "", &AmbiguousError{arg, found}
}

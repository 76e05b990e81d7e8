package watch

import (
	"context"
	"fmt"
	"hash/maphash"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// model is what the tree must hold, and when each file was given other content.
type model struct {
	mu    sync.Mutex
	files map[string]string
	edits map[string][]time.Time
}

func (m *model) set(p, text string) {
	if old, ok := m.files[p]; !ok || old != text {
		m.edits[p] = append(m.edits[p], time.Now())
	}
	m.files[p] = text
}

func (m *model) remove(p string) {
	if _, ok := m.files[p]; ok {
		m.edits[p] = append(m.edits[p], time.Now())
		delete(m.files, p)
	}
}

func (m *model) below(dir string) []string {
	var out []string
	for p := range m.files {
		if strings.HasPrefix(p, dir+"/") {
			out = append(out, p)
		}
	}
	slices.Sort(out)
	return out
}

// TestRandomEdits edits a tree at random while somebody takes the changes: each change that is told is one, and the
// last of them is never lost. FOUNDRY_WATCH_MODEL=10m makes it go on for that long.
func TestRandomEdits(t *testing.T) {
	forBoth(t, func(t *testing.T, o Options) {
		long := 2 * time.Second
		if s := os.Getenv("FOUNDRY_WATCH_MODEL"); s != "" {
			var err error
			if long, err = time.ParseDuration(s); err != nil {
				t.Fatal(err)
			}
		}
		o.Quiet, o.MaxWait = 20*time.Millisecond, 200*time.Millisecond
		b := start(t, o)
		m := &model{files: map[string]string{"src/a.go": "one"}, edits: map[string][]time.Time{}}
		ctx, cancel := context.WithCancel(t.Context())
		taken := make(chan struct{})
		seen := map[string]content{}
		changes := 0
		go func() {
			defer close(taken)
			told := map[string]int{}
			empty := maphash.String(b.w.tree.seed, "")
			for {
				c, err := b.w.Next(ctx)
				if err != nil {
					return
				}
				changes++
				m.mu.Lock()
				for _, f := range c.Files {
					seen[f.Path] = f.is
					edits := m.edits[f.Path]
					// On a busy machine a save may take longer than the quiet period: the file is empty then.
					saving := f.is.sum == empty || f.was.sum == empty
					if told[f.Path] >= len(edits) && !saving {
						t.Errorf("%s %s was told, and nothing happened since it was told before", f.Kind, f.Path)
					}
					for told[f.Path] < len(edits) && edits[told[f.Path]].Before(f.Last) {
						told[f.Path]++
					}
				}
				m.mu.Unlock()
			}
		}()
		seed := uint64(time.Now().UnixNano())
		t.Logf("seed %d", seed)
		r := rand.New(rand.NewPCG(seed, 1))
		for end := time.Now().Add(long); time.Now().Before(end); {
			m.mu.Lock()
			m.edit(t, b.root, r)
			m.mu.Unlock()
			if r.IntN(4) == 0 {
				time.Sleep(time.Duration(r.IntN(60)) * time.Millisecond)
			}
		}
		b.settleAll(m, seen, taken, cancel)
		t.Logf("%d changes were told", changes)
		want := map[string]bool{}
		for p, text := range m.files {
			want[p] = true
			got, ok := seen[p]
			if !ok && p == "src/a.go" && text == "one" {
				continue
			}
			if sum := maphash.String(b.w.tree.seed, text); !got.there || !got.read || got.sum != sum {
				t.Errorf("the last change of %s was lost: %+v", p, got)
			}
		}
		for p, got := range seen {
			if got.there && !want[p] {
				t.Errorf("that %s is gone was lost", p)
			}
		}
	})
}

// settleAll waits until a last edit was told and the one who takes has ended.
func (b *bench) settleAll(m *model, seen map[string]content, taken <-chan struct{}, cancel func()) {
	b.t.Helper()
	m.mu.Lock()
	m.set("last", "last")
	b.write("last", "last")
	m.mu.Unlock()
	for range 4000 {
		m.mu.Lock()
		done := seen["last"].there
		m.mu.Unlock()
		if done {
			// What came before it in the same moment may be told after it.
			time.Sleep(20 * b.w.o.Quiet)
			cancel()
			<-taken
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	b.t.Fatal("the last edit was never told")
}

// edit makes one random edit. Names are few, so that edits meet.
func (m *model) edit(t *testing.T, root string, r *rand.Rand) {
	t.Helper()
	name := func() string { return string(rune('a' + r.IntN(4))) }
	dir := func() string {
		d := "src"
		for range r.IntN(3) {
			d += "/d" + name()
		}
		return d
	}
	abs := func(p string) string { return filepath.Join(root, filepath.FromSlash(p)) }
	do := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	p := dir() + "/" + name() + ".go"
	text := fmt.Sprint(r.IntN(5))
	switch r.IntN(9) {
	case 0, 1:
		do(os.MkdirAll(abs(path.Dir(p)), 0o777))
		do(os.WriteFile(abs(p), []byte(text), 0o666))
		m.set(p, text)
	case 2:
		do(os.MkdirAll(abs(path.Dir(p)), 0o777))
		do(os.WriteFile(abs(p)+".tmp~", []byte(text), 0o666))
		do(os.Rename(abs(p)+".tmp~", abs(p)))
		m.set(p, text)
	case 3:
		if _, ok := m.files[p]; ok {
			do(os.Remove(abs(p)))
			m.remove(p)
		}
	case 4:
		now := time.Now()
		os.Chtimes(abs(p), now, now)
	case 5:
		d := dir() + "/d" + name()
		do(os.RemoveAll(abs(d)))
		for _, f := range m.below(d) {
			m.remove(f)
		}
	case 6:
		from, to := dir()+"/d"+name(), dir()+"/d"+name()
		if _, err := os.Lstat(abs(from)); err != nil || to == from || strings.HasPrefix(to+"/", from+"/") {
			return
		}
		if _, err := os.Lstat(abs(path.Dir(to))); err != nil {
			return
		}
		if _, err := os.Lstat(abs(to)); err == nil {
			return
		}
		do(os.Rename(abs(from), abs(to)))
		for _, f := range m.below(from) {
			text := m.files[f]
			m.remove(f)
			m.set(to+strings.TrimPrefix(f, from), text)
		}
	case 7:
		d := dir() + "/d" + name()
		for i := range 3 {
			f := fmt.Sprintf("%s/de/f%d.go", d, i)
			do(os.MkdirAll(abs(path.Dir(f)), 0o777))
			do(os.WriteFile(abs(f), []byte(text), 0o666))
			m.set(f, text)
		}
	case 8:
		if old, ok := m.files[p]; ok {
			do(os.WriteFile(abs(p), nil, 0o666))
			do(os.WriteFile(abs(p), []byte(old), 0o666))
		}
	}
}

package workspace

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"foundry/internal/seed"
)

// Random trees, developed in two ways at random, are combined in both directions and compared with what a model makes
// of them that knows nothing of git: it goes through all paths and all lines.

// drawing makes the trees of one case. Few names, so that they meet.
type drawing struct{ *rand.Rand }

func (d drawing) path() string {
	near := []string{"a", "b", "a/a", "a/b", "b/a", "b/b/b", "A"}
	strange := []string{"-x", "new\nline", "sp ace", "caf\u00e9", "*", ":(top)a", `"q"`, "\xff", "new\nline/-", "-x/ "}
	p := near[d.IntN(len(near))]
	if d.IntN(4) == 0 {
		p = strange[d.IntN(len(strange))]
	}
	if d.IntN(8) == 0 {
		p = ".foundry-handoff/" + p
	}
	return p
}

// A text has places for lines, with lines between them that never change: so a person can say what is to come of two
// changes.
const places = 3

const between = "\n(\n-\n)\n"

func text(lines [places]string) string { return strings.Join(lines[:], between) + between }

func (d drawing) text() string {
	var lines [places]string
	for i := range lines {
		lines[i] = strconv.Itoa(d.IntN(3))
	}
	return text(lines)
}

func (d drawing) content() string {
	switch d.IntN(10) {
	case 0:
		return "l " + strconv.Itoa(d.IntN(3))
	case 1:
		return "g " + strconv.Itoa(d.IntN(3))
	case 2:
		return "\x00" + strconv.Itoa(d.IntN(3))
	case 3, 4:
		return "x " + d.text()
	}
	return d.text()
}

// set puts a file where room is made for it.
func (f files) set(p, content string) {
	maps.DeleteFunc(f, func(other, _ string) bool {
		return strings.HasPrefix(other, p+"/") || strings.HasPrefix(p, other+"/")
	})
	f[p] = content
}

func (d drawing) base() files {
	f := files{}
	for range 1 + d.IntN(8) {
		f.set(d.path(), d.content())
	}
	return f
}

// developed is a tree after some changes.
func (d drawing) developed(base files) files {
	f := maps.Clone(base)
	for range 1 + d.IntN(9) {
		had := slices.Sorted(maps.Keys(f))
		p := d.path()
		if len(had) > 0 && d.IntN(3) > 0 {
			p = had[d.IntN(len(had))]
		}
		switch d.IntN(7) {
		case 0:
			delete(f, p)
		case 1:
			if rest, ok := strings.CutPrefix(f[p], "x "); ok {
				f[p] = rest
			} else if _, ok := linesOf(f[p]); ok {
				f[p] = "x " + f[p]
			}
		case 2, 3:
			if lines, ok := linesOf(f[p]); ok {
				lines[d.IntN(places)] = strconv.Itoa(d.IntN(3))
				f[p] = strings.Repeat("x ", strings.Count(f[p], "x ")) + text(lines)
			}
		default:
			f.set(d.path(), d.content())
		}
	}
	return f
}

func linesOf(content string) (lines [places]string, ok bool) {
	parts := strings.Split(strings.TrimPrefix(content, "x "), between)
	return lines, len(parts) == places+1 && copy(lines[:], parts) == places
}

// model is what is to come of two developments.
type model struct {
	base, ours, theirs, want files
	both                     []string // paths that both changed, and that cannot both be had
	crowded                  []string // paths of theirs for which there is no room
}

func modelOf(base, ours, theirs files) *model {
	m := &model{base: base, ours: ours, theirs: theirs, want: maps.Clone(ours)}
	all := maps.Clone(base)
	maps.Copy(all, ours)
	maps.Copy(all, theirs)
	created := files{}
	for p := range all {
		b, o, t := base[p], ours[p], theirs[p] // no content is empty
		merged, ok := merge(b, o, t)
		if !ok && strings.HasPrefix(p, ".foundry-handoff/") {
			merged, ok = t, true
		}
		switch {
		case !ok:
			m.both = append(m.both, p)
		case merged == "":
			delete(m.want, p)
		case o == "":
			created[p] = merged
		default:
			m.want[p] = merged
		}
	}
	room := maps.Clone(m.want)
	for p, content := range created {
		if strings.HasPrefix(p, ".foundry-handoff/") {
			m.want.set(p, content)
		} else if room.crowd(p) {
			m.crowded = append(m.crowded, p)
		} else {
			m.want[p] = content
		}
	}
	slices.Sort(m.both)
	slices.Sort(m.crowded)
	return m
}

// crowd says whether there is no room for a file.
func (f files) crowd(p string) bool {
	for other := range f {
		if strings.HasPrefix(other, p+"/") || strings.HasPrefix(p, other+"/") {
			return true
		}
	}
	return false
}

func merge(b, o, t string) (string, bool) {
	if merged, ok := threeWay(b, o, t); ok {
		return merged, true
	}
	if !isFile(b) || !isFile(o) || !isFile(t) {
		return "", false
	}
	mode := func(s string) string { return strings.Repeat("x ", strings.Count(s, "x ")) }
	x, _ := threeWay(mode(b), mode(o), mode(t)) // of two values one is always had
	bytes := func(s string) string { return strings.TrimPrefix(s, "x ") }
	if merged, ok := threeWay(bytes(b), bytes(o), bytes(t)); ok {
		return x + merged, true
	}
	bl, bok := linesOf(b)
	ol, ook := linesOf(o)
	tl, tok := linesOf(t)
	ok := bok && ook && tok
	var lines [places]string
	for i := range lines {
		var fits bool
		lines[i], fits = threeWay(bl[i], ol[i], tl[i])
		ok = ok && fits
	}
	return x + text(lines), ok
}

func isFile(content string) bool {
	return content != "" && !strings.HasPrefix(content, "l ") && !strings.HasPrefix(content, "g ")
}

func TestCombineModel(t *testing.T) {
	t.Parallel()
	first := rand.Uint64()
	if s := os.Getenv(seed.Variable); s != "" {
		var err error
		if first, err = strconv.ParseUint(s, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	c := newCombiner(t)
	for i := range uint64(scenariosAsked(t)) {
		d := drawing{rand.New(rand.NewPCG(first, i))}
		base := d.base()
		ours, theirs := d.developed(base), d.developed(base)
		name := fmt.Sprintf("seed %d, case %d", first, i)
		there := c.judge(t, name, base, ours, theirs)
		back := c.judge(t, name+", the other way round", base, theirs, ours)
		if !slices.Equal(there.both, back.both) {
			t.Errorf("%s: both changed %q, and the other way round %q", name, there.both, back.both)
		}
		if t.Failed() {
			t.Fatalf("%s\nbase   %q\nours   %q\ntheirs %q", name, base, ours, theirs)
		}
	}
}

// judge combines and compares with the model.
func (c *combiner) judge(t *testing.T, name string, base, ours, theirs files) *model {
	t.Helper()
	m := modelOf(base, ours, theirs)
	got, err := c.combine(base, ours, theirs)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	is, err := c.get(got.Tree)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	if diff := cmp.Diff(m.want, is); diff != "" {
		t.Errorf("%s: the tree (-want +got):\n%s", name, diff)
	}
	told := []string{}
	for _, conflict := range got.Conflicts {
		told = append(told, conflict.Path)
		if conflict.Why == "" || path.Clean(conflict.Path) != conflict.Path {
			t.Errorf("%s: %+v", name, conflict)
		}
	}
	if want := slices.Sorted(slices.Values(slices.Concat(m.both, m.crowded))); !slices.Equal(told, want) {
		t.Errorf("%s: conflicts at %q, want %q", name, told, want)
	}
	// Without the model: what one of them changed is there or told, and where both did the outcome is a file or the agents'.
	for _, side := range [][2]files{{ours, theirs}, {theirs, ours}} {
		for p, content := range side[0] {
			alone, own := side[1][p] == base[p], strings.HasPrefix(p, ".foundry-handoff/")
			if content != base[p] && is[p] != content && !slices.Contains(told, p) && (alone && !own || !isFile(is[p]) && !own) {
				t.Errorf("%s: %q at %q is lost", name, content, p)
			}
		}
	}
	return m
}

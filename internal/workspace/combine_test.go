package workspace

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"foundry/internal/process"
)

// files is a tree for a person: the content by path. A content that begins with "x ", "l " or "g " is that of a program,
// is where a link leads, or is a digit of which a commit's id is made.
type files map[string]string

// combiner makes and reads trees.
type combiner struct {
	repo *Repo
	*trees
	folds bool
}

func newCombiner(t *testing.T) *combiner {
	t.Helper()
	r := newRepo(t).open().repo
	return &combiner{repo: r, trees: newTrees(r.git, r.store())}
}

func (c *combiner) put(list files) (tree string, err error) {
	edits := map[string]edit{}
	for p, text := range list {
		e := edit{mode: "100644"}
		switch kind, rest, _ := strings.Cut(text, " "); kind {
		case "x":
			e.mode, text = "100755", rest
		case "l":
			e.mode, text = "120000", rest
		case "g":
			edits[p] = edit{mode: "160000", blob: strings.Repeat(rest, 40)}
			continue
		}
		if e.blob, err = c.store.put("blob", []byte(text)); err != nil {
			return "", err
		}
		edits[p] = e
	}
	empty, err := c.store.put("tree", nil)
	if err != nil {
		return "", err
	}
	return c.patch(ctx, empty, edits)
}

// combine makes three trees and combines them.
func (c *combiner) combine(base, ours, theirs files) (Combined, error) {
	var ids [3]string
	for i, list := range []files{base, ours, theirs} {
		var err error
		if ids[i], err = c.put(list); err != nil {
			return Combined{}, err
		}
	}
	return c.repo.combine(ctx, ids[0], ids[1], ids[2], c.folds)
}

// get asks git what is in a tree.
func (c *combiner) get(tree string) (files, error) {
	out, err := c.git.read(ctx, "ls-tree", "-r", "-z", "--full-tree", tree)
	if err != nil {
		return nil, err
	}
	recs, err := fields(out)
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, rec := range recs {
		if f := strings.Fields(rec); f[1] == "blob" {
			ids = append(ids, f[2])
		}
	}
	blobs := map[string][]byte{}
	if len(ids) > 0 {
		if blobs, err = c.git.blobs(ctx, ids); err != nil {
			return nil, err
		}
	}
	list := files{}
	for _, rec := range recs {
		info, p, _ := strings.Cut(rec, "\t")
		f := strings.Fields(info)
		switch text := string(blobs[f[2]]); f[0] {
		case "100644":
			list[p] = text
		case "100755":
			list[p] = "x " + text
		case "120000":
			list[p] = "l " + text
		case "160000":
			list[p] = "g " + f[2][:1]
		default:
			return nil, fmt.Errorf("what is %q?", rec)
		}
	}
	return list, nil
}

const ten = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n"

func in(text, old, new string) string { return strings.Replace(text, old, new, 1) }

func TestCombine(t *testing.T) {
	t.Parallel()
	const (
		lines   = "both changed the same lines"
		gone    = "deleted in one and changed in the other"
		content = "both created it, with different content"
		mixed   = "a file in one and a directory in the other"
	)
	c := newCombiner(t)
	for name, tt := range map[string]struct {
		base, ours, theirs files
		folds              bool
		want               files // ours when it is nil
		conflicts          []Conflict
	}{
		"only theirs":                         {base: files{"a": "1", "b": "1", "c": "1"}, ours: files{"a": "1", "b": "1", "c": "1"}, theirs: files{"a": "2", "c": "1", "d/e": "1"}, want: files{"a": "2", "c": "1", "d/e": "1"}},
		"only ours":                           {base: files{"a": "1"}, ours: files{"a": "2", "b": "1"}, theirs: files{"a": "1"}},
		"the same":                            {base: files{"a": "1"}, ours: files{"a": "2"}, theirs: files{"a": "2"}},
		"different paths":                     {base: files{"a": "1", "b": "1", "c": "1", "d": "1"}, ours: files{"a": "2", "b": "1", "d": "1", "e": "1"}, theirs: files{"a": "1", "b": "2", "c": "1", "f": "1"}, want: files{"a": "2", "b": "2", "e": "1", "f": "1"}},
		"the same at a path":                  {base: files{"a": "1", "b": "1", "c": "1"}, ours: files{"a": "2", "b": "1", "n": "1"}, theirs: files{"a": "2", "b": "2", "n": "1"}, want: files{"a": "2", "b": "2", "n": "1"}},
		"nothing is left":                     {base: files{"a": "1", "d/b": "1"}, ours: files{"a": "1"}, theirs: files{"d/b": "1"}, want: files{}},
		"from nothing":                        {base: files{}, ours: files{"a": "1"}, theirs: files{"b": "1"}, want: files{"a": "1", "b": "1"}},
		"different lines":                     {base: files{"a": ten}, ours: files{"a": in(ten, "2", "two")}, theirs: files{"a": in(ten, "9", "nine")}, want: files{"a": in(in(ten, "9", "nine"), "2", "two")}},
		"the same lines":                      {base: files{"a": ten, "b": "1"}, ours: files{"a": in(ten, "2", "two"), "b": "1"}, theirs: files{"a": in(ten, "2", "zwei"), "b": "2"}, want: files{"a": in(ten, "2", "two"), "b": "2"}, conflicts: []Conflict{{"a", lines}}},
		"neighbouring lines":                  {base: files{"a": ten}, ours: files{"a": in(ten, "2", "two")}, theirs: files{"a": in(ten, "3", "three")}, conflicts: []Conflict{{"a", lines}}},
		"one change is in both":               {base: files{"a": ten}, ours: files{"a": in(in(ten, "2", "two"), "5", "five")}, theirs: files{"a": in(in(ten, "2", "two"), "9", "nine")}, want: files{"a": in(in(in(ten, "2", "two"), "5", "five"), "9", "nine")}},
		"carriage returns":                    {base: files{"a": "1\r\n2\r\n3\r\n4\r\n"}, ours: files{"a": "one\r\n2\r\n3\r\n4\r\n"}, theirs: files{"a": "1\r\n2\r\n3\r\nfour\r\n"}, want: files{"a": "one\r\n2\r\n3\r\nfour\r\n"}},
		"text like markers":                   {base: files{"a": "<<<<<<< ours\n" + ten}, ours: files{"a": "<<<<<<< ours\n" + in(ten, "2", "two")}, theirs: files{"a": "<<<<<<< ours\n" + in(ten, "9", "nine")}, want: files{"a": "<<<<<<< ours\n" + in(in(ten, "9", "nine"), "2", "two")}},
		"200 conflicts":                       {base: files{"a": strings.Repeat("x\na\nb\nc\nd\n", 200)}, ours: files{"a": strings.Repeat("o\na\nb\nc\nd\n", 200)}, theirs: files{"a": strings.Repeat("t\na\nb\nc\nd\n", 200)}, conflicts: []Conflict{{"a", lines}}},
		"not text":                            {base: files{"a": "\x00" + ten}, ours: files{"a": "\x00" + in(ten, "2", "two")}, theirs: files{"a": "\x00" + in(ten, "9", "nine")}, conflicts: []Conflict{{"a", "both changed it, and it is not text"}}},
		"mode and content":                    {base: files{"a": "1", "b": "1"}, ours: files{"a": "x 1", "b": "2"}, theirs: files{"a": "2", "b": "x 1"}, want: files{"a": "x 2", "b": "x 2"}},
		"mode and lines":                      {base: files{"a": ten}, ours: files{"a": in(ten, "2", "two")}, theirs: files{"a": "x " + in(ten, "9", "nine")}, want: files{"a": "x " + in(in(ten, "9", "nine"), "2", "two")}},
		"mode of a new file":                  {base: files{"z": "1"}, ours: files{"a": "1", "z": "1"}, theirs: files{"a": "x 1"}, want: files{"a": "1"}, conflicts: []Conflict{{"a", "both created it, with different modes"}}},
		"two new files":                       {base: files{"z": "1"}, ours: files{"a": "", "z": "1"}, theirs: files{"a": "1"}, want: files{"a": ""}, conflicts: []Conflict{{"a", content}}},
		"theirs deletes":                      {base: files{"a": "1"}, ours: files{"a": "2"}, theirs: files{}, conflicts: []Conflict{{"a", gone}}},
		"ours deletes":                        {base: files{"a": "1"}, ours: files{}, theirs: files{"a": "2"}, conflicts: []Conflict{{"a", gone}}},
		"renamed and changed":                 {base: files{"a": ten}, ours: files{"b": ten}, theirs: files{"a": ten + "11\n"}, conflicts: []Conflict{{"a", gone}}},
		"changed and renamed":                 {base: files{"a": ten}, ours: files{"a": ten + "11\n"}, theirs: files{"b": ten}, want: files{"a": ten + "11\n", "b": ten}, conflicts: []Conflict{{"a", gone}}},
		"renamed in both":                     {base: files{"a": ten}, ours: files{"b": ten}, theirs: files{"c": ten}, want: files{"b": ten, "c": ten}},
		"links":                               {base: files{"a": "l 1", "b": "l 1"}, ours: files{"a": "l 2", "b": "l 1"}, theirs: files{"a": "l 3", "b": "l 2"}, want: files{"a": "l 2", "b": "l 2"}, conflicts: []Conflict{{"a", "both changed where the link leads"}}},
		"nested repositories":                 {base: files{"a": "g 1", "b": "g 1"}, ours: files{"a": "g 2", "b": "g 1"}, theirs: files{"a": "g 3", "b": "g 2"}, want: files{"a": "g 2", "b": "g 2"}, conflicts: []Conflict{{"a", "both changed which commit is recorded there"}}},
		"types":                               {base: files{"a": ten, "b": ten, "c": "l 1"}, ours: files{"a": "l 1", "b": ten + "11\n", "c": "1"}, theirs: files{"a": ten + "11\n", "b": "g 1", "c": "2"}, conflicts: []Conflict{{"a", "a file in one and a symbolic link in the other"}, {"b", "a file in one and a nested repository in the other"}, {"c", "both made a file of it, with different content"}}},
		"a type in one":                       {base: files{"a": "1", "b": "1"}, ours: files{"a": "1", "b": "2"}, theirs: files{"a": "l 1", "b": "1"}, want: files{"a": "l 1", "b": "2"}},
		"a file becomes a directory":          {base: files{"a": "1", "b": "1"}, ours: files{"a": "1", "b": "2"}, theirs: files{"a/x": "1", "b": "1"}, want: files{"a/x": "1", "b": "2"}},
		"a directory becomes a file":          {base: files{"a/x": "1", "a/y/z": "1", "b": "1"}, ours: files{"a/x": "1", "a/y/z": "1", "b": "2"}, theirs: files{"a": "1", "b": "1"}, want: files{"a": "1", "b": "2"}},
		"a file changed and made a directory": {base: files{"a": "1"}, ours: files{"a": "2"}, theirs: files{"a/x": "1", "a/y": "1"}, conflicts: []Conflict{{"a", gone}, {"a/x", mixed}, {"a/y", mixed}}},
		"a directory grown and made a file":   {base: files{"a/x": "1"}, ours: files{"a/x": "1", "a/y": "1"}, theirs: files{"a": "1"}, want: files{"a/y": "1"}, conflicts: []Conflict{{"a", mixed}}},
		"a new file and a new directory":      {base: files{"z": "1"}, ours: files{"a": "1", "d/e": "1", "z": "1"}, theirs: files{"a/b/c": "1", "d": "1", "z": "1"}, conflicts: []Conflict{{"a/b/c", mixed}, {"d", mixed}}},
		"a link and a new directory":          {base: files{"z": "1"}, ours: files{"a": "l z", "z": "1"}, theirs: files{"a/b": "1"}, want: files{"a": "l z"}, conflicts: []Conflict{{"a/b", mixed}}},
		"case, where it is told apart":        {base: files{"z": "1"}, ours: files{"a": "1", "z": "1"}, theirs: files{"A": "1", "z": "1"}, want: files{"a": "1", "A": "1", "z": "1"}},
		"case, where it is not":               {base: files{"z": "1"}, ours: files{"a": "1", "d/e": "1", "z": "1"}, theirs: files{"A": "1", "D/f": "1", "d/E": "1", "n": "1", "z": "1"}, folds: true, want: files{"a": "1", "d/e": "1", "n": "1", "z": "1"}, conflicts: []Conflict{{"A", `"a" in the other differs from its name only in case`}, {"D/f", `"d" in the other differs from its name only in case`}, {"d/E", `"d/e" in the other differs from its name only in case`}}},
		"a rename in case":                    {base: files{"a": "1", "d/e": "1"}, ours: files{"a": "1", "d/e": "1", "z": "1"}, theirs: files{"A": "1", "D/e": "1"}, folds: true, want: files{"A": "1", "D/e": "1", "z": "1"}},
		"the agents' own": {
			base:   files{".foundry-handoff/lines": ten, ".foundry-handoff/went": "1", ".foundry-handoff/kept": "1", ".foundry-handoff/dir": "1", ".foundry-handoff-not/a": "1"},
			ours:   files{".foundry-handoff/lines": in(ten, "2", "two"), ".foundry-handoff/went": "2", ".foundry-handoff/dir/a": "1", ".foundry-handoff/new": "1", ".foundry-handoff/file": "1", ".foundry-handoff-not/a": "2"},
			theirs: files{".foundry-handoff/lines": in(ten, "9", "nine"), ".foundry-handoff/kept": "2", ".foundry-handoff/dir": "2", ".foundry-handoff/new": "2", ".foundry-handoff/file/a": "1", ".foundry-handoff-not/a": "3"},
			want:   files{".foundry-handoff/lines": in(in(ten, "9", "nine"), "2", "two"), ".foundry-handoff/kept": "2", ".foundry-handoff/dir": "2", ".foundry-handoff/new": "2", ".foundry-handoff/file/a": "1", ".foundry-handoff-not/a": "2"}, conflicts: []Conflict{{".foundry-handoff-not/a", "both changed the same lines"}}},
		"the agents' own lines": {base: files{".foundry-handoff/a": ten}, ours: files{".foundry-handoff/a": in(ten, "2", "two")}, theirs: files{".foundry-handoff/a": in(ten, "2", "zwei")}, want: files{".foundry-handoff/a": in(ten, "2", "zwei")}},
		"strange names": {
			base: files{"z": "1"}, ours: files{"line\nbreak/a": "1", "-rf": ten, ":(top)": "1", "z": "1"},
			theirs: files{"line\nbreak/b": "1", "-rf": "1", ":(top)/x": "1", "\xff\xfe": "1", "a b/ c ": "1", "caf\u00e9": "1", "\"": "1", "z": "1"},
			want:   files{"line\nbreak/a": "1", "line\nbreak/b": "1", "-rf": ten, ":(top)": "1", "\xff\xfe": "1", "a b/ c ": "1", "caf\u00e9": "1", "\"": "1", "z": "1"}, conflicts: []Conflict{{"-rf", content}, {":(top)/x", mixed}}},
	} {
		t.Run(name, func(t *testing.T) {
			c.folds = tt.folds
			got, err := c.combine(tt.base, tt.ours, tt.theirs)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.conflicts, got.Conflicts); diff != "" {
				t.Errorf("conflicts (-want +got):\n%s", diff)
			}
			want := tt.want
			if want == nil {
				want = tt.ours
			}
			is, err := c.get(got.Tree)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, is); diff != "" {
				t.Errorf("the tree (-want +got):\n%s", diff)
			}
		})
	}
}

// Many changes cost a few calls of git, a large file is merged as others are, and what a later collection of garbage
// must not take is held by the tree alone.
func TestCombineMuch(t *testing.T) {
	t.Parallel()
	c := newCombiner(t)
	base, ours, theirs := files{}, files{}, files{}
	for i := range 1000 {
		p := fmt.Sprintf("d%d/f%d", i%30, i)
		base[p], ours[p], theirs[p] = "1", "1", "2"
		theirs[fmt.Sprintf("n%d/f%d", i%30, i)] = "1"
	}
	large := strings.Repeat(ten, largest/10)
	base["large"], ours["large"], theirs["large"] = "1\n2\n3\n"+large+"1\n2\n3\n", "one\n2\n3\n"+large+"1\n2\n3\n", "1\n2\n3\n"+large+"1\n2\nthree\n"
	ours["o"] = "1"
	want := maps.Clone(theirs)
	want["o"], want["large"] = "1", "one\n2\n3\n"+large+"1\n2\nthree\n"
	var ids [3]string
	for i, list := range []files{base, ours, theirs} {
		var err error
		if ids[i], err = c.put(list); err != nil {
			t.Fatal(err)
		}
	}
	calls := countGit(t, c.repo)
	got, err := c.repo.Combine(ctx, ids[0], ids[1], ids[2])
	if err != nil || len(got.Conflicts) > 0 {
		t.Fatalf("%+v, %v", got.Conflicts, err)
	}
	if n := calls(); n == 0 || n > 12 {
		t.Errorf("git was called %d times", n)
	}
	if is, err := c.get(got.Tree); err != nil || !maps.Equal(is, want) {
		t.Errorf("the tree is another (%v)", err)
	}
	f := &fix{t: t, root: c.repo.Root()}
	if refs := f.sh(f.root, "git for-each-ref refs/foundry; git fsck --strict --no-dangling"); refs != "" {
		t.Errorf("git says %q", refs)
	}
}

// countGit has the calls of git counted.
func countGit(t *testing.T, r *Repo) (calls func() int) {
	t.Helper()
	dir := t.TempDir()
	beforeGit(t, r, "printf . >>'"+dir+"/calls'")
	return func() int {
		b, _ := os.ReadFile(filepath.Join(dir, "calls"))
		return len(b)
	}
}

// beforeGit has a script run before each call of git.
func beforeGit(t *testing.T, r *Repo, script string) {
	t.Helper()
	dir := t.TempDir()
	real, err := exec.LookPath("git")
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "git"), []byte("#!/bin/sh\n"+script+"\nexec '"+real+"' \"$@\"\n"), 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	r.git.env = process.Environ(r.git.env, []string{"PATH=" + dir + string(filepath.ListSeparator) + os.Getenv("PATH")})
}

// What the user has configured, and attributes in the trees, change nothing.
func TestCombineAsConfigured(t *testing.T) {
	t.Parallel()
	c := newCombiner(t)
	f := &fix{t: t, root: c.repo.Root()}
	f.sh(f.root, "git config merge.conflictStyle nonsense; git config merge.x.driver false; git config merge.default x; git config diff.renames copies; git config core.autocrlf true; echo '* merge=x text eol=crlf' >.git/info/attributes")
	const attributes = "* merge=x text eol=crlf\n*.u merge=union\n"
	base := files{".gitattributes": attributes, "a": ten, "b.u": ten, "c": ten}
	ours := files{".gitattributes": attributes, "a": in(ten, "2", "two"), "b.u": in(ten, "2", "two"), "d": ten}
	theirs := files{".gitattributes": attributes, "a": in(ten, "9", "nine"), "b.u": in(ten, "2", "zwei"), "c": ten + "11\n"}
	want := files{".gitattributes": attributes, "a": in(in(ten, "9", "nine"), "2", "two"), "b.u": in(ten, "2", "two"), "d": ten}
	got, err := c.combine(base, ours, theirs)
	if err != nil {
		t.Fatal(err)
	}
	if is, err := c.get(got.Tree); err != nil || !maps.Equal(is, want) || len(got.Conflicts) != 2 || got.Conflicts[0].Path != "b.u" || got.Conflicts[1].Path != "c" {
		t.Errorf("%v, %v, %v", is, got.Conflicts, err)
	}
}

// A git that fails is an error and never a conflict.
func TestCombineFails(t *testing.T) {
	t.Parallel()
	base, ours, theirs := files{"a": ten}, files{"a": in(ten, "2", "two")}, files{"a": in(ten, "9", "nine")}
	for name, script := range map[string]string{
		"it is not to be had": "exit 127", "it fails": "exit 1", "it is killed": "kill -9 $$", "it makes no sense": "exit 255",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCombiner(t)
			beforeGit(t, c.repo, `case "$*" in *merge-file*) `+script+";; esac")
			if got, err := c.combine(base, ours, theirs); err == nil || !strings.Contains(err.Error(), `merge "a"`) {
				t.Errorf("%+v, %v", got, err)
			}
		})
	}
	c := newCombiner(t)
	if got, err := c.repo.Combine(ctx, strings.Repeat("1", 40), strings.Repeat("2", 40), strings.Repeat("3", 40)); err == nil {
		t.Errorf("%+v of trees that there are not", got)
	}
}

package workspace

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"foundry/glob"
)

// What random scenarios have found, each made small.

// The permissions of a file are undone without touching another name of the same file, which may change.
func TestUndoOfPermissionsOfAHardLink(t *testing.T) {
	t.Parallel()
	f := withTree(t)
	f.agent("ln b.txt src/b.txt")
	e := f.checkBoundary("chmod +x b.txt", onlySrc, "mode b.txt")
	same(t, "changes", changed(e), []string{"mode src/b.txt"})
}

// A repository that stands where a tracked file was hides nothing.
func TestNestedRepositoryInPlaceOfAFile(t *testing.T) {
	t.Parallel()
	f := withTree(t)
	f.checkBoundary("rm a.txt; git init -q a.txt; cd a.txt; echo in >in; mkdir d; echo x >d/x", onlySrc,
		"nested a.txt", "deleted a.txt", "created a.txt/in", "created a.txt/d/x")
}

// What stands in the place of a tracked file is not tracked for that: a directory there is ignored when a rule says
// so, and a pipe is not, since the file counts.
func TestIgnoredInPlaceOfAFile(t *testing.T) {
	t.Parallel()
	f := newRepo(t)
	f.sh(f.root, "echo one >node_modules; echo e >x.env; git add -A -f; git commit -qm odd")
	f.add()
	start := f.snapshot()
	f.agent("rm node_modules x.env; mkdir node_modules; echo m >node_modules/m; echo junk >node_modules/.git; mkfifo x.env")
	e := f.enforce(start, onlySrc)
	var got []string
	for _, v := range e.Violations {
		got = append(got, v.Change+" "+v.Path)
	}
	same(t, "violations", got, []string{"deleted node_modules", "type x.env"})
	if now := disk(t, f.tree.Dir()); now["node_modules/m"] != "f 644 m\n" || now["x.env"] != "f 644 e\n" {
		t.Errorf("left: %q", now)
	}
}

// Pipes and sockets that a rule ignores are nobody's business, unless the rule is new.
func TestIgnoredSpecialFiles(t *testing.T) {
	t.Parallel()
	f := withTree(t)
	start := f.snapshot()
	f.agent("mkfifo x.env; mkdir node_modules; mkfifo node_modules/p")
	same(t, "violations", violated(t, f.enforce(start, onlySrc)), nil)
	if k, _ := kindAt(f.tree.Dir(), "x.env"); k != "fifo" {
		t.Errorf("x.env is %s", k)
	}
	f.checkBoundary("mkdir new; mkfifo pipe new/pipe; printf 'pipe\nnew/\n' >>.gitignore", onlySrc, "changed .gitignore", "created pipe", "created new/pipe")
}

// Rules that hide themselves are seen wherever they are: in a directory with tracked files, and at the root.
func TestRulesThatHideThemselves(t *testing.T) {
	t.Parallel()
	f := withTree(t)
	b := glob.Boundary{Writes: []glob.Layer{{Globs: []string{"src/*.go"}}}}
	f.checkBoundary("echo '*' >src/.gitignore; echo x >src/evil; echo ok >src/ok.go", b, "created src/.gitignore", "created src/evil")
	g := newRepo(t)
	g.sh(g.root, "git rm -q .gitignore; git commit -qm 'no rules'")
	g.add()
	g.checkBoundary("echo '*' >.gitignore; echo x >evil", onlySrc, "created .gitignore", "created evil")
	// Where rules hid themselves from the start, they hide what they hid, and nothing else.
	g.agent("mkdir gen; printf '*.o\n.gitignore\n' >gen/.gitignore; echo 1 >gen/1.o")
	start := g.snapshot()
	g.agent("echo 2 >gen/2.o; echo c >gen/2.c; echo '*' >gen/.gitignore")
	same(t, "violations", violated(t, g.enforce(start, onlySrc)), []string{"created gen/2.c"})
}

// A repository that a new rule hides is found all the same.
func TestRulesOverANestedRepository(t *testing.T) {
	t.Parallel()
	f := withTree(t)
	f.checkBoundary("echo hid/ >>.gitignore; git init -q hid; cd hid; echo x >x; git init -q deep", onlySrc, "changed .gitignore", "created hid/x", "nested hid", "nested hid/deep")
}

// A new rule hides nothing in a directory that stands where a tracked link was.
func TestRulesOverADirectoryInPlaceOfALink(t *testing.T) {
	t.Parallel()
	f := newRepo(t)
	f.sh(f.root, "ln -s nowhere lib; git add -A; git commit -qm link")
	f.add()
	f.agent("rm lib; mkdir lib; echo 1 >lib/one")
	f.checkBoundary("echo '*' >.gitignore; ln -s nowhere lib/evil; mkdir lib/deep; echo x >lib/deep/x", onlySrc, "changed .gitignore", "created lib/evil", "created lib/deep/x")
}

// What a rule of the start ignored is not the phase's deed because another rule shows it now.
func TestRulesThatShowRules(t *testing.T) {
	t.Parallel()
	f := withTree(t)
	f.agent("mkdir -p node_modules/m; echo '*.log' >node_modules/m/.gitignore; echo m >node_modules/m/m.js")
	f.checkBoundary("echo '!node_modules/' >>.gitignore; echo ok >src/ok", onlySrc, "changed .gitignore")
	if _, err := os.Lstat(filepath.Join(f.tree.Dir(), "node_modules/m/.gitignore")); err != nil {
		t.Error(err)
	}
}

// An index that cannot be read, or that names what is not there, keeps nobody from judging; flags in it are
// reported although HEAD, and the index with it, is put back for another reason.
func TestIndexes(t *testing.T) {
	t.Parallel()
	junk := `echo junk >"$(git rev-parse --git-dir)/index"`
	for _, tt := range []struct {
		name, script string
		commits      bool
		want         []string
	}{
		{"junk", "echo x >new;" + junk, false, []string{"created new"}},
		{"junk after a commit", "echo ok >>src/s.go; git commit -qam ok; echo x >new;" + junk, true, []string{"created new"}},
		{"none", `echo x >new; rm "$(git rev-parse --git-dir)/index"`, false, []string{"created new"}},
		{"a commit of another repository", "mkdir sub; echo x >sub/x; git update-index --add --cacheinfo 160000,1111111111111111111111111111111111111111,sub", false, []string{"created sub/x"}},
		{"committed so", "mkdir sub; echo x >sub/x; git update-index --add --cacheinfo 160000,1111111111111111111111111111111111111111,sub; git commit -qm sub", true, []string{"created sub/x"}},
		{"flags and a commit", "echo ok >>src/s.go; git commit -qam ok; git update-index --skip-worktree a.txt; echo evil >a.txt", false, []string{"changed a.txt", "head .git/HEAD", "index a.txt"}},
		{"flags after an allowed commit", "echo ok >>src/s.go; git commit -qam ok; git update-index --assume-unchanged a.txt; echo evil >a.txt", true, []string{"changed a.txt", "index a.txt"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := withTree(t)
			start := f.snapshot()
			f.agent(tt.script)
			e, err := f.tree.Enforce(ctx, start, onlySrc, tt.commits)
			if err != nil {
				t.Fatal(err)
			}
			same(t, "violations", violated(t, e), tt.want)
			if out := f.sh(f.tree.Dir(), "git ls-files -v a.txt; git status --porcelain -- a.txt"); out != "H a.txt" {
				t.Errorf("the index says %q", out)
			}
		})
	}
}

// A git that fails, is killed, or stops in the middle of its answer while a boundary is checked is an error: the
// check never says less than the truth.
func TestBoundaryOfAGitThatFails(t *testing.T) {
	t.Parallel()
	ways := map[string]string{"fails": `echo "fatal: no" >&2; exit 128`, "is killed": "kill -KILL $$", "stops": `"$real" "$@" | head -c -1; exit 0`, "warns": `echo "warning: no attributes" >&2`}
	for _, command := range []string{"diff-files", "ls-files", "rev-parse", "check-ignore", "diff-tree", "cat-file", "update-ref", "merge-base", "symbolic-ref"} {
		t.Run(command, func(t *testing.T) {
			t.Parallel()
			for how, script := range ways {
				if command != "diff-files" && (how == "is killed" || how == "warns") {
					continue // these do not depend on the command
				}
				f := newRepo(t)
				mark := filepath.Join(filepath.Dir(f.root), "fail")
				env := fakeGit(t, `[ -e `+mark+` ] && case " $* " in *" `+command+` "*) real=`+realGit(t)+`; `+script+`;; esac`)
				f.open()
				f.base, _, _ = f.repo.Head(ctx)
				var err error
				if f.repo, err = OpenIn(ctx, f.root, env); err != nil {
					t.Fatal(err)
				}
				if f.tree, err = f.repo.AddWorktree(ctx, f.spec()); err != nil {
					t.Fatal(err)
				}
				start := f.snapshot()
				f.agent("echo x >>a.txt; echo n >n; echo ok >>src/s.go; git add src; git commit -qm ok; echo x >x.env; git update-index --assume-unchanged b.txt; echo evil >b.txt; touch " + mark)
				e, err := f.tree.Enforce(ctx, start, onlySrc, false)
				if err != nil {
					if how == "warns" {
						t.Errorf("%s %s: %v", command, how, err)
					}
					continue
				}
				var got []string
				for _, v := range e.Violations {
					got = append(got, v.Change+" "+v.Path)
				}
				same(t, command+" "+how, got, []string{"changed a.txt", "created n", "changed b.txt", "index b.txt", "head .git/HEAD"})
				same(t, command+" "+how+": changes", changed(e), []string{"changed src/s.go"})
			}
		})
	}
}

func realGit(t *testing.T) string {
	path, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	return path
}

package watch

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestLimits runs itself in a user namespace of its own, in which the limits can be lowered.
func TestLimits(t *testing.T) {
	t.Parallel()
	if name := os.Getenv("WATCH_TEST_LIMIT"); name != "" {
		underLimit(t, name, os.Getenv("WATCH_TEST_TREE"))
		return
	}
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for i := range 200 {
		if err := os.MkdirAll(filepath.Join(root, fmt.Sprintf("d%d", i)), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	for name, says := range map[string]string{
		"max_inotify_watches":   "fs.inotify.max_user_watches is ",
		"max_inotify_instances": "fs.inotify.max_user_instances is ",
	} {
		c := exec.Command(os.Args[0], "-test.run=^TestLimits$", "-test.v")
		c.Env = append(os.Environ(), "WATCH_TEST_LIMIT="+name, "WATCH_TEST_TREE="+root)
		c.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER,
			UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
			GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}}
		out, err := c.CombinedOutput()
		switch {
		case strings.Contains(string(out), "SKIPPED"), err != nil && len(out) == 0:
			t.Skipf("limits cannot be lowered here: %v %s", err, out)
		case err != nil:
			t.Errorf("%s: %v\n%s", name, err, out)
		case !strings.Contains(string(out), says):
			t.Errorf("%s: want %q in\n%s", name, says, out)
		case name == "max_inotify_watches" && !strings.Contains(string(out), "needs 201;"):
			t.Errorf("the number that would do is not there:\n%s", out)
		}
	}
}

func underLimit(t *testing.T, name, root string) {
	value := map[string]string{"max_inotify_watches": "50", "max_inotify_instances": "0"}[name]
	if err := os.WriteFile("/proc/sys/user/"+name, []byte(value), 0o600); err != nil {
		t.Skipf("SKIPPED: %v", err)
	}
	b := &bench{t: t, root: root}
	if _, err := Start(t.Context(), Options{Root: root, Mode: Events}); err == nil {
		t.Error("mode events was asked for and cannot be kept")
	}
	b.open(Options{Every: 30 * time.Millisecond})
	if b.w.Mode() != Poll || len(b.notes) != 1 {
		t.Fatalf("mode %s, notes %q", b.w.Mode(), b.notes)
	}
	fmt.Println(b.notes[0])
	b.want("printf 1 >d199/x", "created d199/x")
	os.Remove(filepath.Join(root, "d199/x"))
	os.Remove(filepath.Join(root, "marker"))
}

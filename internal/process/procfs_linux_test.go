package process

import (
	"os"
	"os/exec"
	"slices"
	"strconv"
	"testing"
	"time"
)

// What was started after a process is among the numbers that are looked at, whether they follow its own or are all there are.
func TestStartedSince(t *testing.T) {
	t.Parallel()
	var pids []int
	for range 2 {
		c := exec.Command("sleep", "600")
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			c.Process.Kill()
			c.Wait()
		})
		pids = append(pids, c.Process.Pid)
	}
	if got := startedSince(pids[0], time.Now()); !slices.Contains(got, pids[1]) {
		t.Errorf("%d was started after %d and is not in %v", pids[1], pids[0], got)
	}
	got := startedSince(pids[0], time.Now().Add(-time.Hour)) // in that time the numbers may have begun again
	if !slices.Contains(got, pids[1]) || !slices.Contains(got, os.Getpid()) {
		t.Errorf("%v is not every process", got)
	}
}

func TestLeads(t *testing.T) {
	t.Parallel()
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		t.Fatal(err)
	}
	for _, task := range tasks {
		id, err := strconv.Atoi(task.Name())
		if err != nil {
			t.Fatal(err)
		}
		if got := leads(id); got != (id == os.Getpid()) {
			t.Errorf("%d of process %d leads: %v", id, os.Getpid(), got)
		}
	}
}

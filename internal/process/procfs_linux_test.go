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

// startSleep starts a leader that sleeps until the test has ended.
func startSleep(t *testing.T) *exec.Cmd {
	t.Helper()
	c := exec.Command("sleep", "600")
	c.SysProcAttr = ownGroup()
	release, err := startLeader(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Process.Kill()
		c.Wait()
		release()
	})
	return c
}

// Leaders are nobody's descendants, but their numbers may be given to such once they have ended.
func TestLeadersAreNotLookedAt(t *testing.T) {
	t.Parallel()
	begin := time.Now()
	first, second := startSleep(t).Process.Pid, startSleep(t).Process.Pid
	if got := startedSince(first, begin); slices.Contains(got, second) {
		t.Errorf("the leader %d is in %v", second, got)
	}
	if got := withoutLeaders([]int{first, second}, time.Now()); len(got) != 2 {
		t.Errorf("of %d and %d, which may be others' numbers by now, %v are left", first, second, got)
	}
}

// A group whose number has been given to somebody else since is left alone.
func TestGuardEndsNobodyElse(t *testing.T) {
	t.Parallel()
	for _, taken := range []bool{false, true} {
		c := startSleep(t)
		added := now()
		start := startTime(c.Process.Pid)
		if start == 0 || start > added || added-start > 100*60 {
			t.Fatalf("%d was started at %d, and it is %d", c.Process.Pid, start, added)
		}
		if taken {
			added = start - 1
		}
		endAll(map[int]uint64{c.Process.Pid: added}, "")
		if ended := zombie(c.Process.Pid); ended == taken {
			t.Errorf("a process whose number was taken by somebody else: %v; ended: %v", taken, ended)
		}
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

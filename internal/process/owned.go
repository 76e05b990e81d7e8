package process

import (
	"os/exec"
	"slices"
	"sync"
	"time"
)

// A process that reaps orphans must never take the status of a child that somebody waits for: a failed
// command could then look like one that passed. owned has the pids of the leaders between their start and
// the moment when their status was taken; it is held over the start, so that no pid is ever missing in it.
var owned = struct {
	sync.Mutex
	pids map[int]bool
}{pids: map[int]bool{}}

// leaders are those that were started last, in a ring, those that have ended among them. It has a lock of its own, since
// the one of owned is held for as long as a start takes.
var leaders struct {
	sync.Mutex
	recent [mostLooked]leader
	count  int // of all that were ever started
}

// leader is a program that this process has started, and a time before which it was not there.
type leader struct {
	pid  int
	from time.Time
}

// mostLooked is how many processes that were started since another are looked at one by one.
const mostLooked = 256

func noteLeader(l leader) {
	leaders.Lock()
	defer leaders.Unlock()
	leaders.recent[leaders.count%mostLooked] = l
	leaders.count++
}

// withoutLeaders leaves out the leaders that were started after a time, which none of this process's programs has
// started. Since then no number was given out twice.
func withoutLeaders(pids []int, since time.Time) []int {
	leaders.Lock()
	defer leaders.Unlock()
	for n := leaders.count - 1; n >= 0 && n >= leaders.count-mostLooked && len(pids) > 0; n-- {
		l := leaders.recent[n%mostLooked]
		if l.from.Before(since) {
			break
		}
		if i := slices.Index(pids, l.pid); i >= 0 {
			pids = slices.Delete(pids, i, i+1)
		}
	}
	return pids
}

// startLeader starts a command and returns what must be called when its status was taken.
func startLeader(c *exec.Cmd) (release func(), err error) {
	owned.Lock()
	defer owned.Unlock()
	from := time.Now()
	if err := c.Start(); err != nil {
		return nil, err
	}
	pid := c.Process.Pid
	owned.pids[pid] = true
	noteLeader(leader{pid: pid, from: from})
	return func() {
		owned.Lock()
		defer owned.Unlock()
		delete(owned.pids, pid)
	}, nil
}

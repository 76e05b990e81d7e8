package process

import (
	"os/exec"
	"sync"
)

// A process that reaps orphans must never take the status of a child that somebody waits for: a failed
// command could then look like one that passed. owned has the pids of the leaders between their start and
// the moment when their status was taken; it is held over the start, so that no pid is ever missing in it.
var owned = struct {
	sync.Mutex
	pids map[int]bool
}{pids: map[int]bool{}}

// startLeader starts a command and returns what must be called when its status was taken.
func startLeader(c *exec.Cmd) (release func(), err error) {
	owned.Lock()
	defer owned.Unlock()
	if err := c.Start(); err != nil {
		return nil, err
	}
	pid := c.Process.Pid
	owned.pids[pid] = true
	return func() {
		owned.Lock()
		defer owned.Unlock()
		delete(owned.pids, pid)
	}, nil
}

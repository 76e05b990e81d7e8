package process

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// AdoptOrphans makes this process the parent of every descendant whose own parent ends, so that nothing a run
// started can get out of sight, and takes the status of those that end, so that none stays as a zombie. It
// returns what undoes it. Children that this process already has are nobody's orphans, and those that are not
// started by this package are safe as long as they are in its session.
func AdoptOrphans() (stop func(), err error) {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return nil, fmt.Errorf("become the parent of orphans: %w", err)
	}
	keepChildren()
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		// Every program that ends sends a signal, and to hear each of them costs more than to ask now and then.
		look := time.NewTicker(reapTime)
		defer look.Stop()
		for {
			select {
			case <-look.C:
				reapOrphans()
			case <-done:
				return
			}
		}
	})
	return sync.OnceFunc(func() {
		close(done)
		wg.Wait()
		unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)
		reapOrphans()
	}), nil
}

// reapTime is how long a dead orphan may stay a zombie.
const reapTime = time.Second

// keepChildren notes the children that there are as no orphans: whoever was this process before it became
// Foundry has started them.
func keepChildren() {
	if _, err := hasEnded(unix.P_ALL, 0); errors.Is(err, unix.ECHILD) {
		return // there are none
	}
	self := os.Getpid()
	for _, pid := range pids() {
		if s, ok := readStat(pid); ok && s.ppid == self {
			owned.Lock()
			owned.pids[pid] = true
			owned.Unlock()
		}
	}
}

// reapOrphans takes the status of dead children that came from other sessions and that nobody waits for. Mostly there is
// no dead child at all, which the system says at once.
func reapOrphans() {
	if dead, _ := hasEnded(unix.P_ALL, 0); !dead {
		return
	}
	self := os.Getpid()
	session, err := unix.Getsid(0)
	if err != nil {
		return
	}
	for _, pid := range pids() {
		if s, ok := readStat(pid); ok && s.ppid == self && s.state == 'Z' && s.sid != session {
			reap(pid)
		}
	}
}

// Orphans returns the living processes that were given to this one by AdoptOrphans: children that it did not
// start itself.
func Orphans() (found []int) {
	self := os.Getpid()
	session, err := unix.Getsid(0)
	if err != nil {
		return nil
	}
	for _, pid := range pids() {
		s, ok := readStat(pid)
		if !ok || s.ppid != self || s.state == 'Z' || s.sid == session {
			continue
		}
		owned.Lock()
		mine := owned.pids[pid]
		owned.Unlock()
		if !mine {
			found = append(found, pid)
		}
	}
	return found
}

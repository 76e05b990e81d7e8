package process

import "time"

// A pid is a name only as long as the process lives. What is written down to be ended later, perhaps after a
// crash or a restart of the machine, needs the start time and the boot with it.

// Identity names a process, and the group it leads, for good.
type Identity struct {
	Pid   int    `json:"pid"`
	Start uint64 `json:"start,omitempty"` // clock ticks after boot
	Boot  string `json:"boot,omitempty"`
}

// Identify returns the identity of a living process. Where the system does not tell, Start is 0 and Boot is
// empty, and the process can later not be recognised.
func Identify(pid int) Identity {
	ticks, boot, err := StartTime(pid)
	if err != nil {
		return Identity{Pid: pid}
	}
	return Identity{Pid: pid, Start: ticks, Boot: boot}
}

// Alive reports whether exactly this process is still there.
func (i Identity) Alive() bool {
	if i.Pid <= 1 || i.Start == 0 {
		return false
	}
	ticks, boot, err := StartTime(i.Pid)
	return err == nil && ticks == i.Start && boot == i.Boot && !zombie(i.Pid)
}

// EndGroup ends the group that the process leads: TERM, the grace, KILL. It does nothing, and returns false,
// unless exactly this process is still there.
func (i Identity) EndGroup(grace time.Duration) bool {
	if !i.Alive() {
		return false
	}
	g := group{pgid: i.Pid}
	g.terminate()
	for end := time.Now().Add(grace); !g.empty() && time.Now().Before(end); {
		time.Sleep(pollTime)
	}
	for end := time.Now().Add(closeTime); !g.empty() && time.Now().Before(end); {
		g.kill()
		time.Sleep(pollTime)
	}
	return true
}

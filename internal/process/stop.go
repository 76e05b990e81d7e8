package process

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// The end of a program: who ended it, what it left behind, and how long anybody waits for that. Each wait in
// this file has a limit.

// wait waits for the leader, and stops it when the time is up or somebody cancels. Who comes first decides
// the reason; of a program that had already ended nobody can say that he stopped it.
func (r *running) wait(ctx context.Context, limit <-chan time.Time) {
	var why Reason
	select {
	case <-r.exited:
		return
	case <-limit:
		why = TimedOut
	case <-r.spec.Kill:
		why = Cancelled
	case <-ctx.Done():
		why = Cancelled
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			why = TimedOut
		}
	}
	if r.ended() {
		<-r.exited
		return
	}
	r.res.Reason = why
	r.stop()
}

// ended reports whether the leader ended by itself, reaped or not.
func (r *running) ended() bool {
	select {
	case <-r.exited:
		return true
	default:
		// Between the moment when its status is taken and the one when exited is closed it is no zombie any more.
		return zombie(r.res.Pid) || reaped(r.res.Pid)
	}
}

// stop ends the leader and all it started: TERM, the grace, KILL.
func (r *running) stop() {
	grace := time.NewTimer(r.spec.Grace)
	defer grace.Stop()
	r.group.terminate()
	End(r.strays(), false)
	poll := time.NewTicker(pollTime)
	defer poll.Stop()
	for waiting := true; waiting; {
		select {
		case <-grace.C:
			waiting = false
		case <-r.spec.Kill:
			waiting = false
		case <-poll.C:
			waiting = !r.gone() || !r.group.empty() || len(r.strays()) > 0
		}
	}
	r.kill()
}

// kill sends KILL until nothing is left or waiting longer is no use.
func (r *running) kill() {
	deadline := time.Now().Add(closeTime)
	for {
		r.group.kill()
		strays := r.strays()
		End(strays, true)
		if r.gone() && r.group.empty() && len(strays) == 0 {
			return
		}
		if time.Now().After(deadline) {
			break
		}
		time.Sleep(pollTime)
	}
	r.res.Notes = append(r.res.Notes, fmt.Sprintf("process %d or one it started did not end after KILL", r.res.Pid))
}

func (r *running) gone() bool {
	select {
	case <-r.exited:
		return true
	default:
		return false
	}
}

// strays returns the processes that this program started and that left its group: those in it are asked by one signal
// to the group, and many a program takes a second one for impatience. Only those can be among them that were started on
// this system since the leader was.
func (r *running) strays() []int {
	if r.token == "" {
		return nil
	}
	return outside(carriers(startedSince(r.res.Pid, r.begin), ownToken, r.token), r.group)
}

// leftovers ends what is still there after the leader. What holds a pipe gets a moment to finish by itself,
// since `cmd | tee log &` is a usual way to write.
func (r *running) leftovers() {
	if !r.gone() || r.res.Reason != 0 {
		return
	}
	if r.group.empty() && r.drained(0) && len(r.strays()) == 0 {
		return
	}
	r.drained(drainTime)
	var left []int
	for until := time.Now().Add(leaveTime); ; time.Sleep(pollTime) {
		left = append(r.group.members(), r.strays()...)
		if len(left) == 0 && r.group.empty() {
			return
		}
		if time.Now().After(until) {
			break
		}
	}
	slices.Sort(left)
	for _, pid := range left {
		r.res.Left = append(r.res.Left, describe(pid))
	}
	if len(left) == 0 {
		r.res.Left = append(r.res.Left, fmt.Sprintf("group %d", r.res.Pid))
	}
	r.res.Notes = append(r.res.Notes, "left processes behind, which were ended: "+strings.Join(r.res.Left, ", "))
	r.group.terminate()
	End(outside(left, r.group), false)
	deadline := time.NewTimer(r.spec.Grace)
	defer deadline.Stop()
	poll := time.NewTicker(pollTime)
	defer poll.Stop()
	for {
		select {
		case <-deadline.C:
			r.kill()
			return
		case <-r.spec.Kill:
			r.kill()
			return
		case <-poll.C:
			if r.group.empty() && len(r.strays()) == 0 {
				return
			}
		}
	}
}

// drained waits until all output was read, at most for d.
func (r *running) drained(d time.Duration) bool {
	select {
	case <-r.quiet:
		return true
	default:
	}
	if d <= 0 {
		d = pollTime
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-r.quiet:
		return true
	case <-t.C:
		return false
	}
}

// drain takes the rest of the output and closes the pipes, whoever else holds them.
func (r *running) drain() {
	if !r.drained(drainTime) {
		r.res.Notes = append(r.res.Notes, "its output was still held open by a process that is not known")
	}
	for _, f := range r.ends {
		f.Close()
	}
	<-r.quiet
	r.sink.finish()
	r.group.close()
	if r.spec.Guard != nil {
		r.spec.Guard.Remove(r.res.Pid)
	}
}

// outcome fills in exit code, signal and reason.
func (r *running) outcome() {
	r.sink.result(&r.res)
	if !r.gone() {
		if r.res.Reason == 0 {
			r.res.Reason = Cancelled
		}
		return
	}
	if r.state == nil { // the status was lost: never a success
		r.res.Notes = append(r.res.Notes, "the exit status was lost")
		if r.res.Reason == 0 {
			r.res.Reason = Signalled
		}
		return
	}
	r.res.Exit = r.state.ExitCode()
	r.res.Signal = signalName(r.state)
	if r.res.Reason == 0 {
		r.res.Reason = Exited
		if r.res.Signal != "" {
			r.res.Reason = Signalled
		}
	}
}

package process

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sort"
	"strconv"
	"strings"
	"sync"
	"time"
)

// When Foundry is killed with -9 it can end nothing any more. The guard is a second process, of the same
// binary, that does nothing but wait for the end of a pipe from Foundry and then ends what the run started.
// It is in a session of its own, ignores the signals of a terminal, and holds none of Foundry's streams but the
// terminal that a view may have taken and cannot give back any more.

// GuardVerb is the hidden argument with which the binary must call GuardMain.
const GuardVerb = "__guard"

// guardGrace is the time between TERM and KILL when Foundry has died.
const guardGrace = 2 * time.Second

// Guard is Foundry's end of a guard process. The zero Guard, with Token set if wanted, is ready for Start.
// Its methods may be called from several goroutines.
type Guard struct {
	// Token is the run's id. Processes that carry it (see RunToken) are ended with the groups.
	Token string
	// Terminal is where a view may be drawn, nil when there will be none. See Screen.
	Terminal *os.File

	mu      sync.Mutex
	cmd     *exec.Cmd
	pipe    *os.File
	ended   []byte // what is still to be told of groups that have ended
	telling bool   // it will be told in a moment
}

// tellTime is how long the guard may not know that a group has ended. It is told so with the next group that begins,
// since most programs that end are followed by another.
const tellTime = 50 * time.Millisecond

// Start starts the guard process: self is the path of this binary. A second call does nothing.
func (g *Guard) Start(self string) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.cmd != nil {
		return nil
	}
	r, w, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("start the guard: %w", err)
	}
	defer r.Close()
	c := &exec.Cmd{Path: self, Args: []string{self, GuardVerb}, Dir: rootDir(), Env: []string{}, Stdin: r, SysProcAttr: ownGroup()}
	if g.Terminal != nil {
		c.Stdout = g.Terminal
	}
	if _, err = startLeader(c); err != nil {
		w.Close()
		return fmt.Errorf("start the guard: %w", err)
	}
	g.cmd, g.pipe = c, w
	if g.Token != "" {
		return g.tell("token " + g.Token)
	}
	return nil
}

// Add tells the guard of a group, whose leader was started just now.
func (g *Guard) Add(pgid int) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.tell(fmt.Sprintf("add %d %d", pgid, now()))
}

// Remove tells the guard, within tellTime, that a group has ended.
func (g *Guard) Remove(pgid int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.telling {
		g.telling = true
		time.AfterFunc(tellTime, func() {
			g.mu.Lock()
			defer g.mu.Unlock()
			g.telling = false
			if len(g.ended) > 0 {
				g.tell("")
			}
		})
	}
	g.ended = fmt.Appendf(g.ended, "remove %d\n", pgid)
}

// Screen tells the guard whether a view has the terminal now.
func (g *Guard) Screen(taken bool) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.tell(fmt.Sprintf("screen %t", taken))
}

// Pid returns the pid of the guard process, and 0 when there is none.
func (g *Guard) Pid() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.cmd == nil {
		return 0
	}
	return g.cmd.Process.Pid
}

// tell writes a line to the guard, after what is still to be told.
func (g *Guard) tell(line string) error {
	if g.pipe == nil {
		return errors.New("the guard is not running")
	}
	text := append(g.ended, line+"\n"...)
	g.ended = g.ended[:0]
	if _, err := g.pipe.Write(text); err != nil {
		return fmt.Errorf("tell the guard: %w", err)
	}
	return nil
}

// Close ends the guard, which first ends every group that was added and not removed, and waits for it.
func (g *Guard) Close() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.pipe == nil {
		return nil
	}
	if len(g.ended) > 0 {
		g.tell("")
	}
	g.pipe.Close()
	g.pipe = nil
	late := time.AfterFunc(guardGrace+closeTime+time.Second, func() { g.cmd.Process.Kill() })
	defer late.Stop()
	if err := g.cmd.Wait(); err != nil {
		return fmt.Errorf("the guard: %w", err)
	}
	return nil
}

// GuardMain is the guard process: it reads what groups there are until Foundry closes the pipe or dies, then
// ends those that are left, and returns. If a view had the terminal until then, giveBack is called first.
func GuardMain(stdin io.Reader, giveBack func()) error {
	ignoreTerminal()
	token, taken := "", false
	groups := map[int]uint64{}
	in := bufio.NewScanner(&patient{from: stdin})
	for in.Scan() {
		f := strings.Fields(in.Text())
		switch {
		case len(f) == 2 && f[0] == "token":
			token = f[1]
		case len(f) == 2 && f[0] == "screen":
			taken = f[1] == "true"
		case len(f) == 3 && f[0] == "add":
			pgid, perr := strconv.Atoi(f[1])
			ticks, terr := strconv.ParseUint(f[2], 10, 64)
			if perr == nil && terr == nil && pgid > 1 {
				groups[pgid] = ticks
			}
		case len(f) == 2 && f[0] == "remove":
			if pgid, err := strconv.Atoi(f[1]); err == nil {
				delete(groups, pgid)
			}
		}
	}
	if taken {
		giveBack()
	}
	endAll(groups, token)
	return in.Err()
}

// patient is a pipe that is read now and then, and at once when it has ended. A run of many short programs would wake the
// guard with each of them, and the guard needs nothing of what it is told before the end.
type patient struct {
	from io.Reader
	read bool
}

// restTime is how long a pipe may be left alone. It holds what is told of hundreds of programs.
const restTime = 20 * time.Millisecond

func (p *patient) Read(b []byte) (int, error) {
	if f, ok := p.from.(*os.File); ok && p.read {
		awaitClose(f, restTime)
	}
	p.read = true
	return p.from.Read(b)
}

// endAll ends groups and what carries the token: TERM, the grace, KILL.
func endAll(groups map[int]uint64, token string) {
	var live []group
	for pgid, ticks := range groups {
		if ticks != 0 && startTime(pgid) > ticks {
			continue // the leader is gone and its number has been given to somebody else since
		}
		live = append(live, group{pgid: pgid})
	}
	sort.Slice(live, func(i, j int) bool { return live[i].pgid < live[j].pgid })
	begin := time.Now()
	for _, g := range live {
		g.terminate()
	}
	for first := true; ; first = false {
		left := 0
		late := time.Since(begin) >= guardGrace
		for _, g := range live {
			if g.empty() {
				continue
			}
			left++
			if late {
				g.kill()
			}
		}
		more := Survivors(token)
		switch {
		case late:
			End(more, true)
		case first:
			End(outside(more, live...), false)
		}
		if left+len(more) == 0 || time.Since(begin) > guardGrace+closeTime {
			return
		}
		time.Sleep(pollTime)
	}
}

//go:build unix

package cli

import (
	"context"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
	"golang.org/x/term"

	"foundry/internal/live"
)

// This file does what only the system can do with a terminal, and what a terminal does to a program for ctrl-c and ctrl-z:
// in the modes of the live view it hands them on as keys.

// flushInput throws away what was typed before a question stood on the screen.
func flushInput(in any) {
	if f, ok := in.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		_ = unix.IoctlSetInt(int(f.Fd()), flushRequest, unix.TCIFLUSH)
	}
}

// giveBack gives a terminal back whose view has died with its process. The modes are left alone if somebody has set them
// since: the shell that the terminal has come back to.
func giveBack(out io.Writer) {
	f, ok := out.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return
	}
	io.WriteString(f, live.GiveBack)
	modes, err := unix.IoctlGetTermios(int(f.Fd()), getModes)
	if err != nil || modes.Oflag&unix.OPOST != 0 {
		return
	}
	modes.Iflag |= unix.BRKINT | unix.ICRNL | unix.IXON
	modes.Oflag |= unix.OPOST | unix.ONLCR
	modes.Lflag |= unix.ECHO | unix.ECHOE | unix.ECHOK | unix.ICANON | unix.ISIG | unix.IEXTEN
	_ = unix.IoctlSetTermios(int(f.Fd()), setModes, modes)
}

// interruptSelf is ctrl-c.
func interruptSelf() error { return syscall.Kill(os.Getpid(), syscall.SIGINT) }

// stopSelf is ctrl-z: it stops the program with all of its job, and returns when the job has the terminal again, or
// when ctx ends. A job that no shell looks after is not stopped by the system.
func stopSelf(ctx context.Context, in any) {
	goesOn := make(chan os.Signal, 1)
	signal.Notify(goesOn, syscall.SIGCONT)
	defer signal.Stop(goesOn)
	if syscall.Kill(0, syscall.SIGTSTP) != nil {
		return
	}
	select {
	case <-goesOn:
	case <-time.After(500 * time.Millisecond):
	}
	look := time.NewTicker(100 * time.Millisecond)
	defer look.Stop()
	for !foreground(in) {
		select {
		case <-look.C:
		case <-ctx.Done():
			signal.Ignore(syscall.SIGTTOU) // a job in the background may give the terminal its modes back
			return
		}
	}
}

// foreground says whether this program's job is the one that the terminal belongs to. One that a shell runs in the
// background is stopped when it reads from the terminal or changes its modes.
func foreground(in any) bool {
	f, ok := in.(*os.File)
	if !ok {
		return false
	}
	job, err := unix.IoctlGetInt(int(f.Fd()), unix.TIOCGPGRP)
	return err == nil && job == unix.Getpgrp()
}

package cli

import (
	"context"
	"io"

	"golang.org/x/sys/windows"

	"foundry/internal/live"
)

// flushInput does nothing: a console's type-ahead cannot be told apart here.
func flushInput(any) {}

// giveBack gives a terminal back whose view has died with its process.
func giveBack(out io.Writer) { io.WriteString(out, live.GiveBack) }

// interruptSelf is ctrl-c, which a console in raw mode hands on as a key.
func interruptSelf() error { return windows.GenerateConsoleCtrlEvent(windows.CTRL_C_EVENT, 0) }

// stopSelf does nothing: there are no jobs here.
func stopSelf(context.Context, any) {}

// foreground: there are no jobs here, so every program is in it.
func foreground(any) bool { return true }

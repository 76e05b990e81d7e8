// Foundry is a build tool for work done by coding agents.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"foundry/internal/cli"
)

func main() {
	// A reader of standard output that has gone away must not end a run: the write fails instead.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	context.AfterFunc(ctx, stop) // the first signal asks for an orderly end, the second one ends the process
	os.Exit(cli.Main(ctx, os.Args, cli.Stdio{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}))
}

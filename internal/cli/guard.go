package cli

import (
	"github.com/urfave/cli/v2"

	"foundry/internal/process"
)

// guardVerb is how this program starts itself to end the processes of a run that was killed, and to give the terminal
// back that it had.
func guardVerb(s *session) verb {
	return verb{Command: &cli.Command{
		Name: process.GuardVerb, Hidden: true,
		Action: func(*cli.Context) error { return process.GuardMain(s.in, func() { giveBack(s.out) }) },
	}}
}

// confineVerb is how this program starts itself to become a program that may not write everything.
func confineVerb(*session) verb {
	return verb{Command: &cli.Command{
		Name: process.ConfineVerb, Hidden: true,
		Action: func(*cli.Context) error { return process.ConfineMain() },
	}}
}

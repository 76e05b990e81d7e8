package cli

import (
	"errors"
	"fmt"
)

// Exit is how the program ends. The zero value is invalid.
type Exit uint8

// The ways to end. Code is the number that the shell sees.
const (
	Done Exit = iota + 1
	Refused
	Usage
	Failed
	Parked
	OverBudget
	Interrupted
)

// exits is the one table of exit codes: what the program returns and what its help says.
var exits = [...]struct {
	code    int
	meaning string
}{
	Done:        {0, "accepted, clean, or done"},
	Refused:     {1, "rejected, lint findings, or a test failed"},
	Usage:       {2, "bad usage, a pipeline file that does not compile, or preflight (nothing ran)"},
	Failed:      {3, "failed: it could not be carried out (worktree, harness, disk)"},
	Parked:      {4, "parked: waits for a person, or for a usage limit to end"},
	OverBudget:  {5, "budget used up"},
	Interrupted: {130, "killed or interrupted"},
}

// Code is the exit status of the process.
func (e Exit) Code() int {
	if e < Done || int(e) >= len(exits) {
		panic(fmt.Sprintf("BUG: exit %d is not in the table", e))
	}
	return exits[e].code
}

// problem is an error that knows how the program ends because of it. A problem without err has been
// reported already and only carries the exit.
type problem struct {
	exit Exit
	err  error
	hint string
}

func (p *problem) Error() string {
	if p.err == nil {
		return exits[p.exit].meaning
	}
	return p.err.Error()
}

func (p *problem) Unwrap() error { return p.err }

// badUsage is a command line that cannot be carried out as it was written, or a refusal before anything
// was done.
func badUsage(format string, args ...any) *problem {
	return &problem{exit: Usage, err: fmt.Errorf(format, args...)}
}

// failure is a failure of the world: disk, git, a program.
func failure(err error) *problem { return &problem{exit: Failed, err: err} }

// reported ends the program after its findings have been written.
func reported(e Exit) error {
	if e == Done {
		return nil
	}
	return &problem{exit: e}
}

func (p *problem) hintf(format string, args ...any) *problem {
	p.hint = fmt.Sprintf(format, args...)
	return p
}

// asProblem gives every error an exit: an error that does not know one is a failure.
func asProblem(err error) *problem {
	var p *problem
	if errors.As(err, &p) {
		return p
	}
	return failure(err)
}

// Package cli owns the command line: one verb a file, nothing but parsing, wiring and exit codes. Results
// go to standard output, everything else to standard error, and the last line of anything that went wrong
// says what to do next.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/urfave/cli/v2"
	"golang.org/x/term"

	"foundry/internal/report"
)

// Stdio are the streams of the process. In may be a terminal, a file or a pipe.
type Stdio struct {
	In  io.Reader
	Out io.Writer
	Err io.Writer
}

// Main carries out a command line and returns the exit status of the process. args holds the program's name
// first, as os.Args does. When ctx is cancelled, what runs is stopped in order and the status is that of an
// interruption.
func Main(ctx context.Context, args []string, stdio Stdio) (status int) {
	defer func() {
		if r := recover(); r != nil {
			fmt.Fprintf(stdio.Err, "foundry: %v\n\n%s\nThis is a mistake in foundry; please report it with the text above.\n", r, debug.Stack())
			status = Failed.Code()
		}
	}()
	s := &session{ctx: ctx, in: stdio.In, out: stdio.Out, err: stdio.Err, getenv: os.Getenv}
	err := s.run(args[min(1, len(args)):])
	if err == nil {
		return Done.Code()
	}
	p := asProblem(err)
	if p.err != nil && errors.Is(p.err, context.Canceled) && ctx.Err() != nil {
		p = &problem{exit: Interrupted, err: errors.New("interrupted")}
	}
	s.explainProblem(p)
	return p.exit.Code()
}

// session is what the verbs share: the streams, and the global flags once they are read.
type session struct {
	ctx      context.Context
	in       io.Reader
	out, err io.Writer
	getenv   func(string) string

	dir     string // where the user stands, or -C; absolute
	file    string // -f as written, "" when absent
	color   string // auto, always, never
	quiet   bool
	verbose bool

	asking sync.Mutex  // held while a question is put at the terminal
	prompt atomic.Bool // the last line at the terminal is a question, which was not answered
}

// verb is one command with what its help shows beside the flags.
type verb struct {
	*cli.Command
	reach    reach
	examples []example
	exits    []Exit                             // the exits besides Done and Usage that it can end with
	operands func(*session) []candidate         // what may stand as the first argument, for completion
	phases   func(*session, string) []candidate // the phases of what the first argument names, for the second one and for flags
	values   map[string][]string                // the words that a flag takes, by the flag's first name
}

// example is a line to type, and what it does.
type example struct{ line, what string }

// run orders the command line, answers for help, and hands the rest to the verb.
func (s *session) run(args []string) error {
	globals := globalFlags()
	line, err := arrange(args, globals, s.findVerb)
	if err != nil {
		return err
	}
	switch {
	case line.help && line.verb != nil:
		return s.print(report.Fit(verbHelp(*line.verb, globals), helpWidth(s.out)))
	case line.help:
		return s.print(report.Fit(mainHelp(allVerbs(s), globals), helpWidth(s.out)))
	case line.verb == nil:
		io.WriteString(s.err, report.Fit(mainHelp(allVerbs(s), globals), helpWidth(s.err)))
		return reported(Usage)
	}
	app := &cli.App{
		Name: "foundry", HideHelp: true, HideVersion: true,
		DisableSliceFlagSeparator: true, // a comma belongs to the value
		Flags:                     globals, Writer: s.out, ErrWriter: s.err, Reader: s.in,
		Before: func(c *cli.Context) error {
			if err := s.begin(c); err != nil || line.verb.reach != steers {
				return err
			}
			return s.outsideRuns(line.verb.Name)
		},
		ExitErrHandler: func(*cli.Context, error) {},
		OnUsageError:   flagError,
	}
	line.verb.HideHelp = true
	line.verb.OnUsageError = flagError
	app.Commands = []*cli.Command{line.verb.Command}
	return app.RunContext(s.ctx, append([]string{"foundry"}, line.args...))
}

// globalFlags are the flags of every command.
func globalFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "C", Usage: "work as if started in `DIR`"},
		&cli.StringFlag{Name: "file", Aliases: []string{"f"}, Usage: "use this pipeline `FILE` instead of looking for foundry.yaml"},
		&cli.StringFlag{Name: "color", Value: "auto", Usage: "colour the output: auto, always or never; auto honours NO_COLOR (`WHEN`)"},
		&cli.BoolFlag{Name: "quiet", Aliases: []string{"q"}, Usage: "leave out what is not a result"},
		&cli.BoolFlag{Name: "verbose", Aliases: []string{"v"}, Usage: "say more"},
	}
}

// begin reads the global flags before the verb starts.
func (s *session) begin(c *cli.Context) error {
	here, err := os.Getwd()
	if err != nil {
		return failure(fmt.Errorf("find the current directory: %w", err))
	}
	s.dir = here
	if at := c.String("C"); at != "" {
		s.dir = s.path(at)
		info, err := os.Stat(s.dir)
		if err != nil {
			return badUsage("-C %s: %w", at, plainPathError(err))
		}
		if !info.IsDir() {
			return badUsage("-C %s: not a directory", at)
		}
	}
	s.file, s.color = c.String("file"), c.String("color")
	s.quiet, s.verbose = c.Bool("quiet"), c.Bool("verbose")
	switch s.color {
	case "auto", "always", "never":
		return nil
	}
	return badUsage("--color %s: must be auto, always or never", s.color)
}

// flagError turns a value that urfave/cli could not convert into a refusal in this program's words.
func flagError(c *cli.Context, err error, _ bool) error {
	text := strings.TrimPrefix(err.Error(), "flag provided but not defined: ")
	name := "foundry"
	if c.Command != nil && c.Command.Name != "" && c.Command.Name != "foundry" {
		name += " " + c.Command.Name
	}
	return badUsage("%s", text).hintf("`%s --help` says which values the flag takes", name)
}

// path makes a path that the user wrote absolute.
func (s *session) path(name string) string {
	if filepath.IsAbs(name) {
		return filepath.Clean(name)
	}
	return filepath.Join(s.dir, name)
}

// display is an absolute path as the user would type it.
func (s *session) display(path string) string {
	if rel, err := filepath.Rel(s.dir, path); err == nil {
		return rel
	}
	return path
}

// print writes a result. A reader who has gone away (`foundry ls | head -1`) is not an error.
func (s *session) print(text string) error {
	_, err := io.WriteString(s.out, text)
	if err != nil && !isClosedPipe(err) {
		return failure(fmt.Errorf("write the result: %w", err))
	}
	return nil
}

// note writes a line for people, unless they asked for quiet.
func (s *session) note(format string, args ...any) {
	if !s.quiet {
		fmt.Fprintf(s.err, format+"\n", args...)
	}
}

// colored says whether what is written to w is coloured.
func (s *session) colored(w io.Writer) bool {
	switch s.color {
	case "always":
		return true
	case "never":
		return false
	}
	return s.getenv("NO_COLOR") == "" && s.getenv("TERM") != "dumb" && isTerminal(w)
}

// explainProblem writes the last lines of something that went wrong.
func (s *session) explainProblem(p *problem) {
	if p.err == nil {
		return
	}
	fmt.Fprintf(s.err, "foundry: %v\n", p.err)
	if p.hint != "" {
		fmt.Fprintf(s.err, "   hint: %s\n", p.hint)
	}
}

func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// terminalWidth is the number of columns of the terminal that a stream leads to, 0 when it leads to none.
func terminalWidth(stream any) int {
	f, ok := stream.(*os.File)
	if !ok {
		return 0
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return width
}

// helpWidth is how wide help is set: what a terminal has, up to what reads well, and what most have when it goes
// elsewhere.
func helpWidth(stream any) int {
	if width := terminalWidth(stream); width > 0 {
		return min(width, 100)
	}
	return 80
}

// plainPathError leaves the path out of an error whose sentence names it already.
func plainPathError(err error) error {
	var p *os.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

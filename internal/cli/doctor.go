package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"foundry/internal/report"
	"foundry/internal/workspace"
)

// This file answers whether the repository and the machine are ready for a run. Each check says what it
// looked at, and each finding says how it is fixed. Nothing is changed and nothing of the repository is run.

// health is how one check came out. The zero value is invalid.
type health uint8

const (
	healthy health = iota + 1
	doubtful
	broken
)

var healthWords = [...]string{healthy: "ok", doubtful: "warning", broken: "problem"}

// MarshalText is the word for JSON.
func (h health) MarshalText() ([]byte, error) { return []byte(healthWords[h]), nil }

// examined is one check with its outcome.
type examined struct {
	Check   string `json:"check"`
	Status  health `json:"status"`
	Message string `json:"message"`
	Fix     string `json:"fix"` // "" when there is nothing to fix
}

// doctor collects what its checks find.
type doctor struct {
	s     *session
	repo  *workspace.Repo          // nil when there is none to work in
	facts workspace.Facts          // of repo
	proj  *project                 // nil when there is no pipeline file
	at    string                   // the commit that runs start from, "" when there is none
	dirty func() ([]string, error) // see uncommitted
	done  []examined

	asked map[string]examinedAgent // by harness and argv
}

func doctorVerb(s *session) verb {
	return verb{
		Command: &cli.Command{
			Name:  "doctor",
			Usage: "is this repository and machine ready? each finding with its fix",
			Description: `Looks at git, the branch that runs start from, what is not committed, who commits, hooks, signing, submodules, content
filters, the file system and its room, the pipeline file, the programs that its commands and agents need, secrets, and
what earlier runs left behind. Installed agents are started to see that they do, in which version, and whether somebody
is logged in; none is given work. Nothing is changed, and nothing of the repository is run. Exit code 1 when something
stands in the way of a run; warnings do not count.`,
			Flags: []cli.Flag{jsonFlag()},
			Action: func(c *cli.Context) error {
				if err := noArguments(c); err != nil {
					return err
				}
				return s.doctor(c.Bool("json"))
			},
		},
		exits: []Exit{Refused, Failed},
		examples: []example{
			{"foundry doctor", "before the first run, or when one would not start"},
			{"foundry doctor --json", "an array of checks for a script"},
		},
	}
}

func (s *session) doctor(asJSON bool) error {
	d := &doctor{s: s, asked: map[string]examinedAgent{}}
	for _, check := range []func(*doctor){
		(*doctor).git, (*doctor).pipelineFile, (*doctor).base, (*doctor).checkout, (*doctor).identity,
		(*doctor).hooks, (*doctor).signing, (*doctor).submodules, (*doctor).filters,
		(*doctor).fileSystem, (*doctor).locking, (*doctor).space,
		(*doctor).commands, (*doctor).agents, (*doctor).harnesses, (*doctor).secrets,
		(*doctor).earlierRuns, (*doctor).gitLocks, (*doctor).platform,
	} {
		if err := s.ctx.Err(); err != nil {
			return err
		}
		check(d)
	}
	var err error
	if asJSON {
		err = s.printJSON(d.done)
	} else {
		err = s.print(d.text(s.style()))
	}
	if err != nil {
		return err
	}
	if slices.ContainsFunc(d.done, func(e examined) bool { return e.Status == broken }) {
		return reported(Refused)
	}
	return nil
}

func (d *doctor) ok(check, format string, args ...any) {
	d.done = append(d.done, examined{check, healthy, fmt.Sprintf(format, args...), ""})
}

func (d *doctor) warn(check, fix, format string, args ...any) {
	d.done = append(d.done, examined{check, doubtful, fmt.Sprintf(format, args...), fix})
}

func (d *doctor) problem(check, fix, format string, args ...any) {
	d.done = append(d.done, examined{check, broken, fmt.Sprintf(format, args...), fix})
}

// text sets the checks one a line, the fix of a finding below it.
func (d *doctor) text(style report.Style) string {
	paints := map[health]report.Paint{healthy: report.Green, doubtful: report.Yellow, broken: report.Red}
	var b strings.Builder
	n := map[health]int{}
	for _, e := range d.done {
		n[e.Status]++
		word := healthWords[e.Status]
		text := fmt.Sprintf("%-7s  %s: %s\n", word, e.Check, e.Message)
		if e.Fix != "" {
			text += fmt.Sprintf("         fix: %s\n", e.Fix)
		}
		b.WriteString(style.Paint(paints[e.Status], word) + strings.TrimPrefix(report.Fit(text, style.Width), word))
	}
	if n[broken]+n[doubtful] == 0 {
		b.WriteString("ready\n")
	} else {
		fmt.Fprintf(&b, "%s, %s\n", plural(n[broken], "problem", "problems"), plural(n[doubtful], "warning", "warnings"))
	}
	return b.String()
}

// plural is a number with the right word for it.
func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// few names the first of a list.
func few(list []string) string {
	const most = 3
	if len(list) <= most {
		return strings.Join(list, ", ")
	}
	return strings.Join(list[:most], ", ") + fmt.Sprintf(" and %d more", len(list)-most)
}

package cli

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/urfave/cli/v2"

	"foundry/internal/process"
	"foundry/internal/report"
	"foundry/runner"
)

// followEvery is how often logs -f looks for more.
const followEvery = 50 * time.Millisecond

func logsVerb(s *session) verb {
	return verb{
		Command: &cli.Command{
			Name:      "logs",
			Usage:     "what a run's commands and agents printed",
			ArgsUsage: "[RUN] [PHASE]",
			Description: `Prints the logs of a run in the order they were begun, each under a line with its name; those of one phase, or of one visit
(build@2), when PHASE is given. -f follows a live run to its end. With --prompts it prints what agents were sent and
answered instead. Of an agent that speaks a protocol it prints what the agent said and did, a line each; --raw prints the
messages themselves.`,
			Flags: []cli.Flag{
				&cli.BoolFlag{Name: "follow", Aliases: []string{"f"}, Usage: "go on until the run ends"},
				&cli.BoolFlag{Name: "prompts", Usage: "prompts and replies instead of output"},
				&cli.BoolFlag{Name: "raw", Usage: "the messages of an agent's protocol as they came"},
			},
			Action: s.logs,
		},
		exits:    []Exit{Failed},
		operands: runCandidates,
		phases:   runPhases,
		examples: []example{
			{"foundry logs last test", "what the tests printed, every visit"},
			{"foundry logs last build@2 --prompts", "the second visit's prompt and reply"},
			{"foundry logs -f last", "follow a live run"},
		},
	}
}

// logFile is one file of a record to print.
type logFile struct {
	rel  string
	done int64 // bytes printed
	head bool
}

func (s *session) logs(c *cli.Context) error {
	if err := atMost(c, 2); err != nil {
		return err
	}
	pl := s.recordsOnly()
	id, _, err := pl.readRun(c.Args().First())
	if err != nil {
		return err
	}
	name, visit := "", 0
	if arg := c.Args().Get(1); arg != "" {
		if name, visit, err = report.PhaseArg(arg); err != nil {
			return &problem{exit: Usage, err: err}
		}
		if err := knownPhase(pl, id, name); err != nil {
			return err
		}
	}
	dirs := []string{"logs"}
	if c.Bool("prompts") {
		dirs = []string{"prompts", "replies"}
	}
	files := map[string]*logFile{}
	acts := &acts{pl: pl, id: id, raw: c.Bool("raw") || c.Bool("prompts")}
	for {
		live := pl.store.Live(id) // before the last look, so that nothing is missed
		if err := acts.look(); err != nil {
			return err
		}
		if err := s.printLogs(pl.store.Dir(id), dirs, name, visit, files, acts, !c.Bool("follow") || !live); err != nil {
			return err
		}
		if !c.Bool("follow") || !live {
			break
		}
		select {
		case <-s.ctx.Done():
			return s.ctx.Err()
		case <-time.After(followEvery):
		}
	}
	if len(files) == 0 {
		s.note("nothing was printed%s", map[bool]string{true: " by " + name, false: ""}[name != ""])
	}
	return nil
}

// knownPhase refuses a name that no event of the run has.
func knownPhase(pl *place, id, name string) error {
	events, err := pl.store.Read(id)
	if err != nil {
		return failure(err)
	}
	var names []string
	for _, e := range events {
		if e.Phase == name || e.After != "" && "after."+e.After == name {
			return nil
		}
		known := ""
		switch e.Kind {
		case runner.AfterStarted:
			known = "after." + e.After
		case runner.PhaseQueued:
			known = e.Phase
		default:
			continue
		}
		if !slices.Contains(names, known) {
			names = append(names, known)
		}
	}
	if slices.Contains(names, "after."+name) {
		return badUsage("run %s has no phase %q", id, name).hintf("did you mean after.%s?", name)
	}
	return badUsage("run %s has no phase %q", id, name).hintNear(name, names, "it has %s", strings.Join(names, ", "))
}

// printLogs prints what is new in the files of a phase, in the order of their making. last says that nothing will come
// any more.
func (s *session) printLogs(dir string, dirs []string, phase string, visit int, files map[string]*logFile, acts *acts, last bool) error {
	for _, rel := range logNames(dir, dirs, phase, visit) {
		f := files[rel]
		if f == nil {
			f = &logFile{rel: rel}
			files[rel] = f
		}
		if text, ok := acts.of(rel); ok {
			if err := s.printActs(f, text); err != nil {
				return err
			}
			continue
		}
		if err := s.printNew(dir, f, last); err != nil {
			return err
		}
	}
	return nil
}

// logNames are the files of a phase. Those of a call are those of all its phases, those of an each those of all its items.
func logNames(dir string, dirs []string, phase string, visit int) []string {
	file := runner.FileName(phase)
	if strings.HasPrefix(phase, "after.") { // what follows the end of a run: no phase's name has a dot
		file = phase
	}
	type found struct {
		rel string
		at  time.Time
	}
	var all []found
	for _, sub := range dirs {
		entries, err := os.ReadDir(filepath.Join(dir, sub))
		if err != nil {
			continue
		}
		for _, e := range entries {
			owner, rest, _ := strings.Cut(e.Name(), "@")
			n, _, _ := strings.Cut(rest, ".")
			if phase != "" && (owner != file && !(visit == 0 && (strings.HasPrefix(owner, file+".") || strings.HasPrefix(owner, file+"["))) || visit > 0 && n != fmt.Sprint(visit)) {
				continue
			}
			if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
				all = append(all, found{filepath.Join(sub, e.Name()), info.ModTime()})
			}
		}
	}
	sort.SliceStable(all, func(i, j int) bool { return all[i].at.Before(all[j].at) })
	out := make([]string, len(all))
	for i := range all {
		out[i] = all[i].rel
	}
	return out
}

func (s *session) printNew(dir string, f *logFile, last bool) error {
	file, err := os.Open(filepath.Join(dir, f.rel))
	if err != nil {
		return failure(fmt.Errorf("read a log: %w", err))
	}
	defer file.Close()
	if _, err := file.Seek(f.done, io.SeekStart); err != nil {
		return failure(fmt.Errorf("read a log: %w", err))
	}
	if !f.head {
		if info, err := file.Stat(); err == nil && info.Size() == 0 {
			return nil
		}
		f.head = true
		if !s.quiet {
			fmt.Fprintf(s.out, "== %s ==\n", filepath.ToSlash(f.rel))
		}
	}
	var n int64
	if isTerminal(s.out) {
		n, err = printClean(s.out, file, last)
	} else {
		n, err = io.Copy(s.out, file)
	}
	f.done += n
	if err != nil && !isClosedPipe(err) {
		return failure(fmt.Errorf("print a log: %w", err))
	}
	return nil
}

// printClean prints what a log has for a terminal, which must not be told to do things by it: without escape sequences,
// of a line that was written over what was last in it. A line that is not finished waits, unless it is the last one. It
// returns how many bytes of the log are done with.
func printClean(w io.Writer, log io.Reader, last bool) (done int64, err error) {
	lines := bufio.NewReaderSize(log, 64<<10)
	var part []byte // a character that a piece of a very long line ended in
	for {
		line, rerr := lines.ReadSlice('\n')
		line = append(part, line...)
		part = nil
		if errors.Is(rerr, bufio.ErrBufferFull) {
			cut := len(line) - 1
			for cut > len(line)-utf8.UTFMax && !utf8.RuneStart(line[cut]) {
				cut--
			}
			if !utf8.FullRune(line[cut:]) {
				line, part = line[:cut], slices.Clone(line[cut:])
			}
		}
		if errors.Is(rerr, io.EOF) && !last {
			return done, nil
		}
		if _, err := io.WriteString(w, process.Clean(line)); err != nil {
			return done, err
		}
		done += int64(len(line))
		if rerr != nil && !errors.Is(rerr, bufio.ErrBufferFull) {
			if errors.Is(rerr, io.EOF) {
				return done, nil
			}
			return done, rerr
		}
	}
}

func diffVerb(s *session) verb {
	return verb{
		Command: &cli.Command{
			Name:        "diff",
			Usage:       "what a run, or one phase of it, changed",
			ArgsUsage:   "[RUN] [PHASE]",
			Description: "Shows the difference between the branch point and the newest snapshot of a run, or between the start and the end of a\nphase's visit (build is its newest, build@2 its second). It is taken from the run's own snapshots, so it stays right\nwhatever happens to the checkout. Values of project.secrets are masked when they are set.",
			Flags:       []cli.Flag{&cli.BoolFlag{Name: "stat", Usage: "only the files and how much changed in each"}},
			Action:      s.diff,
		},
		exits:    []Exit{Failed},
		operands: runCandidates,
		phases:   runPhases,
		examples: []example{{"foundry diff last", "all that the newest run changed"}, {"foundry diff last build@2", "what the second visit of build changed"}},
	}
}

func (s *session) diff(c *cli.Context) error {
	if err := atMost(c, 2); err != nil {
		return err
	}
	pl, err := s.openPlace()
	if err != nil {
		return err
	}
	id, events, err := pl.readRun(c.Args().First())
	if err != nil {
		return err
	}
	from, to := runTrees(events)
	if arg := c.Args().Get(1); arg != "" {
		name, visit, err := report.PhaseArg(arg)
		if err != nil {
			return &problem{exit: Usage, err: err}
		}
		if err := knownPhase(pl, id, name); err != nil {
			return err
		}
		if from, to = phaseTrees(events, name, visit); from == "" || to == "" {
			return badUsage("run %s has no snapshots from before and after %s", id, arg).hintf("only phases that may write are compared; `foundry diff %s` shows the whole run", id)
		}
	}
	if from == "" || to == "" {
		s.note("run %s took no snapshot: it changed nothing that could be compared", id)
		return nil
	}
	if c.Bool("stat") {
		text, err := pl.repo.Stat(s.ctx, from, to)
		if err != nil {
			return failure(fmt.Errorf("compare the snapshots of %s: %w", id, err))
		}
		if text != "" {
			text += "\n"
		}
		return s.print(text)
	}
	text, err := pl.repo.ShowDiff(s.ctx, from, to, s.colored(s.out))
	if err != nil {
		return failure(fmt.Errorf("compare the snapshots of %s: %w", id, err))
	}
	return s.print(s.hidden(pl, id, events, string(text)))
}

// hidden masks the secrets of a run in what is shown of its files, and says when it did: the files have them as they are.
func (s *session) hidden(pl *place, id string, events []runner.Event, text string) string {
	kept, err := s.kept(pl, id, events)
	if err != nil {
		s.note("foundry: secrets are not masked, since the pipeline of %s cannot be read: %v", id, err)
		return text
	}
	masked := s.mask(kept.newest).Text(text)
	if masked != text {
		s.note("foundry: a secret stands in these files, and is masked here: this is no patch to apply")
	}
	return masked
}

// phaseTrees are the snapshots before and after a visit; visit 0 is the newest. Those of a call are the first and the
// last that its phases had.
func phaseTrees(events []runner.Event, name string, visit int) (from, to string) {
	if slices.ContainsFunc(events, func(e runner.Event) bool { return e.Phase == name && (e.Calls != "" || e.Each != "") }) {
		return callTrees(events, name, visit)
	}
	if visit == 0 {
		for _, e := range events {
			if e.Phase == name && (e.Kind == runner.SnapshotTaken || e.Kind == runner.ApartMade) {
				visit = e.Visit
			}
		}
	}
	for _, e := range events {
		if e.Phase != name || e.Visit != visit || e.Tree == "" {
			continue
		}
		switch {
		case e.Kind == runner.SnapshotTaken && e.Purpose == runner.ForStart.String(), e.Kind == runner.ApartMade:
			from = e.Tree
		case e.Kind == runner.BoundaryChecked, e.Kind == runner.UndoDone:
			to = e.Tree
		}
	}
	return from, to
}

func callTrees(events []runner.Event, name string, visit int) (from, to string) {
	for inside, n := false, 0; n < len(events); n++ {
		switch e := &events[n]; {
		case e.Phase == name && e.Kind == runner.PhaseStarted && (visit == 0 || e.Visit == visit):
			inside, from, to = true, "", ""
		case e.Phase == name && (e.Kind == runner.PhaseEnded || e.Kind == runner.PhaseStopped || e.Kind == runner.PhaseQueued):
			inside = false
		case !inside || !runner.Within(name, e.Phase) || e.Tree == "" || e.Tree == runner.UnknownTree || e.OfOwnTree():
		case e.Kind == runner.SnapshotTaken && from == "":
			from = e.Tree
		case e.Kind == runner.SnapshotTaken, e.Kind == runner.BoundaryChecked, e.Kind == runner.UndoDone, e.Kind == runner.MergedBack:
			to = e.Tree
		}
	}
	return from, to
}

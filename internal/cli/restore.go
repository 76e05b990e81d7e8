package cli

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"foundry/internal/drive"
	"foundry/internal/report"
	"foundry/internal/workspace"
	"foundry/runner"
)

func restoreVerb(s *session) verb {
	return verb{
		Command: &cli.Command{
			Name:      "restore",
			Usage:     "bring a file back as it was at a run's start, or before a phase",
			ArgsUsage: "RUN PATH",
			Description: `Writes PATH, a file or a directory, into the checkout that you stand in, as it was when the run began, or before a visit of a
phase. The bytes are those of the run's own snapshots. Files of a directory that were not there then are left alone and named.

What is there now and in no commit is not replaced without --force, which keeps it under a ref and names that.`,
			Flags: []cli.Flag{
				&cli.StringFlag{Name: "before", Usage: "as it was before a phase, as build or build@2 (`PHASE`)"},
				&cli.BoolFlag{Name: "stdout", Usage: "print the file, write nothing"},
				&cli.BoolFlag{Name: "force", Usage: "replace what is not committed"},
				jsonFlag(),
			},
			Action: s.restore,
		},
		exits:    []Exit{Failed},
		operands: runCandidates,
		phases:   runPhases,
		examples: []example{
			{"foundry restore last notes.txt", "as it was when the newest run began"},
			{"foundry restore last src --before build@2", "a directory, as the second visit of build found it"},
			{"foundry restore last go.mod --stdout | diff - go.mod", "was this here before?"},
		},
	}
}

// broughtBack is what --json prints.
type broughtBack struct {
	ID      string   `json:"id"`
	Path    string   `json:"path"`
	Tree    string   `json:"tree"`    // the snapshot that it is from
	Written []string `json:"written"` // from the top of the repository
	Same    int      `json:"same"`    // files that were so already
	Left    []string `json:"left"`
	Skipped []string `json:"skipped"` // submodules
	Kept    string   `json:"kept"`    // the ref with what was replaced; "" when nothing was lost
}

func (s *session) restore(c *cli.Context) error {
	if err := atMost(c, 2); err != nil {
		return err
	}
	if c.NArg() < 2 {
		return badUsage("restore: which run, and which path?").hintf("foundry restore RUN PATH; RUN may be last")
	}
	if c.Bool("stdout") && c.Bool("json") {
		return badUsage("restore: --stdout and --json exclude each other")
	}
	pl, err := s.openPlace()
	if err != nil {
		return err
	}
	id, events, err := pl.readRun(c.Args().First())
	if err != nil {
		return err
	}
	path, err := s.inRepository(c.Args().Get(1))
	if err != nil {
		return err
	}
	tree, when, err := s.treeThen(pl, id, events, c.String("before"))
	if err != nil {
		return err
	}
	if c.Bool("stdout") {
		return s.printThen(pl, tree, path, when)
	}
	if err := notWorkedIn(pl); err != nil {
		return err
	}
	done, err := pl.repo.Bring(s.ctx, workspace.BringSpec{Run: id, Tree: tree, Path: path, Replace: c.Bool("force")})
	if err != nil {
		return notBrought(err, path, when)
	}
	if c.Bool("json") {
		return s.printJSON(broughtBack{id, path, tree, full(done.Written), done.Same, full(done.Left), full(done.Skipped), done.Kept})
	}
	return s.print(broughtText(done, path, when))
}

// full is a list that JSON shows as one when it is empty.
func full(list []string) []string { return append([]string{}, list...) }

// inRepository is a path from the top of the repository, byte for byte, with slashes; "" is the top itself.
func (s *session) inRepository(arg string) (string, error) {
	top, _ := repositoryTop(s.dir)
	rel, err := filepath.Rel(top, s.path(arg))
	if err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return "", badUsage("%s is outside the repository at %s", arg, top)
	}
	if rel = filepath.ToSlash(rel); rel == "." {
		return "", nil
	}
	return rel, nil
}

// treeThen is the tree of a run's start, or of the moment before a visit, and how that moment is called.
func (s *session) treeThen(pl *place, id string, events []runner.Event, before string) (tree, when string, err error) {
	g := s.graphOf(pl, id, events)
	if before == "" {
		when = "at the start of " + id
		if tree = treeAtStart(events); tree == "" {
			return "", "", badUsage("%s kept no state of the files from its start", id).hintf("`foundry show %s`", id)
		}
		return tree, when, nil
	}
	phase, visit, err := report.PhaseArg(before)
	if err != nil {
		return "", "", &problem{exit: Usage, err: err}
	}
	if err := knownPhase(pl, id, phase); err != nil {
		return "", "", err
	}
	if g == nil {
		return "", "", failure(fmt.Errorf("read the pipeline of %s: its record does not give it", id))
	}
	_, start, ok := runner.Beginning(events, phase, visit)
	if !ok {
		return "", "", badUsage("--before %s: there was no such visit", before).hintf("`foundry show %s` lists the phases with their visits", id)
	}
	when = fmt.Sprintf("before %s@%d of %s", phase, events[start-1].Visit, id)
	ref, between := drive.Before(g, events, phase, start)
	if ref == "" || len(between) > 0 {
		return "", "", badUsage("--before %s: there is no snapshot from right before it: %s ran since the last one", before, few(between)).hintf("--before %s", between[0])
	}
	if tree = treeOf(events, ref); tree == "" {
		if tree = treeAtStart(events); tree == "" {
			return "", "", badUsage("--before %s: the run took no snapshot until then", before)
		}
	}
	return tree, when, nil
}

// treeAtStart is the first snapshot, when it was taken before anything had run: it has what was not committed too, in the
// checkout, and what the setup made, in a worktree. Else it is the branch point.
func treeAtStart(events []runner.Event) string {
	for _, e := range events {
		switch {
		case e.Kind == runner.SnapshotTaken && e.Tree != "" && e.Tree != runner.UnknownTree:
			return e.Tree
		case e.Kind == runner.CommandStarted || e.Kind == runner.TurnStarted || e.Kind == runner.CommandEnded:
			if info := started(events); info != nil && info.Isolation != "checkout" {
				return info.BranchPoint
			}
			return ""
		}
	}
	if info := started(events); info != nil {
		return info.BranchPoint
	}
	return ""
}

// treeOf is the tree of a snapshot that an event names.
func treeOf(events []runner.Event, ref string) string {
	for _, e := range events {
		if e.Ref == ref && e.Tree != "" && e.Tree != runner.UnknownTree {
			return e.Tree
		}
	}
	return ""
}

// notWorkedIn refuses to write into a checkout in which a run works right now.
func notWorkedIn(pl *place) error {
	entries, err := pl.store.List()
	if err != nil {
		return failure(err)
	}
	for _, e := range entries {
		if e.Live && e.Worktree == pl.repo.Root() {
			return badUsage("%s works in this checkout right now", e.ID).hintf("wait for its end, or print the file with --stdout")
		}
	}
	return nil
}

func (s *session) printThen(pl *place, tree, path, when string) error {
	list, err := pl.repo.Entries(s.ctx, tree, path)
	if err != nil {
		return notBrought(err, path, when)
	}
	if len(list) != 1 || list[0].Path != path {
		return badUsage("%s was a directory %s; --stdout prints one file", path, when).hintf("leave --stdout out, or name a file in it: %s", list[0].Path)
	}
	if list[0].Mode == "160000" {
		return badUsage("%s was a submodule %s; a snapshot does not hold it", path, when)
	}
	data, err := pl.repo.Content(s.ctx, list[0])
	if err != nil {
		return failure(err)
	}
	return s.print(string(data))
}

// notBrought words what kept a path from being brought back.
func notBrought(err error, path, when string) error {
	var blocked *workspace.BlockedError
	switch {
	case errors.Is(err, workspace.ErrNoSuchPath):
		return badUsage("%s did not exist %s", path, when)
	case errors.As(err, &blocked):
		return (&problem{exit: Usage, err: blocked}).hintf("%s", blocked.Hint)
	}
	return failure(fmt.Errorf("bring %s back: %w", path, err))
}

func broughtText(done workspace.Brought, path, when string) string {
	var b strings.Builder
	if len(done.Written) == 0 {
		if path == "" {
			path = "everything"
		}
		fmt.Fprintf(&b, "%s is as it was %s\n", report.Line(path), when)
	}
	for _, p := range done.Written {
		fmt.Fprintf(&b, "%s is back as it was %s\n", report.Line(p), when)
	}
	if len(done.Left) > 0 {
		fmt.Fprintf(&b, "not there then, and left alone: %s\n", report.Line(few(done.Left)))
	}
	if len(done.Skipped) > 0 {
		fmt.Fprintf(&b, "submodules, which a snapshot does not hold: %s\n", report.Line(few(done.Skipped)))
	}
	if done.Kept != "" {
		fmt.Fprintf(&b, "what was replaced and in no commit is kept at %s\n", done.Kept)
	}
	return b.String()
}

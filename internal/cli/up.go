package cli

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"foundry/diag"
	"foundry/graph"
	"foundry/internal/drive"
	"foundry/internal/journal"
	"foundry/runner"
)

func upVerb(s *session) verb {
	merges := []string{"auto", "ask", "never"}
	return verb{
		Command: &cli.Command{
			Name:      "up",
			Usage:     "run a pipeline",
			ArgsUsage: "[PIPELINE] [REQUEST]",
			Description: `Compiles a pipeline and runs it in a worktree of its own, on branch foundry/RUN. The checkout is not touched until the
result is merged. A first argument that is no pipeline and has a space in it is the request; the request may also come
from -r, from --request-file, or from standard input with "-".

Without a terminal, or with --no-input, nothing asks: an ask phase parks the run (exit 4) until
"foundry approve" or "foundry reject".`,
			Flags: append(watchFlags(),
				&cli.StringFlag{Name: "request", Aliases: []string{"r"}, Usage: "what is to be done (`TEXT`)"},
				&cli.StringFlag{Name: "request-file", Usage: "read the request from `FILE`; - is standard input"},
				&cli.StringSliceFlag{Name: "set", Usage: "give a parameter a value (`NAME=VALUE`); may be repeated"},
				&cli.BoolFlag{Name: "dry-run", Usage: "show every prompt and command of the pipeline; nothing is run and nothing spent"},
				&cli.BoolFlag{Name: "json", Usage: "with --dry-run: print one JSON document and nothing else"},
				&cli.BoolFlag{Name: "detach", Aliases: []string{"d"}, Usage: "run in the background and print the run's id"},
				&cli.StringFlag{Name: "base", Usage: "start from `REF` instead of project.base or the branch checked out"},
				&cli.BoolFlag{Name: "no-isolation", Usage: "work in the checkout itself; nothing is ever undone there"},
				&cli.StringFlag{Name: "merge", Usage: "auto, ask or never, instead of what the file says (`POLICY`)"},
				&cli.StringSliceFlag{Name: "agent", Usage: "try an agent on another harness, every agent without a name (`[NAME=]HARNESS`); may be repeated"},
				&cli.StringFlag{Name: "agents", Usage: "play scripted agents from `FILE`, a file of pipeline tests; the rest is real"},
				&cli.StringFlag{Name: "from", Usage: "start at `PHASE`; what lies before it does not run"},
				&cli.StringFlag{Name: "until", Usage: "stop after `PHASE`"},
				&cli.BoolFlag{Name: "force", Usage: "start what was proven before, too: phases with sources are not up to date"},
				&cli.BoolFlag{Name: "keep-going", Aliases: []string{"k"}, Usage: "run what depends on a failed phase anyway"},
				&cli.IntFlag{Name: "jobs", Aliases: []string{"j"}, Usage: "run `N` phases at a time; as many as processors, 2 of them agents, when absent"},
				&cli.StringFlag{Name: "output", Value: "auto", Usage: "auto, tty, plain or json (`FORM`); auto is tty on a terminal"},
				&cli.BoolFlag{Name: "no-input", Usage: "ask nothing; an ask phase parks the run"},
				&cli.BoolFlag{Name: "watch", Usage: "run the checks on every change, as foundry watch does"},
				&cli.StringFlag{Name: "run-id", Hidden: true, Usage: "`ID` of the run to make, from the process that detached it"},
			),
			Action: s.up,
		},
		exits:    []Exit{Refused, Failed, Parked, OverBudget, Interrupted},
		values:   map[string][]string{"output": runForms(), "merge": merges},
		operands: pipelineCandidates,
		phases:   pipelinePhases,
		examples: []example{
			{`foundry up "fix the flaky login test"`, "the default pipeline, with a request"},
			{"foundry up plan-build-test -r \"add subtraction\"", "a pipeline by name"},
			{"foundry up --set area=api --merge never", "with a parameter; nothing is merged"},
			{"foundry up --agent reviewer=codex", "another agent for one run, without a change of the file"},
			{"foundry up --dry-run", "what would be sent and run"},
			{"foundry up --agents change.foundry-test.yaml", "the agents of a test, in a real run: no model, real commands"},
			{"git log -1 --format=%B | foundry up review -", "the request from standard input"},
			{"foundry up --output json | jq .kind", "the run's events for a script"},
		},
	}
}

// garbageRoom is how many bytes of garbage may come together in a run, beside as many as are in use, before the collector
// looks for it. A run holds little and makes much: it would be collected at every few megabytes. The bytes themselves are
// never touched, so that they take no memory.
const garbageRoom = 16 << 20

func (s *session) up(c *cli.Context) error {
	defer runtime.KeepAlive(make([]byte, garbageRoom))
	form, err := s.runForm(c)
	if err != nil {
		return err
	}
	if c.Bool("watch") {
		for _, other := range []string{"dry-run", "detach", "from", "until", "agents", "base", "merge", "no-isolation"} {
			if c.IsSet(other) {
				return badUsage("--watch and --%s exclude each other", other).hintf("`foundry watch --help` says what a watch does")
			}
		}
		return s.watch(c)
	}
	for _, f := range watchFlags() {
		if name := f.Names()[0]; c.IsSet(name) {
			return badUsage("--%s goes with --watch", name)
		}
	}
	if c.Bool("json") && !c.Bool("dry-run") {
		return badUsage("--json goes with --dry-run").hintf("--output json prints the events of a run")
	}
	if err := checkJobs(c); err != nil {
		return err
	}
	openPlace := s.openPlace
	if !c.Bool("dry-run") {
		opened, closed := s.openPlaceAhead()
		defer closed()
		openPlace = opened
	}
	p, err := s.loadOrBuiltins()
	if err != nil {
		return err
	}
	if err := p.tryAgents(c.StringSlice("agent")); err != nil {
		return err
	}
	if err := requestInQuotes(c, pipelineNames(p)); err != nil {
		return err
	}
	name, request, err := s.upArguments(c, p)
	if err != nil {
		return err
	}
	g, err := s.compile(p, name)
	if err != nil {
		return err
	}
	info := &runner.RunInfo{Pipeline: g.Pipeline, Request: request, KeepGoing: c.Bool("keep-going"), Force: c.Bool("force"), From: c.String("from"), Until: c.String("until"),
		Who: who(), File: p.name, Fingerprint: g.Fingerprint, Version: versionText()}
	info.Jobs, info.Agents = jobs(c.Int("jobs"))
	if info.Params, err = parameters(g, c.StringSlice("set")); err != nil {
		return err
	}
	if err := choose(c, g, info); err != nil {
		return err
	}
	g = overridden(g, info)
	if file := c.String("agents"); file != "" {
		if g, err = s.scripted(g, p, file, info); err != nil {
			return err
		}
	}
	if c.Bool("dry-run") {
		return s.dryRun(g, masked(s.mask(g), info), c.Bool("json"))
	}
	pl, err := openPlace()
	if err != nil {
		return err
	}
	if err := s.startingPoint(c, pl, g, info); err != nil {
		return err
	}
	found := append(preflight(pl, g, info), s.committed(pl, g, info.BranchPoint)...)
	if found = append(found, s.writtenSecrets(p, g)...); len(found) > 0 {
		return s.unfit(found)
	}
	if c.Bool("detach") {
		return s.detach(c, pl)
	}
	s.differs(pl, p, info)
	s.partial(g, info)
	for _, text := range s.notMasked(g.Project.Secrets) {
		s.note("foundry: %s", text)
	}
	return s.launch(pl, p, g, info, launching{id: c.String("run-id"), form: form, input: s.interactive(c)})
}

// mostJobs bounds how many phases a run has at a time.
const mostJobs = 1000

func checkJobs(c *cli.Context) error {
	if n := c.Int("jobs"); c.IsSet("jobs") && (n < 1 || n > mostJobs) {
		return badUsage("--jobs %d: must lie between 1 and %d", n, mostJobs)
	}
	return nil
}

// jobs are how many phases run at a time, and how many of them may be agents.
func jobs(asked int) (all, agents int) {
	if asked > 0 {
		return asked, asked
	}
	return max(runtime.NumCPU(), 2), 2
}

// launching is how a new run is started: the id that the process which detached it has told, the form of the
// output, and whether a person is there.
type launching struct {
	id    string
	form  string
	input bool
	ctx   context.Context // stops this run; nil: only what stops the program
	watch *watching       // which it belongs to; may be nil
}

// launch makes the record and drives the run.
func (s *session) launch(pl *place, p *project, g *graph.Graph, info *runner.RunInfo, l launching) error {
	compiled := make(chan []byte, 1)
	go func() { compiled <- encodeJSON(g) }()
	if err := pl.repo.Exclude(s.ctx); err != nil {
		return failure(err)
	}
	if l.watch == nil {
		s.sweepScratch(pl)
	}
	rec, err := newRecord(pl, l.id)
	if err != nil {
		return failure(err)
	}
	defer rec.Close()
	rec.Hide(s.mask(g))
	info = masked(rec.Mask(), info)
	info.ID = rec.ID()
	if g.Isolation == graph.Worktree {
		info.Branch = "foundry/" + info.ID
	}
	info.Worktree = pl.repo.Root()
	if g.Isolation != graph.Checkout {
		info.Worktree = pl.repo.WorktreeDir(info.ID)
	}
	if _, err := keepPipeline(rec, p, <-compiled); err != nil {
		return failure(err)
	}
	return s.drive(driving{pl: pl, rec: rec, graph: g, info: info, state: runner.New(g), first: []runner.Event{{Kind: runner.RunStarted, Run: info}},
		make: true, format: l.form, input: l.input, ctx: l.ctx, watch: l.watch})
}

// interactive says whether questions may be put to whoever started the program.
func (s *session) interactive(c *cli.Context) bool {
	form, err := s.runForm(c)
	return err == nil && form != "json" && !c.Bool("no-input") && isTerminal(s.in) && (form == "tty" || isTerminal(s.err)) && s.getenv("CI") == ""
}

func newRecord(pl *place, id string) (*journal.Record, error) {
	if id != "" {
		return pl.store.Create(id)
	}
	for {
		rec, err := pl.store.Create(journal.NewID(time.Now(), rand.Reader))
		if !errors.Is(err, journal.ErrExists) {
			return rec, err
		}
	}
}

// keepPipeline writes a pipeline into the record, compiled and as text, and returns the name of the texts.
func keepPipeline(rec *journal.Record, p *project, compiled []byte) (string, error) {
	name, err := keepSources(rec, p)
	if err == nil {
		_, err = rec.WriteFile("graph.json", compiled)
	}
	return name, err
}

// requestInQuotes refuses a request that came as several words, or as one that names no pipeline, and shows how
// it is written.
func requestInQuotes(c *cli.Context, pipelines []string) error {
	words := c.Args().Slice()
	if slices.ContainsFunc(words, func(arg string) bool { return strings.TrimSpace(arg) == "" }) { // a variable that is not set
		return badUsage("%s: an argument is empty", c.Command.Name).hintf("say what is to be done, or leave it out")
	}
	if len(words) == 0 || words[0] == "-" || strings.ContainsAny(words[0], " \n\t") {
		return atMost(c, 2)
	}
	whole := strings.Join(words, " ")
	if slices.Contains(pipelines, words[0]) {
		if err := atMost(c, 2); err != nil {
			return asProblem(err).hintf("a request is one argument: `foundry up %s %q`", words[0], strings.Join(words[1:], " "))
		}
		return nil
	}
	if err := atMost(c, 2); err != nil {
		return asProblem(err).hintf("a request is one argument: `foundry up %q`", whole)
	}
	if near(words[0], slices.Clone(pipelines)) != "" || c.IsSet("request") || c.IsSet("request-file") {
		return nil // a pipeline was meant
	}
	how := fmt.Sprintf("a request is one argument: `foundry up %q`", whole)
	if len(words) == 1 {
		how = fmt.Sprintf("a request of one word goes into -r: `foundry up -r %s`", whole)
	}
	return badUsage("pipeline %q is not defined", words[0]).hintf("there is %s; %s", strings.Join(pipelines, ", "), how)
}

// upArguments tells the pipeline and the request apart.
func (s *session) upArguments(c *cli.Context, p *project) (name, request string, err error) {
	args := c.Args().Slice()
	if len(args) > 0 && args[0] != "-" && !(len(args) == 1 && strings.ContainsAny(args[0], " \n\t")) {
		name, args = args[0], args[1:]
	} else if len(args) > 1 {
		return "", "", badUsage("up: %q is no pipeline, so the request would be given twice", args[0]).hintf("quote the request as one argument")
	}
	var given []string
	if len(args) > 0 {
		given = append(given, "the argument")
		request = args[0]
	}
	if c.IsSet("request") {
		given = append(given, "-r")
		request = c.String("request")
	}
	if c.IsSet("request-file") {
		given = append(given, "--request-file")
		request = "\x00" + c.String("request-file")
	}
	if len(given) > 1 {
		return "", "", badUsage("up: the request is given twice, by %s", strings.Join(given, " and by ")).hintf("give it once")
	}
	switch {
	case request == "-", request == "\x00-":
		text, err := io.ReadAll(io.LimitReader(s.in, maxFile))
		if err != nil {
			return "", "", failure(fmt.Errorf("read the request from standard input: %w", err))
		}
		request = string(text)
	case strings.HasPrefix(request, "\x00"):
		file := request[1:]
		text, err := os.ReadFile(s.path(file))
		if err != nil {
			return "", "", badUsage("--request-file %s: %w", file, plainPathError(err))
		}
		request = string(text)
	}
	if request = strings.TrimSpace(request); request == "" && len(given) > 0 {
		return "", "", badUsage("%s: the request is empty, from %s", c.Command.Name, given[0]).hintf("say what is to be done, or leave it out")
	}
	return name, request, nil
}

// parameters reads --set against what the pipeline declares.
func parameters(g *graph.Graph, set []string) (map[string]string, error) {
	out := map[string]string{}
	var names []string
	for _, p := range g.Params {
		names = append(names, p.Name)
	}
	for _, arg := range set {
		name, value, ok := strings.Cut(arg, "=")
		if !ok {
			return nil, badUsage("--set %s: must be NAME=VALUE", arg)
		}
		p := param(g, name)
		if p == nil {
			err := badUsage("--set %s: pipeline %s has no parameter %q", arg, g.Pipeline, name)
			if near := diag.Suggest(name, names); near != "" {
				return nil, err.hintf("did you mean %q?", near)
			}
			if len(names) == 0 {
				return nil, err.hintf("it has no parameters")
			}
			return nil, err.hintf("it has %s", strings.Join(names, ", "))
		}
		if err := fits(p, value); err != nil {
			return nil, badUsage("--set %s: %w", arg, err)
		}
		out[name] = value
	}
	for _, p := range g.Params {
		if _, ok := out[p.Name]; !ok && p.Required && !p.Has {
			return nil, badUsage("pipeline %s needs parameter %q", g.Pipeline, p.Name).hintf("--set %s=VALUE", p.Name)
		}
	}
	return out, nil
}

func param(g *graph.Graph, name string) *graph.Param {
	for i := range g.Params {
		if g.Params[i].Name == name {
			return &g.Params[i]
		}
	}
	return nil
}

// fits says why a value cannot be a parameter's.
func fits(p *graph.Param, value string) error {
	switch p.Type {
	case graph.ParamInt:
		if _, err := strconv.Atoi(value); err != nil {
			return fmt.Errorf("%s must be a whole number", p.Name)
		}
	case graph.ParamBool:
		if value != "true" && value != "false" {
			return fmt.Errorf("%s must be true or false", p.Name)
		}
	case graph.ParamPath:
		if strings.HasPrefix(value, "/") || value == ".." || strings.HasPrefix(value, "../") || strings.Contains(value, "/../") {
			return fmt.Errorf("%s must be a path inside the repository", p.Name)
		}
	}
	for _, choice := range p.Choices {
		if choice == value {
			return nil
		}
	}
	if len(p.Choices) > 0 {
		return fmt.Errorf("%s must be one of %s", p.Name, strings.Join(p.Choices, ", "))
	}
	return nil
}

// choose takes isolation and merge policy from the command line, else from the graph.
func choose(c *cli.Context, g *graph.Graph, info *runner.RunInfo) error {
	info.Isolation = map[graph.Isolation]string{graph.Worktree: "worktree", graph.Detached: "detached", graph.Checkout: "checkout"}[g.Isolation]
	if c.Bool("no-isolation") {
		if i := slices.IndexFunc(g.Phases, func(ph graph.Phase) bool { return ph.RunsApart() }); i >= 0 {
			return badUsage("--no-isolation: phase %s works in a worktree of its own, which is merged into that of the run", g.Phases[i].Name).hintf("leave --no-isolation out, or take parallel: worktree out of the pipeline")
		}
		info.Isolation = "checkout"
	}
	info.Merge = map[graph.Policy]string{graph.MergeAuto: "auto", graph.MergeAsk: "ask", graph.MergeNever: "never"}[g.Merge]
	if merge := c.String("merge"); merge != "" {
		info.Merge = merge
		return oneOf("--merge", merge, []string{"auto", "ask", "never"})
	}
	return nil
}

// startingPoint resolves the base to the commit that the run starts from. HEAD is never taken by accident: a
// base that is not there is an error that names the branches.
func (s *session) startingPoint(c *cli.Context, pl *place, g *graph.Graph, info *runner.RunInfo) error {
	ref := g.Project.Base
	if c.IsSet("base") {
		ref = c.String("base")
	}
	var err error
	if ref == "" {
		info.BranchPoint, info.Base, err = pl.repo.Head(s.ctx)
	} else {
		info.BranchPoint, info.Base, err = pl.repo.Resolve(s.ctx, ref)
	}
	if err != nil {
		return notReady(err)
	}
	if info.Base == "" && info.Merge != "never" && g.Isolation == graph.Worktree {
		s.note("foundry: the base is a commit and no branch: the result will be kept, not merged")
		info.Merge = "never"
	}
	info.FileCommit = info.BranchPoint
	return nil
}

// differs warns when a pipeline file of the checkout is not the one that the run's worktree will hold.
func (s *session) differs(pl *place, p *project, info *runner.RunInfo) {
	if p.path == "" || info.Isolation == "checkout" {
		return
	}
	compare := func(path, name, text string) {
		committed, err := pl.repo.FileAt(s.ctx, info.BranchPoint, path)
		switch {
		case err != nil:
			s.note("foundry: %s is not committed at %.10s; the copy in the checkout counts", name, info.BranchPoint)
		case string(committed) != text:
			s.note("foundry: %s differs from the one committed at %.10s; the copy in the checkout counts", name, info.BranchPoint)
		}
	}
	compare(p.relative(), p.name, p.source.Text)
	for _, path := range p.names.Included() {
		compare(path, s.display(filepath.Join(p.root, filepath.FromSlash(path))), p.used[path])
	}
}

// partial says when a part of a pipeline cannot be accepted, since acceptance names a phase that is left out.
func (s *session) partial(g *graph.Graph, info *runner.RunInfo) {
	from, hasFrom := g.Lookup(info.From)
	until, hasUntil := g.Lookup(info.Until)
	var named []string
	for i := range g.Phases {
		ph := &g.Phases[i]
		before := hasFrom && ph.ID != from && !ph.Before.Has(from)
		after := hasUntil && ph.ID != until && !g.Phases[until].Before.Has(ph.ID)
		if ph.Named && ph.Owner < 0 && !ph.Detour && (before || after) {
			named = append(named, ph.Name)
		}
	}
	if len(named) > 0 {
		s.note("foundry: acceptance names %s, which is left out: this part of the pipeline cannot be accepted", few(named))
	}
}

// unfit reports what preflight found: nothing ran.
func (s *session) unfit(found drive.Problems) error {
	for _, f := range found {
		fmt.Fprintf(s.err, "preflight: %s\n   hint: %s\n", f.Text, f.Fix)
	}
	return badUsage("nothing was started: %s", count(len(found), "problem"))
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

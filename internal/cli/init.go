package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"foundry/internal/harness"
	"foundry/internal/lazyregexp"
	"foundry/internal/workspace"
	"foundry/schema"
)

// This file writes a first foundry.yaml. What it writes lints clean as it stands, whatever was found, and
// uses every command that was found, so that the file shows how the parts hang together.

// placeholderArgv stands in the file when no agent was found.
var placeholderArgv = []string{"./agent.sh"}

func initVerb(s *session) verb {
	return verb{
		Command: &cli.Command{
			Name:  "init",
			Usage: "write foundry.yaml for this repository",
			Description: `Looks at the files at the top of the repository for the commands that test, lint and build it
(package.json, Cargo.toml, go.mod, pyproject.toml, requirements.txt or tests in Python, Gradle, Maven, .NET, Make), looks for
installed agents on PATH, and writes a commented foundry.yaml. Nothing is started, and a pipeline file that
exists is never overwritten.`,
			Flags: []cli.Flag{
				&cli.BoolFlag{Name: "print", Usage: "print the file instead of writing it"},
			},
			Action: func(c *cli.Context) error {
				if err := noArguments(c); err != nil {
					return err
				}
				return s.initialise(c.Bool("print"))
			},
		},
		exits: []Exit{Failed},
		examples: []example{
			{"foundry init", "write foundry.yaml at the top of the repository"},
			{"foundry init --print", "see what would be written"},
		},
	}
}

// found is what init has seen of a repository and a machine.
type found struct {
	toolchain
	agents  []string // the harnesses whose programs were found, the preferred one first
	name    string   // of the directory
	copies  []string // ignored files that a fresh worktree needs
	protect []string
}

func (s *session) initialise(printOnly bool) error {
	root, isRepo := repositoryTop(s.dir)
	at := filepath.Join(root, "foundry.yaml")
	if s.file != "" {
		at = s.path(s.file)
	}
	if !printOnly {
		if err := s.refuseExisting(at, root); err != nil {
			return err
		}
	}
	f, err := lookAround(root)
	if err != nil {
		return failure(err)
	}
	text := modeline + "\n" + f.pipelineFile()
	if printOnly {
		return s.print(text)
	}
	if err := writeNew(at, text); err != nil {
		return failure(fmt.Errorf("write %s: %w", s.display(at), plainPathError(err)))
	}
	if err := s.writeSchema(filepath.Dir(at)); err != nil {
		return failure(fmt.Errorf("write the schema for editors: %w", err))
	}
	return s.print(f.summary(s.display(at), isRepo))
}

// refuseExisting makes sure that no pipeline file is there yet, under either of its names.
func (s *session) refuseExisting(at, root string) error {
	places := []string{at}
	if s.file == "" {
		for dir := s.dir; ; dir = filepath.Dir(dir) {
			for _, name := range fileNames {
				places = append(places, filepath.Join(dir, name))
			}
			if dir == root || dir == filepath.Dir(dir) {
				break
			}
		}
	}
	for _, p := range places {
		if _, err := os.Lstat(p); err == nil {
			return badUsage("%s exists already", s.display(p)).
				hintf("`foundry init --print` shows what would be written; nothing is ever overwritten")
		}
	}
	return nil
}

// schemaFile is where init puts the JSON Schema, beside the pipeline file, and modeline is the line with which
// the YAML language server finds it. It belongs to the program's version, so it is not committed.
const (
	schemaFile = ".foundry/schema.json"
	modeline   = "# yaml-language-server: $schema=" + schemaFile
)

// writeSchema writes the schema that the modeline names, and keeps git from seeing it.
func (s *session) writeSchema(dir string) error {
	path := filepath.Join(dir, filepath.FromSlash(schemaFile))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(path, []byte(schema.JSONSchema(vocabulary())), 0o600); err != nil {
		return err
	}
	repo, err := workspace.Open(s.ctx, dir)
	if err != nil {
		return nil // no repository yet: `up` will keep it out
	}
	return repo.Exclude(s.ctx)
}

// writeNew creates a file and fails when it exists.
func writeNew(path, text string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

func lookAround(root string) (found, error) {
	t, err := findToolchain(root)
	if err != nil {
		return found{}, err
	}
	f := found{toolchain: t, name: filepath.Base(root)}
	f.agents = harness.Present()
	if _, err := os.Stat(filepath.Join(root, ".github")); err == nil {
		f.protect = append(f.protect, ".github/**")
	}
	ignored, err := os.ReadFile(filepath.Join(root, ".gitignore"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return f, fmt.Errorf("read .gitignore: %w", plainPathError(err))
	}
	for _, line := range strings.Split(string(ignored), "\n") {
		name := strings.TrimPrefix(strings.TrimSpace(line), "/")
		if name != ".env" && name != ".env.local" {
			continue
		}
		if _, err := os.Stat(filepath.Join(root, name)); err == nil {
			f.copies = append(f.copies, name)
		}
	}
	return f, nil
}

// checks are the phases that judge the work, cheapest first.
func (f found) checks() []foundCommand {
	var out []foundCommand
	for _, name := range []string{"build", "lint", "test"} {
		for _, c := range f.commands {
			if c.name == name {
				out = append(out, c)
			}
		}
	}
	return out
}

// phaseOf names the phase that runs a command; `build` is the phase of the agent.
func phaseOf(c foundCommand) string {
	if c.name == "build" {
		return "compile"
	}
	return c.name
}

// pipelineFile is the text of the new file.
func (f found) pipelineFile() string {
	var b strings.Builder
	checks := f.checks()
	initial := "change"
	if len(checks) == 0 {
		initial = "plan-build-review"
	}
	b.WriteString("# What agents may do in this repository, and what proves that they did it.\n" +
		"# `foundry lint` checks this file, `foundry graph` draws it, `foundry ls` lists what it has.\n" +
		"version: 1\n\n" +
		"# The pipeline that runs when none is named.\n" +
		"default: " + initial + "\n\n")
	f.writeProject(&b)
	f.writeCommands(&b)
	if len(checks) > 0 {
		writePipeline(&b, checks)
	} else {
		b.WriteString("# Pipelines of your own go into a section `pipelines`. `foundry eject plan-build-test` copies one that ships\n" +
			"# with Foundry, to start from.\n")
	}
	return b.String()
}

func (f found) writeProject(b *strings.Builder) {
	b.WriteString("project:\n")
	if len(f.agents) == 0 {
		b.WriteString("  # Each turn of an agent starts this program in the workspace, with the prompt on its standard input, and\n" +
			"  # reads the reply from its standard output. No agent that Foundry knows was found on PATH. With one installed,\n" +
			"  # its harness is all that is needed, as in\n" +
			"  #   harness: claude\n" +
			"  harness: command\n  argv: " + flowList(placeholderArgv) + "\n")
	} else {
		b.WriteString("  # What drives the agents; `foundry explain harness/" + f.agents[0] + "` says what is run. An agent may edit what its phase may\n" +
			"  # write. Commands that it asks for are refused, unless the agent has `permissions: allow`, or `ask`.\n" +
			"  harness: " + f.agents[0] + "\n")
		for _, name := range f.agents[1:] {
			b.WriteString("  # harness: " + name + "\n")
		}
	}
	b.WriteString("  # What happens to the branch of an accepted run: auto merges it, ask waits for `foundry merge`, never keeps it.\n" +
		"  merge: ask\n" +
		"  # Nobody may write these, whatever an agent's `writes` says.\n")
	if len(f.protect) > 0 {
		b.WriteString("  protect: " + flowList(f.protect) + "\n")
	} else {
		b.WriteString("  # protect: [\".github/**\"]\n")
	}
	if len(f.copies)+len(f.setup) > 0 {
		b.WriteString("  # Runs work in a fresh worktree; this makes it ready.\n  worktree:\n")
		if len(f.copies) > 0 {
			b.WriteString("    copy: " + flowList(f.copies) + "\n")
		}
		if len(f.setup) > 0 {
			b.WriteString("    setup: " + flowList(f.setup) + "\n")
		}
	}
	b.WriteString("\n")
}

func (f found) writeCommands(b *strings.Builder) {
	if len(f.commands) == 0 {
		b.WriteString("# No command that tests, lints or builds this repository was found. With a command `test`, the pipelines\n" +
			"# plan-build-test and full-sdlc repair the work until it passes:\n" +
			"# commands:\n#   test: ./test.sh\n\n")
		return
	}
	b.WriteString("commands:\n")
	for _, c := range f.commands {
		fmt.Fprintf(b, "  %s: %s # from %s\n", c.name, scalar(c.run), c.from)
	}
	b.WriteString("\n")
}

func writePipeline(b *strings.Builder, checks []foundCommand) {
	var accept []string
	for _, c := range checks {
		accept = append(accept, fmt.Sprintf("passed(%q)", phaseOf(c)))
	}
	b.WriteString("pipelines:\n" +
		"  # `foundry up \"what is to be done\"` runs this. The pipelines that ship with Foundry (`foundry ls builtins`) can be\n" +
		"  # named as well: `foundry up plan-build-review \"…\"`.\n" +
		"  change:\n" +
		"    description: Make a change, and repair it until the checks pass\n" +
		"    # The run is accepted when this holds at its end, and only then.\n" +
		"    accept: " + strings.Join(accept, " && ") + "\n" +
		"    phases:\n" +
		"      - id: build\n" +
		"        description: Make the change, or repair what a check found\n" +
		"        agent: builder # ships with Foundry; `foundry eject builder` copies it here\n" +
		"        retries: 2\n" +
		"        gates: [diff_matches_claims]\n")
	for _, c := range checks {
		fmt.Fprintf(b, "      - id: %s\n        command: %s\n        route: |\n          on fail -> build retry 2\n", phaseOf(c), c.name)
	}
	b.WriteString("      - id: commit\n" +
		"        builtin: git_commit\n" +
		"        message: \"{{envelope:build.commit_message}}\"\n")
}

// summary says what was found and what to do next.
func (f found) summary(name string, isRepo bool) string {
	var b strings.Builder
	fmt.Fprintf(&b, "wrote %s\n", name)
	var rows [][2]string
	for _, c := range f.commands {
		rows = append(rows, [2]string{c.name, c.run + "  (" + c.from + ")"})
	}
	for _, c := range f.others {
		rows = append(rows, [2]string{"", "also found, not used: " + c.run + "  (" + c.from + ")"})
	}
	for i, name := range f.agents {
		info, _ := harness.Find(name)
		note := "  (" + info.Program + " is on PATH)"
		if i > 0 {
			note = "  (" + info.Program + " is on PATH, in a comment)"
		}
		rows = append(rows, [2]string{"agent", "harness " + name + note})
	}
	writeRows(&b, rows)
	if len(f.agents) == 0 {
		fmt.Fprintf(&b, "no agent was found on PATH: install one and name its harness (`foundry explain harness/claude`), or put the command line of\n"+
			"yours into project.argv, instead of %s; it gets the prompt on standard input and writes the reply to standard output\n", strings.Join(placeholderArgv, " "))
	}
	if len(f.commands) == 0 {
		b.WriteString("no command that tests this repository was found: add one as `test` under commands\n")
	}
	if !isRepo {
		b.WriteString("this is not a git repository yet: runs need one, with a first commit (git init)\n")
	}
	b.WriteString("next: foundry doctor\n")
	return b.String()
}

// flowList writes a list in brackets, each text quoted where YAML would read something else into it.
func flowList(list []string) string {
	quoted := make([]string, len(list))
	for i, v := range list {
		quoted[i] = scalar(v)
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}

// plainText is what needs no quotes, as far as its letters go: it begins with a letter, a path or an option.
var plainText = lazyregexp.New(`^(?:[A-Za-z]|\./|--?[A-Za-z])[A-Za-z0-9./_-]*(?: [A-Za-z0-9./_-]+)*$`)

// scalar writes a text as YAML: plain when nothing in it means anything to YAML, else in double quotes.
func scalar(text string) string {
	switch strings.ToLower(text) {
	case "true", "false", "null", "yes", "no", "on", "off", "y", "n":
		return strconv.Quote(text)
	}
	if plainText().MatchString(text) {
		return text
	}
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(text); err != nil {
		panic("BUG: a text does not encode: " + err.Error())
	}
	return strings.TrimSuffix(b.String(), "\n")
}

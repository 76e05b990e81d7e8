package cli

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"foundry/diag"
)

func lintVerb(s *session) verb {
	formats := []string{"text", "json", "github", "sarif"}
	return verb{
		Command: &cli.Command{
			Name:      "lint",
			Usage:     "check pipeline files",
			ArgsUsage: "[FILE...]",
			Description: `Checks pipeline files and prints every finding, with its place, the line, and one hint. Without FILE it
checks the pipeline file of the repository; "-" reads standard input. Nothing of the repository is run and nothing is
written. Errors end with exit code 1; warnings do so with --strict.

A warning is silenced by "# foundry:ignore RULE" on its line or the line above.`,
			Flags: []cli.Flag{
				&cli.StringFlag{Name: "format", Usage: "text, json, github or sarif; the default is text, in a GitHub action github (`FORMAT`)"},
				jsonFlag(),
				&cli.BoolFlag{Name: "strict", Usage: "end with 1 when there are warnings, too"},
				&cli.StringFlag{Name: "stdin-filename", Usage: "the `NAME` of what is read from standard input, for findings and for files it names"},
			},
			Action: func(c *cli.Context) error { return s.lint(c, formats) },
		},
		exits:  []Exit{Refused, Failed},
		values: map[string][]string{"format": formats},
		examples: []example{
			{"foundry lint", "check foundry.yaml, from anywhere in the repository"},
			{"foundry lint --strict a.yaml b.yaml", "check two files; warnings count"},
			{"foundry lint - --stdin-filename foundry.yaml <draft.yaml", "check a text that is not saved, for editors"},
			{"foundry lint --format json", "an array of findings for a script"},
		},
	}
}

func (s *session) lint(c *cli.Context, formats []string) error {
	format, err := s.lintFormat(c, formats)
	if err != nil {
		return err
	}
	projects, err := s.toLint(c)
	if err != nil {
		return err
	}
	var list []diag.Diagnostic
	for _, p := range projects {
		found := p.lint()
		list = append(list, diag.Unsilenced(found.Sorted())...)
	}
	if err := s.writeFindings(list, format); err != nil && !isClosedPipe(err) {
		return failure(fmt.Errorf("write the findings: %w", err))
	}
	if format == "text" {
		s.note("%s: %s", projectNames(projects), countFindings(list))
	}
	return reported(lintExit(list, c.Bool("strict")))
}

func (s *session) lintFormat(c *cli.Context, formats []string) (string, error) {
	format := c.String("format")
	switch {
	case c.Bool("json") && (format == "" || format == "json"):
		return "json", nil
	case c.Bool("json"):
		return "", badUsage("lint: --json and --format %s exclude each other", format)
	case format == "" && s.getenv("GITHUB_ACTIONS") == "true":
		return "github", nil
	case format == "":
		return "text", nil
	}
	return format, oneOf("--format", format, formats)
}

// oneOf refuses a word that is not in the list.
func oneOf(flag, word string, list []string) error {
	for _, w := range list {
		if w == word {
			return nil
		}
	}
	p := badUsage("%s %s: must be %s", flag, word, strings.Join(list, ", "))
	if like := near(word, append([]string(nil), list...)); like != "" {
		p.hintf("did you mean %s?", like)
	}
	return p
}

// toLint reads what is to be checked: the arguments, or the pipeline file of the repository.
func (s *session) toLint(c *cli.Context) ([]*project, error) {
	names := c.Args().Slice()
	if c.IsSet("stdin-filename") && !slices.Contains(names, "-") {
		return nil, badUsage("lint: --stdin-filename without -").hintf("`foundry lint - --stdin-filename NAME` reads standard input")
	}
	if len(names) == 0 {
		p, err := s.load()
		return []*project{p}, err
	}
	if s.file != "" {
		return nil, badUsage("lint: -f and files as arguments exclude each other").hintf("leave -f out; files are arguments")
	}
	var projects []*project
	fromStdin := false
	for _, name := range names {
		if name == "-" && fromStdin {
			return nil, badUsage("lint: standard input can be read only once")
		}
		p, err := s.lintOne(name, c.String("stdin-filename"))
		if err != nil {
			return nil, err
		}
		fromStdin = fromStdin || name == "-"
		projects = append(projects, p)
	}
	return projects, nil
}

func (s *session) lintOne(name, stdinName string) (*project, error) {
	if name != "-" {
		return s.loadFile(s.path(name))
	}
	text, err := io.ReadAll(io.LimitReader(s.in, maxFile))
	if err != nil {
		return nil, failure(fmt.Errorf("read standard input: %w", err))
	}
	shown, at := "<stdin>", filepath.Join(s.dir, fileNames[0])
	if stdinName != "" {
		shown, at = stdinName, s.path(stdinName)
	}
	top, _ := repositoryTop(filepath.Dir(at))
	return newProject(top, at, shown, diag.NewSource(shown, string(text))), nil
}

func (s *session) writeFindings(list []diag.Diagnostic, format string) error {
	switch format {
	case "json":
		return diag.RenderJSON(s.out, list)
	case "github":
		return diag.RenderGitHub(s.out, list)
	case "sarif":
		return diag.RenderSARIF(s.out, list, readBuildInfo().Version)
	}
	return diag.RenderText(s.out, list, s.colored(s.out))
}

func lintExit(list []diag.Diagnostic, strict bool) Exit {
	for _, d := range list {
		if d.Severity == diag.Error || strict {
			return Refused
		}
	}
	return Done
}

func projectNames(projects []*project) string {
	if len(projects) == 1 {
		return projects[0].name
	}
	return fmt.Sprintf("%d files", len(projects))
}

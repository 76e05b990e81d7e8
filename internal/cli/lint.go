package cli

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"foundry/diag"
	"foundry/internal/check"
	"foundry/schema"
)

func lintVerb(s *session) verb {
	formats := []string{"text", "json", "github", "sarif"}
	return verb{
		Command: &cli.Command{
			Name:      "lint",
			Usage:     "check pipeline files",
			ArgsUsage: "[FILE...]",
			Description: `Checks pipeline files and prints every finding, with its place, the line, and one hint. Without FILE it
checks the pipeline file of the repository; "-" reads standard input. A file called *` + testSuffix + ` holds tests and
is checked against the nearest pipeline file. Nothing of the repository is run and nothing is written. Errors end with
exit code 1; warnings do so with --strict.

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
	files, err := s.toLint(c)
	if err != nil {
		return err
	}
	var list []diag.Diagnostic
	for _, f := range files {
		list = append(list, diag.Unsilenced(f.found.Sorted())...)
	}
	if err := s.writeFindings(list, format); err != nil && !isClosedPipe(err) {
		return failure(fmt.Errorf("write the findings: %w", err))
	}
	if format == "text" {
		s.note("%s: %s", fileNamesOf(files), countFindings(list))
	}
	return reported(lintExit(list, c.Bool("strict")))
}

// linted is one file with what was found in it.
type linted struct {
	name  string
	found diag.List
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

// toLint checks the arguments, or the pipeline file of the repository.
func (s *session) toLint(c *cli.Context) ([]linted, error) {
	names := c.Args().Slice()
	if c.IsSet("stdin-filename") && !slices.Contains(names, "-") {
		return nil, badUsage("lint: --stdin-filename without -").hintf("`foundry lint - --stdin-filename NAME` reads standard input")
	}
	if len(names) == 0 {
		p, err := s.load()
		if err != nil {
			return nil, err
		}
		return []linted{{p.name, p.lint()}}, nil
	}
	if s.file != "" {
		return nil, badUsage("lint: -f and files as arguments exclude each other").hintf("leave -f out; files are arguments")
	}
	var files []linted
	fromStdin := false
	for _, name := range names {
		if name == "-" && fromStdin {
			return nil, badUsage("lint: standard input can be read only once")
		}
		f, err := s.lintOne(name, c.String("stdin-filename"), names)
		if err != nil {
			return nil, err
		}
		fromStdin = fromStdin || name == "-"
		files = append(files, f)
	}
	return files, nil
}

// lintOne checks one of the arguments, which are given for what need not be reported twice.
func (s *session) lintOne(name, stdinName string, all []string) (linted, error) {
	shown, path, text := name, s.path(name), ""
	var err error
	if name == "-" {
		shown, path, text, err = s.readStdin(stdinName)
	} else if text, err = s.readPipeline(path); err == nil {
		shown = s.display(path)
	}
	if err != nil {
		return linted{}, err
	}
	source := diag.NewSource(shown, text)
	if strings.HasSuffix(path, testSuffix) {
		found, err := s.lintTests(source, path, all)
		return linted{shown, found}, err
	}
	top, _ := repositoryTop(filepath.Dir(path))
	return linted{shown, newProject(top, path, shown, source, s.display).lint()}, nil
}

// readStdin reads standard input as the file of a name, which need not exist.
func (s *session) readStdin(name string) (shown, path, text string, err error) {
	b, err := io.ReadAll(io.LimitReader(s.in, maxFile))
	if err != nil {
		return "", "", "", failure(fmt.Errorf("read standard input: %w", err))
	}
	shown, path = "<stdin>", filepath.Join(s.dir, fileNames[0])
	if name != "" {
		shown, path = name, s.path(name)
	}
	return shown, path, string(b), nil
}

// lintTests checks a file of tests against the nearest pipeline file, or against what ships. What keeps that file
// from being compiled is reported too, unless it is itself one of the arguments.
func (s *session) lintTests(source *diag.Source, path string, all []string) (diag.List, error) {
	tests, found := schema.DecodeTests(source)
	top, _ := repositoryTop(filepath.Dir(path))
	p := newProject(top, "", "", nil, s.display)
	switch at, err := s.findFileFrom(filepath.Dir(path)); {
	case err == nil:
		if p, err = s.loadFile(at); err != nil {
			return found, err
		}
	case !errors.Is(err, errNoFile):
		return found, err
	}
	suite := check.NewSuite(p.names)
	of := suite.Add(tests)
	reported := slices.ContainsFunc(all, func(name string) bool { return name != "-" && s.path(name) == p.path })
	if p.findings.HasErrors() {
		of, suite.Broken = diag.List{}, p.findings // what tests name may be what could not be read
	}
	found.Merge(of)
	if !reported {
		found.Merge(suite.Broken)
	}
	return found, nil
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

func fileNamesOf(files []linted) string {
	if len(files) == 1 {
		return files[0].name
	}
	return fmt.Sprintf("%d files", len(files))
}

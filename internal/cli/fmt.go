package cli

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"foundry/diag"
	"foundry/schema"
)

func fmtVerb(s *session) verb {
	return verb{
		Command: &cli.Command{
			Name:      "fmt",
			Usage:     "write pipeline files in canonical form",
			ArgsUsage: "[FILE...]",
			Description: `Puts the keys of pipeline files and files of tests in their usual order, indents with two blanks, and tidies blank
lines. Every value and every comment stays as it is. Names (of agents, pipelines, phases) are not sorted. Without FILE
it formats the pipeline file of the repository; "-" formats standard input to standard output. The names of the files
that changed are printed.

A file that is not YAML, or has a key twice, is left alone. So is a part whose order may matter: with anchors and
aliases, or in { }.`,
			Flags: []cli.Flag{
				&cli.BoolFlag{Name: "check", Usage: "write nothing; end with 1 when a file would change"},
				&cli.BoolFlag{Name: "diff", Usage: "write nothing; print what would change"},
			},
			Action: s.format,
		},
		exits: []Exit{Refused, Failed},
		examples: []example{
			{"foundry fmt", "format foundry.yaml, from anywhere in the repository"},
			{"foundry fmt --check --diff *.foundry-test.yaml", "for a build: show what is not formatted, and fail"},
			{"foundry fmt - <draft.yaml", "format a text, for editors"},
		},
	}
}

func (s *session) format(c *cli.Context) error {
	names := c.Args().Slice()
	if len(names) > 0 && s.file != "" {
		return badUsage("fmt: -f and files as arguments exclude each other").hintf("leave -f out; files are arguments")
	}
	if len(names) == 0 {
		path, err := s.findFile()
		if err != nil {
			return err
		}
		names = []string{path}
	}
	changed, unread := 0, 0
	for _, name := range names {
		source, path, err := s.toFormat(name)
		if err != nil {
			return err
		}
		text, found, err := schema.Format(source)
		if err != nil {
			return failure(fmt.Errorf("format %s: %w; it is left as it is, and this is a mistake in foundry", source.Name, err))
		}
		if found.HasErrors() {
			unread++
			if err := diag.RenderText(s.err, diag.Unsilenced(found.Sorted()), s.colored(s.err)); err != nil {
				return failure(fmt.Errorf("write the findings: %w", err))
			}
			continue
		}
		if text != source.Text {
			changed++
		}
		if err := s.formatted(c, source, path, text); err != nil {
			return err
		}
	}
	switch {
	case unread > 0:
		return badUsage("%s not formatted", count(unread, "file")).hintf("`foundry explain RULE` says more about a finding; its rule is in brackets")
	case changed > 0 && c.Bool("check"):
		return reported(Refused)
	case changed == 0 && names[0] != "-":
		s.note("%s formatted already", count(len(names), "file"))
	}
	return nil
}

// toFormat reads an argument. The path is "" for standard input.
func (s *session) toFormat(name string) (source *diag.Source, path string, err error) {
	if name == "-" {
		shown, _, text, err := s.readStdin("")
		return diag.NewSource(shown, text), "", err
	}
	path = s.path(name)
	text, err := s.readPipeline(path)
	return diag.NewSource(s.display(path), text), path, err
}

// formatted does with a formatted text what was asked for.
func (s *session) formatted(c *cli.Context, source *diag.Source, path, text string) error {
	check, diff := c.Bool("check"), c.Bool("diff")
	switch {
	case diff:
		return s.print(lineDiff(source.Name, source.Text, text))
	case check && path == "":
		return nil
	case path == "":
		return s.print(text)
	case text == source.Text:
		return nil
	case !check:
		if err := replaceFile(path, text); err != nil {
			return failure(fmt.Errorf("write %s: %w", source.Name, plainPathError(err)))
		}
	}
	return s.print(source.Name + "\n")
}

package cli

import (
	"fmt"
	"strings"

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

// around is how many lines a difference shows above and below what changed.
const around = 3

// lineDiff is the difference between two texts in the unified form that git and patch read; "" when there is none.
func lineDiff(name, old, new string) string {
	if old == new {
		return ""
	}
	edits := lineEdits(diffLines(old), diffLines(new))
	var b strings.Builder
	fmt.Fprintf(&b, "--- a/%s\n+++ b/%s\n", name, name)
	for at := 0; at < len(edits); {
		if edits[at].sign == ' ' {
			at++
			continue
		}
		// A hunk goes on for as long as no more lines are the same than it would show.
		end, same := at, 0
		for i := at; i < len(edits) && same <= 2*around; i++ {
			if same++; edits[i].sign != ' ' {
				end, same = i+1, 0
			}
		}
		from, to := max(0, at-around), min(len(edits), end+around)
		lines, first := [2]int{}, edits[from]
		for _, e := range edits[from:to] {
			if e.sign != '+' {
				lines[0]++
			}
			if e.sign != '-' {
				lines[1]++
			}
		}
		fmt.Fprintf(&b, "@@ -%d,%d +%d,%d @@\n", first.old+min(1, lines[0]), lines[0], first.new+min(1, lines[1]), lines[1])
		for _, e := range edits[from:to] {
			b.WriteByte(e.sign)
			b.WriteString(e.text)
			if !strings.HasSuffix(e.text, "\n") {
				b.WriteString("\n\\ No newline at end of file\n")
			}
		}
		at = to
	}
	return b.String()
}

// diffLines are the lines of a text with their line breaks.
func diffLines(text string) []string {
	lines := strings.SplitAfter(text, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

// lineEdit is a line that is in both texts, or in one; old and new are how many lines of each stand before it.
type lineEdit struct {
	sign     byte
	text     string
	old, new int
}

// lineEdits turns one list of lines into another, by the longest lines they have in common. What is the same at
// both ends is set aside first; in the middle of very long texts, all lines count as different.
func lineEdits(a, b []string) []lineEdit {
	head := 0
	for head < len(a) && head < len(b) && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < len(a)-head && tail < len(b)-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	n, m := len(a)-head-tail, len(b)-head-tail
	var common [][]int32 // of what is left from a line of each on; nil when it would be too large
	if n*m <= 16<<20 {
		common = make([][]int32, n+1)
		for i := n; i >= 0; i-- {
			common[i] = make([]int32, m+1)
			for j := m - 1; j >= 0 && i < n; j-- {
				if common[i][j] = max(common[i+1][j], common[i][j+1]); a[head+i] == b[head+j] {
					common[i][j] = common[i+1][j+1] + 1
				}
			}
		}
	}
	var out []lineEdit
	for i, j := 0, 0; i < len(a) || j < len(b); {
		x, y := i-head, j-head
		inside := x >= 0 && y >= 0 && x <= n && y <= m && (x < n || y < m)
		switch {
		case !inside, x < n && y < m && common != nil && a[i] == b[j]:
			out = append(out, lineEdit{' ', a[i], i, j})
			i, j = i+1, j+1
		case x < n && (y == m || common == nil || common[x+1][y] >= common[x][y+1]):
			out = append(out, lineEdit{'-', a[i], i, j})
			i++
		default:
			out = append(out, lineEdit{'+', b[j], i, j})
			j++
		}
	}
	return out
}

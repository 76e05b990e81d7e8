package cli

import (
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"foundry/internal/report"
)

// This file draws the help. Everything in it comes from the table of verbs, their flags and the table of
// exit codes, so that the help cannot say what the program does not do.

// mainHelp is what `foundry --help` shows.
func mainHelp(verbs []verb, globals []cli.Flag) string {
	var b strings.Builder
	b.WriteString("foundry: a build tool for work done by coding agents\n\n")
	b.WriteString("usage: foundry [flags] COMMAND [arguments]\n\ncommands:\n")
	var rows [][2]string
	for _, v := range verbs {
		if !v.Hidden {
			rows = append(rows, [2]string{strings.TrimSpace(v.Name + " " + v.ArgsUsage), v.Usage})
		}
	}
	writeRows(&b, append(rows, [2]string{"help COMMAND", "the flags and examples of a command"}))
	b.WriteString("\nflags (before or after the command; `--` ends them):\n")
	writeRows(&b, append(flagRows(globals), [2]string{"-h, --help", "show this help, or that of a command"}, [2]string{"--version", "the same as the command version"}))
	b.WriteString("\nexit codes:\n")
	writeRows(&b, exitRows(Done, Refused, Usage, Failed, Parked, OverBudget, Interrupted))
	b.WriteString("\nThe pipeline file is foundry.yaml (or foundry.yml), found by walking up to the root of the repository.\n")
	return b.String()
}

// verbHelp is what `foundry VERB --help` shows.
func verbHelp(v verb, globals []cli.Flag) string {
	var b strings.Builder
	fmt.Fprintf(&b, "foundry %s: %s\n\n", v.Name, v.Usage)
	usage := "usage: foundry " + v.Name
	if len(v.Flags) > 0 {
		usage += " [flags]"
	}
	b.WriteString(strings.TrimRight(usage+" "+v.ArgsUsage, " ") + "\n")
	if v.Description != "" {
		b.WriteString("\n" + report.Paragraphs(strings.TrimSpace(v.Description)) + "\n")
	}
	if len(v.Flags) > 0 {
		b.WriteString("\nflags:\n")
		writeRows(&b, flagRows(v.Flags))
	}
	b.WriteString("\nglobal flags:\n")
	writeRows(&b, flagRows(globals, v.Flags...))
	if len(v.examples) > 0 {
		b.WriteString("\nexamples:\n")
		var rows [][2]string
		for _, e := range v.examples {
			rows = append(rows, [2]string{e.line, e.what})
		}
		writeRows(&b, rows)
	}
	b.WriteString("\nexit codes:\n")
	writeRows(&b, exitRows(append([]Exit{Done, Usage}, v.exits...)...))
	return b.String()
}

// exitRows are rows of the table of exit codes, in its order whatever the order of which.
func exitRows(which ...Exit) [][2]string {
	var rows [][2]string
	for e := Done; int(e) < len(exits); e++ {
		for _, w := range which {
			if w == e {
				rows = append(rows, [2]string{fmt.Sprint(e.Code()), exits[e].meaning})
				break
			}
		}
	}
	return rows
}

// flagRows shows each flag with its names, the word for its value, and its default where one was set. Names that
// are those of nearer flags are left out: they are not reached.
func flagRows(flags []cli.Flag, nearer ...cli.Flag) [][2]string {
	var rows [][2]string
	taken := tableOf(nearer)
	for _, f := range flags {
		d, ok := f.(cli.DocGenerationFlag)
		if !ok {
			continue
		}
		if v, ok := f.(cli.VisibleFlag); ok && !v.IsVisible() {
			continue
		}
		var names []string
		for _, n := range f.Names() {
			if taken[dashed(n)] != nil {
				continue
			}
			if len(n) == 1 {
				names = append([]string{dashed(n)}, names...)
			} else {
				names = append(names, dashed(n))
			}
		}
		value, usage := valueWord(d.GetUsage())
		head := strings.Join(names, ", ")
		if d.TakesValue() && value != "" {
			head += " " + value
		}
		rows = append(rows, [2]string{head, usage})
	}
	return rows
}

// valueWord takes the word for a flag's value out of its usage text, where it stands in backquotes. A
// parenthesis that holds nothing else is dropped with it.
func valueWord(usage string) (word, rest string) {
	before, after, ok := strings.Cut(usage, "`")
	if !ok {
		return "", usage
	}
	word, after, ok = strings.Cut(after, "`")
	if !ok {
		return "", usage
	}
	if strings.HasSuffix(before, " (") && strings.HasPrefix(after, ")") {
		return word, strings.TrimSuffix(before, " (") + after[1:]
	}
	return word, before + word + after
}

// writeRows sets rows in two columns. A long left column gets a line of its own.
func writeRows(b *strings.Builder, rows [][2]string) {
	width := 0
	for _, r := range rows {
		if len(r[0]) <= 34 {
			width = max(width, len(r[0]))
		}
	}
	for _, r := range rows {
		if r[1] == "" {
			fmt.Fprintf(b, "  %s\n", r[0])
			continue
		}
		if len(r[0]) > 34 {
			fmt.Fprintf(b, "  %s\n  %-*s  %s\n", r[0], width, "", r[1])
			continue
		}
		fmt.Fprintf(b, "  %-*s  %s\n", width, r[0], r[1])
	}
}

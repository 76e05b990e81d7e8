package cli

import (
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"foundry/diag"
)

// This file puts a command line into the one order that urfave/cli reads: global flags, the verb, its
// flags, "--", arguments. So flags may stand after arguments, global flags may stand after the verb, and an
// argument after "--" is never taken for a flag. Unknown verbs and flags are found here too, where a
// suggestion can be made; what is left for urfave/cli is to convert the values.

// commandLine is a command line in order.
type commandLine struct {
	verb *verb // nil when none was named
	help bool  // -h or --help, or the verb help
	args []string
}

// flagTable finds a flag by its name with dashes: "--format", "-f".
type flagTable map[string]cli.Flag

func tableOf(flags []cli.Flag) flagTable {
	t := flagTable{}
	for _, f := range flags {
		for _, name := range f.Names() {
			t[dashed(name)] = f
		}
	}
	return t
}

func dashed(name string) string {
	if len(name) == 1 {
		return "-" + name
	}
	return "--" + name
}

func takesValue(f cli.Flag) bool {
	d, ok := f.(cli.DocGenerationFlag)
	return ok && d.TakesValue()
}

// arranger is the state of one arrange.
type arranger struct {
	globals, own         flagTable
	globalArgs, ownFlags []string
	operands             []string
	line                 commandLine
}

// arrange orders args, which do not hold the program's name. find returns the command of a name.
func arrange(args []string, globals []cli.Flag, find func(name string) (*verb, error)) (commandLine, error) {
	a := &arranger{globals: tableOf(globals), own: flagTable{}}
	for i := 0; i < len(args); i++ {
		arg := args[i]
		switch {
		case arg == "--":
			a.operands = append(a.operands, args[i+1:]...)
			i = len(args)
		case arg == "--version" && a.line.verb == nil:
			v, err := find("version")
			if err != nil {
				return a.line, err
			}
			a.line.verb, a.own = v, tableOf(v.Flags)
		case len(arg) > 1 && arg[0] == '-':
			n, err := a.flag(arg, args[i+1:])
			if err != nil {
				return a.line, err
			}
			i += n
		case a.line.verb == nil:
			if arg == "help" && !a.line.help {
				a.line.help = true
				continue
			}
			v, err := find(arg)
			if err != nil {
				return a.line, err
			}
			a.line.verb, a.own = v, tableOf(v.Flags)
		default:
			a.operands = append(a.operands, arg)
		}
	}
	a.line.args = a.globalArgs
	if v := a.line.verb; v != nil {
		a.line.args = append(append(append(a.line.args, v.Name), a.ownFlags...), "--")
		a.line.args = append(a.line.args, a.operands...)
	}
	return a.line, nil
}

// flag takes one word that begins with a dash and says how many of the words after it belong to it.
func (a *arranger) flag(arg string, rest []string) (int, error) {
	name, value, attached := strings.Cut(arg, "=")
	if name == "-h" || name == "--help" {
		a.line.help = true
		return 0, nil
	}
	f, known := a.lookup(name)
	if !known && len(name) > 2 && name[1] != '-' {
		return a.shorts(arg, rest)
	}
	if !known {
		return 0, a.unknown(name)
	}
	if attached || !takesValue(f) {
		word := name
		if attached {
			word = name + "=" + value
		}
		a.put(name, word)
		return 0, nil
	}
	if len(rest) == 0 || rest[0] == "--" {
		return 0, badUsage("flag %s needs a value", name)
	}
	a.put(name, name+"="+rest[0])
	return 1, nil
}

// shorts takes several one-letter flags in one word (-qv), the last of which may carry its value (-j4).
func (a *arranger) shorts(arg string, rest []string) (int, error) {
	whole, _, _ := strings.Cut(arg, "=")
	if _, long := a.lookup("-" + whole); long { // -json is a long flag with a dash missing
		return 0, a.unknown(whole)
	}
	for i, letter := range arg[1:] {
		name := "-" + string(letter)
		if name == "-h" {
			a.line.help = true
			continue
		}
		f, known := a.lookup(name)
		if !known {
			return 0, a.unknown(whole)
		}
		if !takesValue(f) {
			a.put(name, name)
			continue
		}
		if after := arg[1+i+len(string(letter)):]; after != "" {
			a.put(name, name+"="+strings.TrimPrefix(after, "="))
			return 0, nil
		}
		return a.flag(name, rest)
	}
	return 0, nil
}

// lookup prefers the verb's flag to a global one of the same name.
func (a *arranger) lookup(name string) (cli.Flag, bool) {
	if f, ok := a.own[name]; ok {
		return f, true
	}
	f, ok := a.globals[name]
	return f, ok
}

func (a *arranger) put(name, word string) {
	if _, ok := a.own[name]; ok {
		a.ownFlags = append(a.ownFlags, word)
		return
	}
	a.globalArgs = append(a.globalArgs, word)
}

func (a *arranger) unknown(name string) error {
	var known []string
	for n := range a.own {
		known = append(known, n)
	}
	for n := range a.globals {
		known = append(known, n)
	}
	p := badUsage("unknown flag %s", name)
	if a.line.verb != nil {
		p = badUsage("unknown flag %s for %q", name, a.line.verb.Name)
	}
	if like := near("--"+strings.TrimLeft(name, "-"), append(known, "--help")); like != "" {
		return p.hintf("did you mean %s?", like)
	}
	if a.line.verb != nil {
		return p.hintf("`foundry %s --help` lists the flags", a.line.verb.Name)
	}
	return p.hintf("`foundry --help` lists the flags; those of a command stand after it")
}

// hintNear adds the hint for a word that is none of the known ones: the nearest, else another hint.
func (p *problem) hintNear(word string, known []string, other string, args ...any) *problem {
	if like := near(word, slices.Clone(known)); like != "" {
		return p.hintf("did you mean %s?", like)
	}
	return p.hintf(other, args...)
}

// near is what someone who typed word most likely meant, whatever the order of the candidates; "" when none
// of them is near.
func near(word string, candidates []string) string {
	slices.Sort(candidates)
	return diag.Suggest(word, candidates)
}

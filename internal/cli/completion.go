package cli

import (
	"sort"
	"strings"

	"github.com/urfave/cli/v2"
)

// This file completes command lines. The shells get a small script each that asks the program for the
// candidates; the program reads names only and never compiles a pipeline.

const bashCompletion = `# bash completion for foundry; load it with: source <(foundry completion bash)
_foundry() {
    local line
    COMPREPLY=()
    while IFS=$'\t' read -r line _; do
        COMPREPLY+=("$line")
    done < <("$1" __complete -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -o default -F _foundry foundry
`

const zshCompletion = `#compdef foundry
# zsh completion for foundry; load it with: source <(foundry completion zsh)
_foundry() {
    local -a found
    local name about
    while IFS=$'\t' read -r name about; do
        found+=("${name//:/\\:}:$about")
    done < <("${words[1]}" __complete -- "${(@)words[2,CURRENT]}" 2>/dev/null)
    if (( ${#found} )); then
        _describe foundry found
    else
        _files
    fi
}
compdef _foundry foundry
`

const fishCompletion = `# fish completion for foundry; load it with: foundry completion fish | source
function __foundry_complete
    set -l words (commandline -opc) (commandline -ct)
    set -l found ($words[1] __complete -- $words[2..-1] 2>/dev/null)
    if set -q found[1]
        printf '%s\n' $found
    else
        __fish_complete_path (commandline -ct)
    end
end
complete -c foundry -f -a '(__foundry_complete)'
`

func completionVerb(s *session) verb {
	scripts := map[string]string{"bash": bashCompletion, "zsh": zshCompletion, "fish": fishCompletion}
	return verb{
		Command: &cli.Command{
			Name:      "completion",
			Usage:     "print the completion script of a shell",
			ArgsUsage: "bash|zsh|fish",
			Action: func(c *cli.Context) error {
				if err := atMost(c, 1); err != nil {
					return err
				}
				shell := c.Args().First()
				if shell == "" {
					return badUsage("completion: which shell?").hintf("foundry completion bash, zsh or fish")
				}
				script, ok := scripts[shell]
				if !ok {
					return badUsage("completion: no script for %q", shell).hintf("there are bash, zsh and fish")
				}
				return s.print(script)
			},
		},
		operands: func(*session) []candidate { return words("bash", "zsh", "fish") },
		examples: []example{
			{"source <(foundry completion bash)", "in ~/.bashrc"},
			{"source <(foundry completion zsh)", "in ~/.zshrc, after compinit"},
			{"foundry completion fish | source", "in ~/.config/fish/config.fish"},
		},
	}
}

// candidate is one word that may stand at the cursor, with what it is.
type candidate struct{ word, about string }

// words are candidates that need no explanation.
func words(list ...string) []candidate {
	out := make([]candidate, len(list))
	for i, w := range list {
		out[i].word = w
	}
	return out
}

// completeName is the hidden command that the shells' scripts call.
const completeName = "__complete"

// completeVerb answers the shells' scripts: its arguments are the words of the command line after the
// program's name, the last of them the one at the cursor. It never fails and says nothing else.
func completeVerb(s *session) verb {
	return verb{Command: &cli.Command{
		Name: completeName, Hidden: true,
		Action: func(c *cli.Context) error {
			var b strings.Builder
			for _, found := range s.complete(c.Args().Slice()) {
				b.WriteString(found.word)
				if found.about != "" {
					b.WriteString("\t" + strings.ReplaceAll(found.about, "\n", " "))
				}
				b.WriteString("\n")
			}
			return s.print(b.String())
		},
	}}
}

// complete finds the candidates for the last word. Words before it that cannot be read are passed over.
func (s *session) complete(line []string) []candidate {
	if len(line) == 0 {
		line = []string{""}
	}
	line = joinEquals(line)
	before, word := line[:len(line)-1], line[len(line)-1]
	globals, verbs := globalFlags(), allVerbs(s)
	known := tableOf(globals)
	var at *verb
	var expects cli.Flag // a flag whose value is the next word
	var operands []string
	for _, w := range before {
		switch {
		case expects != nil:
			s.takeGlobal(expects, w)
			expects = nil
		case w == "--":
			known = flagTable{}
		case strings.HasPrefix(w, "-"):
			name, value, attached := strings.Cut(w, "=")
			f, ok := known[name]
			if ok && takesValue(f) && !attached {
				expects = f
			} else if ok {
				s.takeGlobal(f, value)
			}
		case at == nil:
			if v, err := s.findVerb(w); err == nil {
				at = v
				for name, f := range tableOf(v.Flags) {
					known[name] = f
				}
			}
		default:
			operands = append(operands, w)
		}
	}
	return matching(word, s.candidates(word, at, operands, expects, known, verbs))
}

// candidates are all words that may stand where word stands.
func (s *session) candidates(word string, at *verb, operands []string, expects cli.Flag, known flagTable, verbs []verb) []candidate {
	name, _, attached := strings.Cut(word, "=")
	switch {
	case expects != nil:
		return s.valuesOf(at, operands, expects)
	case attached && known[name] != nil:
		found := s.valuesOf(at, operands, known[name])
		for i := range found {
			found[i].word = name + "=" + found[i].word
		}
		return found
	case strings.HasPrefix(word, "-"):
		var found []candidate
		for name, f := range known {
			if v, ok := f.(cli.VisibleFlag); ok && !v.IsVisible() {
				continue
			}
			if len(name) > 2 || len(f.Names()) == 1 {
				_, usage := valueWord(f.(cli.DocGenerationFlag).GetUsage())
				found = append(found, candidate{name, usage})
			}
		}
		found = append(found, candidate{"--help", "show the help of it"})
		sort.Slice(found, func(i, j int) bool { return found[i].word < found[j].word })
		return found
	case at != nil && len(operands) == 0 && at.operands != nil:
		return at.operands(s)
	case at != nil && len(operands) == 1 && at.phases != nil && at.Name != "up" && at.Name != "resume":
		return at.phases(s, operands[0])
	case at != nil:
		return nil
	}
	found := make([]candidate, 0, len(verbs)+1)
	for _, v := range verbs {
		if !v.Hidden {
			found = append(found, candidate{v.Name, v.Usage})
		}
	}
	return append(found, candidate{"help", "the flags and examples of a command"})
}

// valuesOf are the words that a flag takes, when they are known.
func (s *session) valuesOf(v *verb, operands []string, f cli.Flag) []candidate {
	name := f.Names()[0]
	switch {
	case name == "color":
		return words("auto", "always", "never")
	case v == nil:
		return nil
	case v.phases != nil && (name == "from" || name == "until"):
		first := ""
		if len(operands) > 0 {
			first = operands[0]
		}
		return v.phases(s, first)
	}
	return words(v.values[name]...)
}

// takeGlobal follows -C and -f, which decide whose names are offered.
func (s *session) takeGlobal(f cli.Flag, value string) {
	switch f.Names()[0] {
	case "C":
		s.dir = s.path(value)
	case "file":
		s.file = value
	}
}

// joinEquals undoes what bash does to --flag=value: three words, or two when the value is still empty.
func joinEquals(line []string) []string {
	out := line[:0:0]
	for i := 0; i < len(line); i++ {
		last := i == len(line)-1
		if line[i] == "=" && len(out) > 0 && strings.HasPrefix(out[len(out)-1], "--") {
			if last {
				return append(out, "")
			}
			if i+1 == len(line)-1 {
				return append(out, line[i+1])
			}
			out[len(out)-1] += "=" + line[i+1]
			i++
			continue
		}
		out = append(out, line[i])
	}
	return out
}

func matching(prefix string, found []candidate) []candidate {
	out := found[:0:0]
	for _, c := range found {
		if strings.HasPrefix(c.word, prefix) {
			out = append(out, c)
		}
	}
	return out
}

package drive

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"foundry/graph"
	"foundry/runner"
)

// Preflight looks, before a token is spent, for what would keep a run from being carried out: parameters, the
// request, programs, harnesses, limits. It starts nothing. root is the directory that relative programs are
// looked for in.
func Preflight(g *graph.Graph, info runner.RunInfo, root string) Problems {
	var out Problems
	add := func(fix, format string, args ...any) {
		out = append(out, Problem{Text: fmt.Sprintf(format, args...), Fix: fix})
	}
	if g.NeedRequest && strings.TrimSpace(info.Request) == "" {
		add(fmt.Sprintf("foundry up %s \"what is to be done\"", g.Pipeline), "pipeline %s needs a request", g.Pipeline)
	}
	if g.NoRequest && info.Request != "" {
		add("foundry up "+g.Pipeline, "pipeline %s takes no request", g.Pipeline)
	}
	for _, name := range []string{info.From, info.Until} {
		id, ok := g.Lookup(name)
		switch {
		case name == "":
		case !ok:
			fix := "foundry graph " + g.Pipeline
			if near := g.Near(name); near != "" {
				fix = "did you mean " + near + "?"
			}
			add(fix, "pipeline %s has no phase %q", g.Pipeline, name)
		case g.Phases[id].Owner >= 0:
			call, _, _ := strings.Cut(name, "/")
			add("name "+call, "%s is a phase of the call %s, which runs as a whole", name, call)
		}
	}
	from, first := g.Lookup(info.From)
	until, last := g.Lookup(info.Until)
	if first && last && info.From != "" && info.Until != "" && from != until && !g.Phases[until].Before.Has(from) {
		add("foundry graph "+g.Pipeline, "nothing lies from %s until %s", info.From, info.Until)
	}
	g = g.Sampled()
	out = append(out, agentProblems(g, root, info.File)...)
	seen := map[string]bool{}
	for i := range g.Phases {
		ph := &g.Phases[i]
		if ph.Kind == graph.Code {
			out = append(out, programProblem(ph.Script, filepath.Join(root, ph.Dir), ph.Span.Position().Line, seen)...)
		}
		for _, gate := range ph.Gates {
			if gate.Command != nil {
				out = append(out, programProblem(gate.Command.Script, filepath.Join(root, gate.Command.Dir), ph.Span.Position().Line, seen)...)
			}
		}
	}
	for i := range g.After {
		cmd := &g.After[i].Command
		out = append(out, programProblem(cmd.Script, filepath.Join(root, cmd.Dir), g.After[i].Span.Position().Line, seen)...)
	}
	return out
}

// programProblem says when the program of an argv, or the first word of a plain shell text, is not there.
// Text that only a shell can read is left to the shell.
func programProblem(s graph.Script, dir string, line int, seen map[string]bool) Problems {
	word := ""
	if len(s.Argv) > 0 {
		word, _ = s.Argv[0].Literal()
	} else if first, _, _ := strings.Cut(strings.TrimSpace(s.Shell), " "); !strings.ContainsAny(first, "=$`'\"(){}[]<>|&;*?!~#\\\n") {
		word = first
	}
	if word == "" || seen[dir+"\x00"+word] || shellWord(word) {
		return nil
	}
	seen[dir+"\x00"+word] = true
	if strings.Contains(word, "/") {
		path := word
		if !filepath.IsAbs(path) {
			path = filepath.Join(dir, path)
		}
		info, err := os.Stat(path)
		switch {
		case err != nil:
			return Problems{{Text: fmt.Sprintf("line %d: %s is not there", line, word), Fix: "make the file, or change the command"}}
		case info.Mode()&0o111 == 0:
			return Problems{{Text: fmt.Sprintf("line %d: %s is not executable", line, word), Fix: "chmod +x " + word}}
		}
		return nil
	}
	if _, err := exec.LookPath(word); err != nil {
		return Problems{{Text: fmt.Sprintf("line %d: program %q is not in PATH", line, word), Fix: "install it, or change the command"}}
	}
	return nil
}

// shellWord says whether a first word is the shell's own.
func shellWord(w string) bool {
	switch w {
	case "test", "[", ":", ".", "cd", "echo", "exit", "export", "set", "unset", "eval", "exec", "if", "for", "while", "until", "case", "trap", "true", "false",
		"printf", "read", "source", "ulimit", "umask", "wait", "command", "type", "!", "{":
		return true
	}
	return false
}

package cli

import (
	"strings"

	"foundry/internal/harness"
)

// This file says what a harness is: what it starts, what it can do and what not.

// harnessPrefix marks the name of a harness among those that explain takes.
const harnessPrefix = "harness/"

func explainHarness(info harness.Info) string {
	var b strings.Builder
	b.WriteString("harness " + info.Name + "\n\n" + info.Summary + "\n\n")
	var rows [][2]string
	add := func(name, text string) {
		if text != "" {
			rows = append(rows, [2]string{name, text})
		}
	}
	argv, env := info.Command()
	add("starts", shellWords(argv))
	add("with", strings.Join(env, " "))
	reading, asking, writing := info.Modes()
	add("read-only mode", reading)
	add("writing mode", asking)
	if writing != asking {
		add("unasked mode", writing+", when nobody answers its requests")
	}
	add("install", info.Install)
	add("login", info.Login)
	can, cannot := []string{}, []string{}
	for _, ability := range []struct {
		has  bool
		what string
	}{
		{info.Remembers, "remember a conversation"}, {info.Resumes, "go on with it in a new process"}, {info.Permits, "ask for permission"},
		{!info.Silent, "tell tokens"}, {info.ReportsCost, "tell cost"}, {info.Effort, "`effort`"}, {info.KeepsTools, "`tools`"},
	} {
		if ability.has {
			can = append(can, ability.what)
		} else {
			cannot = append(cannot, ability.what)
		}
	}
	add("can", strings.Join(can, ", "))
	add("cannot", strings.Join(cannot, ", "))
	for _, lack := range info.Lacks {
		add("note", lack)
	}
	writeRows(&b, rows)
	if info.Program != "" {
		b.WriteString("\nAn agent's `argv` names the program where it is not on PATH; the arguments come behind it.\n")
	}
	return b.String()
}

// shellWords is an argv as one would type it.
func shellWords(argv []string) string {
	out := make([]string, len(argv))
	for i, a := range argv {
		out[i] = a
		if a == "" || strings.ContainsAny(a, " \t\n\"'$&;|<>(){}*?~#\\") {
			out[i] = "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
		}
	}
	return strings.Join(out, " ")
}

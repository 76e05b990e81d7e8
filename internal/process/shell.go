package process

import "strings"

// Starting a shell costs as much again as starting the program. A command text that is words and nothing
// else means the same with and without a shell, so it is executed directly. Whatever could mean anything
// more goes to the shell: this file must never be clever.

// Words splits a shell text into program and arguments when a shell would do nothing else with it. The
// second result is false when the text needs a shell.
func Words(text string) ([]string, bool) {
	text = strings.Trim(text, " \t\n")
	for i := 0; i < len(text); i++ {
		if !plain(text[i]) {
			return nil, false
		}
	}
	words := strings.FieldsFunc(text, func(r rune) bool { return r == ' ' || r == '\t' })
	if len(words) == 0 || strings.Contains(words[0], "=") || shellWord(words[0]) && !(len(words) == 1 && alsoProgram(words[0])) {
		return nil, false
	}
	return words, true
}

// plain reports whether a byte has no meaning to a shell wherever it stands. "~" expands, "=" is looked at
// by Words, and bytes above ASCII are left to the shell's locale.
func plain(c byte) bool {
	switch {
	case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		return true
	}
	return strings.IndexByte(" \t_-./:,@%+=", c) >= 0
}

// alsoProgram reports whether a builtin is a program as well, which does the same as long as it has no arguments: nothing.
// Where there is no such program the shell still knows it.
func alsoProgram(w string) bool { return w == "true" || w == "false" }

// shellWord reports whether a first word is a keyword or a builtin of the shells that are /bin/sh somewhere.
func shellWord(w string) bool {
	switch w {
	case ".", ":", "alias", "bg", "bind", "break", "builtin", "caller", "case", "cd", "command", "compgen", "complete",
		"continue", "coproc", "declare", "dirs", "disown", "do", "done", "echo", "elif", "else", "enable", "esac", "eval",
		"exec", "exit", "export", "false", "fc", "fg", "fi", "for", "function", "getopts", "hash", "help", "history", "if",
		"in", "jobs", "kill", "let", "local", "logout", "mapfile", "popd", "print", "printf", "pushd", "pwd", "read",
		"readarray", "readonly", "return", "select", "set", "shift", "shopt", "source", "suspend", "test", "then", "time",
		"times", "trap", "true", "type", "typeset", "ulimit", "umask", "unalias", "unset", "until", "wait", "whence", "while":
		return true
	}
	return false
}

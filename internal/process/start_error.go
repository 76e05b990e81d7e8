package process

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// A program that cannot be started is never the fault of the work that was checked. This file tells the
// causes apart, since the system answers "no such file or directory" to three different questions.

// StartFailure is why a program could not be started.
type StartFailure uint8

// The causes; the zero StartFailure is invalid.
const (
	CommandNotFound    StartFailure = iota + 1
	InterpreterMissing              // the program is there, what its first line or its format names is not
	DirectoryGone                   // the working directory does not exist or is no directory
	NoPermission                    // not executable, or on a file system mounted noexec
	NoResources                     // too many open files or processes, or no memory
	LogUnwritable                   // the log file could not be opened
	NotConfined                     // the kernel did not take over what it may write
	OtherStartFailure
)

// StartError says what could not be started, and why.
type StartError struct {
	Failure StartFailure
	Program string // as the Spec has it
	Detail  string // the directory, the interpreter or the log; may be empty
	Err     error  // what the system said
}

// Error returns a sentence that says what was attempted.
func (e *StartError) Error() string {
	switch e.Failure {
	case CommandNotFound:
		return "cannot start " + quote(e.Program) + ": command not found"
	case InterpreterMissing:
		if e.Detail != "" {
			return "cannot start " + quote(e.Program) + ": its interpreter " + quote(e.Detail) + " does not exist"
		}
		return "cannot start " + quote(e.Program) + ": its interpreter or loader does not exist"
	case DirectoryGone:
		return "cannot start " + quote(e.Program) + ": the directory " + quote(e.Detail) + " does not exist"
	case NoPermission:
		return "cannot start " + quote(e.Program) + ": permission denied (not executable, or the file system forbids it)"
	case NoResources:
		return "cannot start " + quote(e.Program) + ": " + e.Err.Error()
	case LogUnwritable:
		return "cannot start " + quote(e.Program) + ": its log " + quote(e.Detail) + " cannot be written: " + e.Err.Error()
	case NotConfined:
		return "cannot start " + quote(e.Program) + " in its sandbox: " + e.Err.Error()
	}
	return "cannot start " + quote(e.Program) + ": " + e.Err.Error()
}

// Unwrap returns what the system said.
func (e *StartError) Unwrap() error { return e.Err }

func quote(s string) string { return `"` + s + `"` }

// classify finds the cause of a failed start. path is where the program was found, and empty when it was not.
func classify(program, path, dir string, err error) *StartError {
	e := &StartError{Failure: OtherStartFailure, Program: program, Err: err}
	var known *StartError
	if errors.As(err, &known) {
		return known
	}
	if dir != "" {
		if st, derr := os.Stat(dir); derr != nil || !st.IsDir() {
			e.Failure, e.Detail = DirectoryGone, dir
			return e
		}
	}
	switch {
	case outOfResources(err):
		e.Failure = NoResources
	case errors.Is(err, fs.ErrNotExist):
		e.Failure = CommandNotFound
		if path == "" {
			break
		}
		if !filepath.IsAbs(path) {
			path = filepath.Join(dir, path)
		}
		if st, serr := os.Stat(path); serr == nil && !st.IsDir() {
			e.Failure, e.Detail = InterpreterMissing, interpreter(path)
		}
	case errors.Is(err, fs.ErrPermission):
		e.Failure = NoPermission
	}
	return e
}

// interpreter returns the program that the first line of a script names, or "".
func interpreter(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	b := make([]byte, 256)
	n, _ := f.Read(b)
	line, _, _ := strings.Cut(string(b[:n]), "\n")
	rest, ok := strings.CutPrefix(line, "#!")
	if !ok {
		return ""
	}
	fields := strings.Fields(rest)
	if len(fields) == 0 {
		return ""
	}
	if strings.HasSuffix(rest, "\r") && len(fields) == 1 {
		return fields[0] + `\r` // a script with CRLF line ends names a program that ends in a carriage return
	}
	return fields[0]
}

package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/urfave/cli/v2"
)

// buildInfo says which program this is, from what the Go toolchain wrote into it.
type buildInfo struct {
	Version  string `json:"version"`  // of the module, or devel
	Commit   string `json:"commit"`   // "" when it was built outside a checkout
	Modified bool   `json:"modified"` // the checkout had uncommitted changes
	Go       string `json:"go"`
	OS       string `json:"os"`
	Arch     string `json:"arch"`
}

func readBuildInfo() buildInfo {
	b := buildInfo{Version: "devel", Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		b.Version = strings.TrimPrefix(v, "v")
	}
	for _, setting := range info.Settings {
		switch setting.Key {
		case "vcs.revision":
			b.Commit = setting.Value
		case "vcs.modified":
			b.Modified = setting.Value == "true"
		}
	}
	return b
}

func (b buildInfo) String() string {
	text := "foundry " + b.Version
	if b.Commit != "" {
		text += " (commit " + b.Commit[:min(12, len(b.Commit))]
		if b.Modified {
			text += ", with uncommitted changes"
		}
		text += ")"
	}
	return fmt.Sprintf("%s, %s, %s/%s", text, b.Go, b.OS, b.Arch)
}

// versionText is the version as a run records it.
func versionText() string { return readBuildInfo().Version }

func versionVerb(s *session) verb {
	return verb{
		Command: &cli.Command{
			Name:  "version",
			Usage: "print the version, the commit and the Go version",
			Flags: []cli.Flag{jsonFlag()},
			Action: func(c *cli.Context) error {
				if err := noArguments(c); err != nil {
					return err
				}
				if c.Bool("json") {
					return s.printJSON(readBuildInfo())
				}
				return s.print(readBuildInfo().String() + "\n")
			},
		},
		examples: []example{{"foundry version --json", "the same for a script"}},
	}
}

// jsonFlag is the --json of the verbs that have one.
func jsonFlag() cli.Flag {
	return &cli.BoolFlag{Name: "json", Usage: "print one JSON document and nothing else"}
}

// printJSON writes a result as one indented JSON document.
func (s *session) printJSON(v any) error { return s.print(string(encodeJSON(v))) }

// encodeJSON is a value as one indented JSON document that ends with a line break.
func encodeJSON(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		panic("BUG: a result does not encode: " + err.Error())
	}
	return b.Bytes()
}

// noArguments refuses arguments that a verb does not take.
func noArguments(c *cli.Context) error { return atMost(c, 0) }

// atMost refuses more arguments than a verb takes.
func atMost(c *cli.Context, n int) error {
	if c.NArg() <= n {
		return nil
	}
	return badUsage("%s: unexpected argument %q", c.Command.Name, c.Args().Get(n)).
		hintf("`foundry %s --help` shows what the command takes", c.Command.Name)
}

package harness

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"foundry/internal/process"
)

// TestConfined: whatever starts a process for an agent starts it in the sandbox of the turn.
func TestConfined(t *testing.T) {
	t.Parallel()
	if err := process.CanConfine(); err != nil {
		t.Skip("programs cannot be confined here: ", err)
	}
	const try = `if (echo x >"$OUT/file") 2>/dev/null; then echo got through; else echo x >"$IN/file" && echo refused; fi`
	for name, talk := range map[string]func(c Config, turn Turn) string{
		"command": func(c Config, turn Turn) string {
			c.Argv = []string{"/bin/sh", "-c", try}
			s, err := command{}.Open(context.Background(), c)
			if err != nil {
				t.Fatal(err)
			}
			return s.Turn(context.Background(), turn, nil).Text
		},
		"script": func(c Config, turn Turn) string {
			c.Script = []ScriptTurn{{Run: try + `; test -e "$IN/file"`, Reply: "refused\n"}}
			s, err := script{}.Open(context.Background(), c)
			if err != nil {
				t.Fatal(err)
			}
			r := s.Turn(context.Background(), turn, nil)
			return r.Text + r.Error
		},
		"a program for the session": func(c Config, turn Turn) string {
			l, err := startLive(c, turn, []string{"/bin/sh", "-c", try}, nil)
			if err != nil {
				t.Fatal(err)
			}
			line, err := l.next(context.Background())
			if err != nil {
				return err.Error()
			}
			l.end(true)
			return string(line) + "\n"
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			top, err := filepath.EvalSymlinks(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			in, out := filepath.Join(top, "in"), filepath.Join(top, "out")
			for _, dir := range []string{in, out} {
				if err := os.Mkdir(dir, 0o777); err != nil {
					t.Fatal(err)
				}
			}
			got := talk(Config{Agent: "tester", Dir: in}, Turn{Dir: in, Number: 1, Own: []string{"IN=" + in, "OUT=" + out}, Confine: &process.Confine{Paths: []string{in, "/dev/null"}}})
			if got != "refused\n" {
				t.Errorf("it says %q", got)
			}
			if _, err := os.Stat(filepath.Join(out, "file")); err == nil {
				t.Error("it got through")
			}
		})
	}
}

func TestPlaces(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		place Place
		env   []string
		want  string
	}{
		{Place{Env: "X", Home: ".x"}, []string{"HOME=/h"}, "/h/.x"},
		{Place{Env: "X", Home: ".x"}, []string{"HOME=/h", "X=/elsewhere/"}, "/elsewhere"},
		{Place{Env: "X", Below: "a/b", Home: ".x"}, []string{"HOME=/h", "X=/e"}, "/e/a/b"},
		{Place{Env: "X", Home: ".x"}, []string{"HOME=/h", "X="}, "/h/.x"},
		{Place{Env: "GOCACHE"}, []string{"HOME=/h", "GOCACHE=off"}, ""},
		{Place{Env: "GOCACHE"}, []string{"HOME=/h"}, ""},
		{Place{Home: ".x"}, nil, ""},
		{Place{Home: ".x"}, []string{"HOME=h"}, ""},
	} {
		if got := tc.place.In(tc.env); got != tc.want {
			t.Errorf("%+v in %q is %q, want %q", tc.place, tc.env, got, tc.want)
		}
	}
}

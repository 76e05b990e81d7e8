package cli

import (
	"strings"
	"testing"

	"github.com/urfave/cli/v2"

	"foundry/internal/report"
)

// finder finds one of the given commands.
func finder(verbs []verb) func(string) (*verb, error) {
	return func(name string) (*verb, error) {
		for i := range verbs {
			if verbs[i].Name == name {
				return &verbs[i], nil
			}
		}
		return nil, badUsage("unknown command %q", name)
	}
}

func TestArrange(t *testing.T) {
	t.Parallel()
	verbs := []verb{
		{Command: &cli.Command{Name: "logs", Flags: []cli.Flag{
			&cli.BoolFlag{Name: "follow", Aliases: []string{"f"}},
			&cli.IntFlag{Name: "jobs", Aliases: []string{"j"}},
			&cli.StringFlag{Name: "format"},
		}}},
		{Command: &cli.Command{Name: "show"}},
	}
	for _, tt := range []struct{ in, want, err string }{
		{in: "logs last", want: "logs -- last"},
		{in: "logs last --format json", want: "logs --format=json -- last"},
		{in: "logs last --format=json x", want: "logs --format=json -- last x"},
		{in: "-q logs -v", want: "-q -v logs --"},
		{in: "logs -C dir last", want: "-C=dir logs -- last"},
		{in: "show -f other.yaml", want: "-f=other.yaml show --"},
		{in: "logs last -f", want: "logs -f -- last"}, // the verb's own flag wins
		{in: "-f x.yaml logs -f", want: "-f=x.yaml logs -f --"},
		{in: "logs -fq last", want: "-q logs -f -- last"},
		{in: "logs -j4 last", want: "logs -j=4 -- last"},
		{in: "logs -fj 4 last", want: "logs -f -j=4 -- last"},
		{in: "logs -j=4", want: "logs -j=4 --"},
		{in: "logs --format -x", want: "logs --format=-x --"},
		{in: "logs -- --format -q", want: "logs -- --format -q"},
		{in: "logs -", want: "logs -- -"},
		{in: "logs --format --", err: "flag --format needs a value"},
		{in: "logs --format", err: "flag --format needs a value"},
		{in: "logs --fornat x", err: `unknown flag --fornat for "logs"`},
		{in: "logs -format x", err: `unknown flag -format for "logs"`},
		{in: "logs -x", err: `unknown flag -x for "logs"`},
		{in: "-j4 logs", err: "unknown flag -j4"},
		{in: "log", err: `unknown command "log"`},
	} {
		line, err := arrange(strings.Fields(tt.in), globalFlags(), finder(verbs))
		switch {
		case tt.err != "" && (err == nil || err.Error() != tt.err):
			t.Errorf("%q: error %v, want %q", tt.in, err, tt.err)
		case tt.err == "" && err != nil:
			t.Errorf("%q: %v", tt.in, err)
		case tt.err == "" && strings.Join(line.args, " ") != tt.want:
			t.Errorf("%q: %q, want %q", tt.in, strings.Join(line.args, " "), tt.want)
		}
	}
}

func TestArrangeHelp(t *testing.T) {
	t.Parallel()
	verbs := []verb{{Command: &cli.Command{Name: "logs", Flags: []cli.Flag{&cli.StringFlag{Name: "note", Aliases: []string{"m"}}}}}}
	for _, tt := range []struct {
		in   string
		help bool
		verb string
	}{
		{"--help", true, ""}, {"help", true, ""}, {"help logs", true, "logs"}, {"logs -h", true, "logs"},
		{"-h logs x", true, "logs"}, {"logs -- -h", false, "logs"}, {"logs -m -h", false, "logs"}, {"logs help", false, "logs"},
	} {
		line, err := arrange(strings.Fields(tt.in), globalFlags(), finder(verbs))
		name := ""
		if line.verb != nil {
			name = line.verb.Name
		}
		if err != nil || line.help != tt.help || name != tt.verb {
			t.Errorf("%q: help %v, verb %q, error %v", tt.in, line.help, name, err)
		}
	}
}

func TestExitTable(t *testing.T) {
	t.Parallel()
	want := map[Exit]int{Done: 0, Refused: 1, Usage: 2, Failed: 3, Parked: 4, OverBudget: 5, Interrupted: 130}
	if len(want) != len(exits)-1 {
		t.Fatalf("%d exits are tested, the table has %d", len(want), len(exits)-1)
	}
	for e, code := range want {
		if e.Code() != code {
			t.Errorf("exit %d is %d, want %d", e, e.Code(), code)
		}
	}
}

// TestHelpIsWhole holds every command to the same standard: a line of what it does, and examples.
func TestHelpIsWhole(t *testing.T) {
	t.Parallel()
	for i, v := range allVerbs(&session{}) {
		if name := verbMakers()[i].name; v.Name != name {
			t.Errorf("the command %s is listed as %s", v.Name, name)
		}
		if v.Hidden {
			continue
		}
		if v.Usage == "" || len(v.examples) == 0 {
			t.Errorf("%s: no usage line or no example", v.Name)
		}
		for _, e := range v.examples {
			if !strings.Contains(e.line, "foundry "+v.Name) {
				t.Errorf("%s: the example %q is of another command", v.Name, e.line)
			}
		}
		for _, line := range strings.Split(report.Fit(verbHelp(v, globalFlags()), helpWidth(nil)), "\n") {
			if len(line) > 80 {
				t.Errorf("%s: a line of the help has %d columns: %s", v.Name, len(line), line)
			}
		}
	}
}

// FuzzArrange orders any words: every operand is kept, behind "--", in its order.
func FuzzArrange(f *testing.F) {
	f.Add("lint a -- -b --format c")
	f.Add("-qv -Cdir graph --json x --format=dot -")
	f.Fuzz(func(t *testing.T, in string) {
		s := &session{}
		line, err := arrange(strings.Fields(in), globalFlags(), s.findVerb)
		if err != nil || line.verb == nil {
			return
		}
		for _, arg := range line.args {
			if arg == "--" {
				return
			}
		}
		t.Fatalf("%q became %q, without --", in, line.args)
	})
}

func TestForeignVerbs(t *testing.T) {
	t.Parallel()
	s := &session{}
	for foreign, own := range foreignVerbs {
		if v, err := s.findVerb(own); err != nil || v.Hidden {
			t.Errorf("%s stands for %q, which is no command", foreign, own)
		}
		if _, err := s.findVerb(foreign); err == nil {
			t.Errorf("%s is a command here", foreign)
		}
	}
}

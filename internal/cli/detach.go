package cli

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"time"

	"github.com/urfave/cli/v2"

	"foundry/internal/journal"
)

// detachPatience is how long a detached run may take to open its record.
const detachPatience = 20 * time.Second

// detach starts the same command in the background and prints the run's id once its record is open. What
// keeps it from getting that far is shown here.
func (s *session) detach(c *cli.Context, pl *place) error {
	self, err := selfPath()
	if err != nil {
		return failure(err)
	}
	errs, err := os.CreateTemp("", "foundry-detach-*")
	if err != nil {
		return failure(fmt.Errorf("start in the background: %w", err))
	}
	defer os.Remove(errs.Name())
	defer errs.Close()
	id := journal.NewID(time.Now(), rand.Reader)
	cmd := exec.Command(self, s.detachedArgs(c, id)...)
	cmd.Dir, cmd.Stderr = s.dir, errs
	if args := c.Args().Slice(); c.String("request-file") == "-" || c.String("request") == "-" || len(args) > 0 && args[len(args)-1] == "-" {
		return badUsage("up -d cannot read the request from standard input").hintf("give it with -r or in a file")
	}
	background(cmd)
	if err := cmd.Start(); err != nil {
		return failure(fmt.Errorf("start in the background: %w", err))
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	look := time.NewTicker(10 * time.Millisecond)
	defer look.Stop()
	deadline := time.After(detachPatience)
	for {
		if _, err := os.Stat(pl.store.Dir(id)); err == nil {
			s.note("`foundry logs -f %s` follows it, `foundry show %s` says where it stands", id, id)
			return s.print(id + "\n")
		}
		select {
		case <-look.C:
		case <-ended:
			if _, err := os.Stat(pl.store.Dir(id)); err == nil {
				continue
			}
			text, _ := os.ReadFile(errs.Name())
			s.err.Write(bytes.TrimSpace(text))
			fmt.Fprintln(s.err)
			return failure(fmt.Errorf("the run did not start"))
		case <-deadline:
			return failure(fmt.Errorf("the run did not open its record within %s", detachPatience))
		}
	}
}

// detachedArgs is the command line of the process in the background.
func (s *session) detachedArgs(c *cli.Context, id string) []string {
	args := []string{"up", "--run-id", id, "--no-input", "--output", "json", "--merge", c.String("merge")}
	if c.String("merge") == "" {
		args = args[:len(args)-2]
	}
	if s.file != "" {
		args = append(args, "--file", s.path(s.file))
	}
	for _, name := range []string{"request", "request-file", "agents", "base", "from", "until"} {
		if c.IsSet(name) {
			value := c.String(name)
			if name == "request-file" || name == "agents" {
				value = s.path(value)
			}
			args = append(args, "--"+name, value)
		}
	}
	for _, name := range []string{"no-isolation", "keep-going", "force"} {
		if c.Bool(name) {
			args = append(args, "--"+name)
		}
	}
	if c.IsSet("jobs") {
		args = append(args, "--jobs", strconv.Itoa(c.Int("jobs")))
	}
	for _, name := range []string{"set", "agent"} {
		for _, value := range c.StringSlice(name) {
			args = append(args, "--"+name, value)
		}
	}
	return append(append(args, "--"), c.Args().Slice()...)
}

package cli

import (
	"bytes"
	"context"
	"io"
	"strings"
	"testing"

	"foundry/internal/drive"
)

func TestAskPerson(t *testing.T) {
	t.Parallel()
	typed, in := io.Pipe()
	go func() {
		for _, line := range []string{"y\n", "\n", "reject  not yet \n"} {
			io.WriteString(in, line)
		}
	}()
	var shown bytes.Buffer
	s := &session{in: typed, err: &shown}
	got, ok := s.askPerson(context.Background(), drive.Question{Phase: "ship", Text: "Ship it?", Diff: "foundry diff run_1"})
	if !ok || got.Approve || got.Note != "not yet" {
		t.Errorf("answer %+v, %v", got, ok)
	}
	if n := strings.Count(shown.String(), "write out approve or reject"); n != 2 {
		t.Errorf("what is no answer was said %d times to be none, want twice:\n%s", n, shown.String())
	}
	if s.prompt.Load() {
		t.Error("the question still stands")
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, ok := s.askPerson(ctx, drive.Question{Phase: "ship"}); ok || !s.prompt.Load() {
		t.Error("a signal answered, or the question's line was ended")
	}
	in.Close()
	if _, ok := s.askPerson(context.Background(), drive.Question{Phase: "ship"}); ok {
		t.Error("the end of input answered")
	}
}

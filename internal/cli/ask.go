package cli

import (
	"bufio"
	"context"
	"fmt"
	"strings"

	"foundry/internal/drive"
	"foundry/internal/process"
)

// askPerson puts an ask phase's question at the terminal. Only a whole word counts, nothing is assumed, what
// was typed before the question is thrown away, and the end of input is no answer.
func (s *session) askPerson(ctx context.Context, q drive.Question) (drive.Answer, bool) {
	s.asking.Lock()
	defer s.asking.Unlock()
	fmt.Fprintf(s.err, "\n%s asks: %s\n  (%s shows what it is about)\n", q.Phase, process.Clean([]byte(q.Text)), q.Diff)
	for {
		line, ok := s.askLine(ctx, "approve or reject, with a note if you like: ")
		if !ok {
			return drive.Answer{}, false
		}
		word, note, _ := strings.Cut(line, " ")
		if word == "approve" || word == "reject" {
			return drive.Answer{Approve: word == "approve", Note: strings.TrimSpace(note), Who: who()}, true
		}
		fmt.Fprint(s.err, "  write out approve or reject; ctrl-c leaves the question open\n")
	}
}

// askLine puts a question and waits for a line, without the blanks around it. It is false at the end of input,
// and when ctx ends first.
func (s *session) askLine(ctx context.Context, question string) (string, bool) {
	fmt.Fprint(s.err, question)
	flushInput(s.in)
	s.prompt.Store(true)
	lines := make(chan string, 1)
	go func() {
		defer close(lines)
		if line, err := bufio.NewReader(s.in).ReadString('\n'); err == nil {
			lines <- line
		}
	}()
	select {
	case <-ctx.Done():
		return "", false
	case line, ok := <-lines:
		s.prompt.Store(false)
		return strings.TrimSpace(line), ok
	}
}

package cli

import (
	"bufio"
	"context"
	"fmt"
	"strings"

	"foundry/internal/drive"
)

// askPerson puts an ask phase's question at the terminal. Only a whole word counts, nothing is assumed, what
// was typed before the question is thrown away, and the end of input is no answer.
func (s *session) askPerson(ctx context.Context, q drive.Question) (drive.Answer, bool) {
	s.asking.Lock()
	defer s.asking.Unlock()
	lines := make(chan string)
	fmt.Fprintf(s.err, "\n%s asks: %s\n  (%s shows what it is about)\n", q.Phase, q.Text, q.Diff)
	for {
		fmt.Fprint(s.err, "approve or reject, with a note if you like: ")
		flushInput(s.in)
		go func() {
			line, err := bufio.NewReader(s.in).ReadString('\n')
			if err != nil {
				close(lines)
				return
			}
			lines <- line
		}()
		select {
		case <-ctx.Done():
			return drive.Answer{}, false
		case line, ok := <-lines:
			if !ok {
				return drive.Answer{}, false
			}
			word, note, _ := strings.Cut(strings.TrimSpace(line), " ")
			if word == "approve" || word == "reject" {
				return drive.Answer{Approve: word == "approve", Note: strings.TrimSpace(note), Who: who()}, true
			}
		}
	}
}

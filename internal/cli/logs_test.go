package cli

import (
	"io"
	"strings"
	"testing"
)

func TestLogsOnATerminal(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 64<<10-1) + "中" + "end"
	for _, tt := range []struct {
		name, log, want string
		last            bool
		done            int
	}{
		{"no title, no clearing", "\x1b]0;title\x07\x1b[2J\x1b[31mred\x1b[0m\r\n", "red\n", false, 28},
		{"what was last in a line", "1 of 2\r2 of 2\nnext", "2 of 2\n", false, 14},
		{"the last line", "one\ntwo", "one\ntwo", true, 7},
		{"a character over two pieces", long + "\n", long + "\n", false, len(long) + 1},
	} {
		var out strings.Builder
		n, err := printClean(&out, io.Reader(strings.NewReader(tt.log)), tt.last)
		if err != nil || out.String() != tt.want || n != int64(tt.done) {
			t.Errorf("%s: %d, %v, %.80q; want %d, %.80q", tt.name, n, err, out.String(), tt.done, tt.want)
		}
	}
}

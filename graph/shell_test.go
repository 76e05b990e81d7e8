package graph_test

import (
	"strings"
	"testing"

	"foundry/diag"
)

func TestShellSyntax(t *testing.T) {
	t.Parallel()
	tests := []struct{ script, message string }{
		{`make test`, ""},
		{`echo "it's"`, ""},
		{`echo it's`, "the quote ' is never closed"},
		{`echo "a`, `the quote " is never closed`},
		{`echo \"a`, ""},
		{`echo 'a\' b`, ""},
		{`echo a # don't`, ""},
		{`echo a#don't`, "the quote ' is never closed"},
		{`x="$(echo "a b")"`, ""},
		{`cat <<EOF
it's
EOF`, ""},
		{`make &&`, "nothing follows &&"},
		{`make | # to nobody`, ""},
		{`make ||
`, "nothing follows ||"},
		{`make &`, ""},
		{`if a; then b; fi`, ""},
		{`if a; then b`, `"if" is never closed`},
		{`if a; then b; done`, `"done" closes nothing here`},
		{`echo if done fi`, ""},
		{`for f in if do; do echo $f; done`, ""},
		{`for f in *; do
  case $f in
    a|if) echo a;;
    *) if x; then y; else z; fi;;
  esac
done`, ""},
		{`while read -r l; do echo "$l"; done < in.txt`, ""},
		{`while read -r l; do echo "$l"`, `"while" is never closed`},
		{`f() { if a; then b; fi; }; f`, ""},
		{`x=$(if a; then b; fi); echo $(date) done`, ""},
		{`(cd web && if a; then b; fi)`, ""},
		{`time if a; then b; fi; ! if a; then b; fi`, ""},
		{`n=$((n + (1))); if (( n > 1 )); then b; fi`, ""},
		{`esac`, `"esac" closes nothing here`},
		{`docker ps --format '{{.Names}}'`, ""},
	}
	for _, tt := range tests {
		indented := "\n          " + strings.ReplaceAll(tt.script, "\n", "\n          ")
		text := "version: 1\npipelines:\n  p:\n    phases:\n      - id: a\n        run: |" + indented + "\n"
		got := ""
		for _, d := range lint(t, text) {
			if d.Rule == diag.ShellSyntax {
				got += d.Message
			} else {
				t.Errorf("%s: %s [%s]", tt.script, d.Message, d.Rule)
			}
		}
		if got != tt.message {
			t.Errorf("%s\n got %q, want %q", tt.script, got, tt.message)
		}
	}
}

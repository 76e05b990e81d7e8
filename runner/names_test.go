package runner

import (
	"strings"
	"testing"
)

func TestFileName(t *testing.T) {
	t.Parallel()
	for phase, want := range map[string]string{
		"build": "build", "sub/build": "sub.build", "migrate[log]": "migrate[log]", "migrate[src/Log.go]": "migrate[src%2F%4Cog%2Ego]",
		"migrate[a]/build": "migrate[a].build", "sub/each[a@1]/b": "sub.each[a%401].b", "m[x]y]": "m[x]y]",
	} {
		if got := FileName(phase); got != want {
			t.Errorf("%s is %s, want %s", phase, got, want)
		}
	}
	long := strings.Repeat("é", 100)
	a, b := FileName("m["+long+"a]"), FileName("m["+long+"b]")
	if len(a) > longestFile || len(b) > longestFile || a == b {
		t.Errorf("%s and %s", a, b)
	}
}

func TestWithin(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{"sub/a": true, "sub[a]": true, "sub[a]/b": true, "sub": false, "subs/a": false, "a/sub": false} {
		if got := Within("sub", name); got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestTyped(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{"build": "build", "sub/build@2": "sub/build@2", "go[a]": "'go[a]'", "go[b c]": "'go[b c]'", "go[it's $x]": `'go[it'\''s $x]'`} {
		if got := Typed(name); got != want {
			t.Errorf("%s is typed %s, want %s", name, got, want)
		}
	}
}

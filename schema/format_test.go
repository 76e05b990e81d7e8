package schema

import (
	"slices"
	"strings"
	"testing"

	"foundry/diag"
)

func TestFormat(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, text, want string }{
		{"sections and keys in order", `
pipelines:
  p:
    phases:
    - agent: builder
      route: |
        on fail -> abort
      id: build
    description: d
default: p
version: 1
`, `
version: 1
default: p

pipelines:
  p:
    description: d
    phases:
      - id: build
        agent: builder
        route: |
          on fail -> abort
`},
		{"names and data stay in their order", `
version: 1

agents:
  zoe:
    script:
      - reply:
          summary: s
          status: success
        files:
          b: x
          a: y
  adam: {model: m, extends: zoe}
`, `
version: 1

agents:
  zoe:
    script:
      - files:
          b: x
          a: y
        reply:
          summary: s
          status: success
  adam: {model: m, extends: zoe}
`},
		{"comments go with what they speak of", `
# The file.

# The words of version.
version: 1 # one
default: p
pipelines:
    p:
        # Above accept.
        accept: passed("a") # behind it
        # Above the phases.
        phases:
            # Above a.
            - run: x # does
              # Above the id of a.
              id: a
              # At the end of a.
            # At the end of the list.
        description: d
    # Above q.
    q: {phases: []}
# At the end.
`, `
# The file.

# The words of version.
version: 1 # one
default: p

pipelines:
  p:
    description: d
    # Above accept.
    accept: passed("a") # behind it
    # Above the phases.
    phases:
      # Above a.
      # Above the id of a.
      - id: a
        run: x # does
        # At the end of a.
      # At the end of the list.
  # Above q.
  q: {phases: []}
# At the end.
`},
		{"the comment at the top stays there", `
# yaml-language-server: $schema=.foundry-schema.json
default: a
# one
version: 1
`, `
# yaml-language-server: $schema=.foundry-schema.json

# one
version: 1
default: a
`},
		{"no more than one blank line, and one around sections", "\n\nversion: 1\n\n\n\n# c\ndefault: a   \nproject:\n\n  name: x\n  \n\n  base: y\ncommands: {}\n\n\n",
			"version: 1\n\n# c\ndefault: a\n\nproject:\n  name: x\n\n  base: y\n\ncommands: {}\n"},
		{"texts keep their bytes", "version: 1\nagents:\n    a:\n        system: |2\n            deep  \n          # text\n\n        prompt: \"one\n          # two\n\n          three\"\n        description: >-\n\n            a\n            b\n",
			"version: 1\n\nagents:\n  a:\n    description: >-\n\n        a\n        b\n    system: |2\n        deep  \n      # text\n\n    prompt: \"one\n      # two\n\n      three\"\n"},
		{"blank lines that are text", "version: 1\nagents:\n  a:\n    prompt: |+\n      x\n\n\n    model: m\ndefault: a\n",
			"version: 1\ndefault: a\n\nagents:\n  a:\n    model: m\n    prompt: |+\n      x\n\n\n"},
		{"unknown keys stay behind what they follow", "x-a: 1\nagents: {}\nx-b: 2\ndefault: a\nversion: 1\n", "x-a: 1\nversion: 1\ndefault: a\nagents: {}\nx-b: 2\n"},
		{"anchors stay in front of their aliases", "commands: {a: &a {run: x}, b: *a}\nversion: 1\nx-q: &q {timeout: 1m}\ngates: {}\nproject:\n  env: *q\n",
			"commands: {a: &a {run: x}, b: *a}\nversion: 1\nx-q: &q {timeout: 1m}\ngates: {}\n\nproject:\n  env: *q\n"},
		{"unknown keys are a reason to leave a gate alone", "version: 1\n\ngates:\n  g:\n    message: m\n    small: x\n    require: true\n    check: y\n", "version: 1\n\ngates:\n  g:\n    message: m\n    small: x\n    require: true\n    check: y\n"},
		{"lists in lists, and dashes alone", "version: 1\nproject:\n  worktree:\n    setup:\n    -   - a\n        -   b\n    -\n      - c\n    # d\n    -   e # f\n",
			"version: 1\n\nproject:\n  worktree:\n    setup:\n      - - a\n        - b\n      -\n        - c\n      # d\n      - e # f\n"},
		{"line breaks of Windows", "default: a\r\nversion: 1\r\n", "version: 1\r\ndefault: a\r\n"},
		{"a byte order mark and markers", "\ufeff# c\n---\ndefault: a\nversion: 1\n...\n# d\n", "\ufeff# c\n---\nversion: 1\ndefault: a\n...\n# d\n"},
		{"no line break at the end", "default: a\nversion: 1", "version: 1\ndefault: a\n"},
		{"no line break at the end of a text", "default: a\nversion: 1\nagents:\n  a:\n    prompt: |\n      x", "version: 1\ndefault: a\n\nagents:\n  a:\n    prompt: |\n      x"},
		{"such a text stays at the end", "agents:\n  a:\n    prompt: |\n      x\n    model: |\n      m", "agents:\n  a:\n    prompt: |\n      x\n    model: |\n      m"},
		{"a mapping in braces", "{default: a, version: 1}\n", "{default: a, version: 1}\n"},
		{"a key with a question mark", "version: 1\nproject:\n   ? name\n   : x\n   base: y\n", "version: 1\nproject:\n   ? name\n   : x\n   base: y\n"},
		{"a test file", "tests:\n- expect: {status: accepted}\n  name: n\n  given:\n    b:\n    - changed: []\n      reply: {}\n",
			"tests:\n  - name: n\n    given:\n      b:\n        - reply: {}\n          changed: []\n    expect: {status: accepted}\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			text, want := strings.TrimPrefix(tt.text, "\n"), strings.TrimPrefix(tt.want, "\n")
			if !strings.HasPrefix(tt.want, "\n") {
				text = tt.text
			}
			got, found, err := Format(diag.NewSource("foundry.yaml", text))
			if err != nil || found.HasErrors() {
				t.Fatal(err, show(found.Sorted()))
			}
			if got != want {
				t.Errorf("got:\n%s\nwant:\n%s", got, want)
			}
			checkFormatted(t, text, got)
		})
	}
}

// What cannot be read, or says two things at once, is left as it is, with the reason.
func TestFormatRefuses(t *testing.T) {
	t.Parallel()
	for text, rule := range map[string]diag.Rule{
		"default: [\nversion: 1\n":               diag.YAMLSyntax,
		"default: a\ndefault: b\nversion: 1\n":   diag.DuplicateKey,
		"default: a\nversion: 1\n---\na: b\n":    diag.SeveralDocuments,
		"x: &a [*a]\nversion: 1\n":               diag.AnchorCycle,
		"default: a\nversion: 1 # gr\xf6\xdfe\n": diag.Encoding,
	} {
		out, found, err := Format(diag.NewSource("foundry.yaml", text))
		if err != nil || out != text || !slices.ContainsFunc(found.Sorted(), func(d diag.Diagnostic) bool { return d.Rule == rule }) {
			t.Errorf("%q: %v, %v, want %s; became %q", text, err, show(found.Sorted()), rule, out)
		}
	}
}

// The exceptions from the order of the table name keys that there are.
func TestReadingOrder(t *testing.T) {
	t.Parallel()
	table := readingOrder()
	for section, r := range reading {
		for _, name := range slices.Concat(r.first, r.last) {
			if !slices.ContainsFunc(table[section], func(k Key) bool { return k.Name == name }) {
				t.Errorf("%s has no key %s", section, name)
			}
		}
	}
	for _, section := range []string{"file", "limits", "test"} {
		var want []string
		for _, k := range Keys() {
			if k.Where == section {
				want = append(want, k.Name)
			}
		}
		var got []string
		for _, k := range table[section] {
			got = append(got, k.Name)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", section, got, want)
		}
	}
}

// A file that is as long as one may be takes no more time for each line than a short one.
func BenchmarkFormat(b *testing.B) {
	var text strings.Builder
	text.WriteString("version: 1\npipelines:\n  p:\n    phases:\n")
	for range 1000 {
		text.WriteString("    # a phase\n    - run: make\n      id: a\n      env: {A: b}\n      route: |\n        on fail -> abort\n\n")
	}
	src := diag.NewSource("foundry.yaml", text.String())
	b.SetBytes(int64(len(src.Text)))
	for b.Loop() {
		if out, _, err := Format(src); err != nil || out == src.Text {
			b.Fatal(err)
		}
	}
}

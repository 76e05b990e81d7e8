package schema

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"foundry/diag"
)

// A hint says what to write instead. Here it is followed by a program that knows only its words and the place of
// the finding, which must be gone then.

var (
	hintQuote   = regexp.MustCompile(`quote the (?:whole )?text: (.*)`)
	hintWord    = regexp.MustCompile(`^(?:did you mean|foundry's word is) "(\w+)"`)
	hintPair    = regexp.MustCompile(`^write ((\w+): (?:\[[^\]]*\]|[^,]*?))(?:$|,| for an empty text)`)
	hintInstead = regexp.MustCompile(`^(?:write|quote it:|choose another id, such as) ([\w|"-]+)(?:$|, or| to keep)`)
	hintRemove  = regexp.MustCompile(`^(?:remove it|write the value, or remove the line|keep one of)`)
	hintSingle  = regexp.MustCompile(`^use single quotes`)
	hintKey     = regexp.MustCompile(`^(version|phases): `)
)

// follow does what a hint says; false when the hint names no replacement.
func follow(file string, d diag.Diagnostic) (string, bool) {
	from, to := d.Span.Start, d.Span.End
	begin := strings.LastIndex(file[:from], "\n") + 1
	end := from + strings.IndexByte(file[from:]+"\n", '\n')
	line := file[begin:end]
	if m := hintQuote.FindStringSubmatch(d.Hint); m != nil {
		text, _, _ := strings.Cut(m[1], ", or write not")
		bare := text[strings.Index(text, "'"):]
		meant := strings.ReplaceAll(strings.Trim(bare, "'"), "''", "'")
		if at := strings.LastIndex(file, meant); at >= 0 {
			return file[:at] + bare + file[at+len(meant):], true
		}
		return file, true
	}
	if m := hintWord.FindStringSubmatch(d.Hint); m != nil {
		return file[:from] + m[1] + file[to:], true
	}
	if m := hintPair.FindStringSubmatch(d.Hint); m != nil && d.Rule == diag.UnknownKey {
		return file[:from] + m[1] + file[end:], true // in place of the key and its value, to the end of the line
	}
	if m := hintPair.FindStringSubmatch(d.Hint); m != nil {
		at := strings.LastIndex(line[:min(len(line), to-begin)], m[2])
		if at < 0 {
			return file, true
		}
		rest := regexp.MustCompile(`^` + m[2] + `:[^},]*`).FindString(line[at:])
		return file[:begin+at] + m[1] + file[begin+at+len(rest):], true
	}
	if m := hintInstead.FindStringSubmatch(d.Hint); m != nil {
		return file[:from] + m[1] + file[to:], true
	}
	if hintRemove.MatchString(d.Hint) {
		return file[:begin] + file[min(end+1, len(file)):], true
	}
	if hintSingle.MatchString(d.Hint) {
		return file[:begin] + strings.ReplaceAll(line, `"`, `'`) + file[end:], true
	}
	if hintKey.MatchString(d.Hint) && d.Span.Position().Line == 1 {
		return "version: 1\n" + file, true
	}
	return "", false
}

// followed follows the hint of a finding, if it names a replacement, and fails when the finding is still there.
func followed(t *testing.T, file string, d diag.Diagnostic) bool {
	t.Helper()
	fixed, ok := follow(file, d)
	if !ok {
		return false
	}
	count := func(text string) int {
		n := 0
		_, list := Decode(diag.NewSource("foundry.yaml", text))
		for _, x := range list.Sorted() {
			if x.Rule == d.Rule {
				n++
			}
		}
		return n
	}
	if count(fixed) >= count(file) {
		_, after := Decode(diag.NewSource("foundry.yaml", fixed))
		t.Errorf("%s is still there after %q:\n%s%s", d.Rule, d.Hint, fixed, show(after.Sorted()))
	}
	return true
}

func TestHintsOfFixtures(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/lint/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal("no fixtures", err)
	}
	n := 0
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		text := regexp.MustCompile(` +# want [^\n]*`).ReplaceAllString(string(b), "")
		_, list := Decode(diag.NewSource("foundry.yaml", text))
		for _, d := range list.Sorted() {
			if followed(t, text, d) {
				n++
			}
		}
	}
	if n < 20 {
		t.Errorf("only %d hints were followed", n)
	}
}

package report

import "testing"

func TestFit(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, text string
		columns    int
		want       string
	}{
		{"no terminal", "one two three four five six seven\n", 0, "one two three four five six seven\n"},
		{"prose", "one two three four five six seven\n\nend", 20, "one two three four\nfive six seven\n\nend"},
		{"a row", "  -f, --file FILE  use this file instead of the usual one\n", 40, "  -f, --file FILE  use this file instead\n                   of the usual one\n"},
		{"an item", "- one two three four five six\n", 22, "- one two three four\n  five six\n"},
		{"set in", "         fix: one two three four five six\n", 30, "         fix: one two three\n         four five six\n"},
		{"no room for a second column", "  a rather long first column  and more\n", 34, "  a rather long first column  and more\n"},
	} {
		if got := Fit(c.text, c.columns); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	if got := Paragraphs("one\ntwo\n\n- a\n- b\n    code\nthree\nfour"); got != "one two\n\n- a\n- b\n    code\nthree four" {
		t.Errorf("paragraphs %q", got)
	}
	if got := Table([][]string{{"argument", "meaning"}, {"`n`", "how many"}}); got != "  argument  meaning\n  `n`       how many\n" {
		t.Errorf("table %q", got)
	}
}

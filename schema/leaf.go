package schema

// The leaves. A text is what was written, letter for letter: 1.10 and 0755 stay as they are. A number is a
// plain decimal, a switch is true or false, a duration has a unit. Nothing is converted quietly.

import (
	"strconv"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"foundry/diag"
)

// text reads a text leaf.
func (d *decoder) text(v value) (Text, bool) {
	n := v.node
	if n.Kind != yaml.ScalarNode || isNull(n) {
		d.wrongType(v, "a text")
		return Text{}, false
	}
	if d.tagged(v) {
		return d.behindTag(v)
	}
	f, w := d.scalar(n)
	if n.Style&^yaml.TaggedStyle == 0 {
		d.cut(v, f, w)
	}
	return Text{Value: n.Value, Frag: f, Set: true}, true
}

// code are the keys whose text is a rule, an expression or a command: an open quote or bracket before a
// comment shows that the comment was not meant.
var code = map[string]bool{"when": true, "accept": true, "expr": true, "check": true, "route": true, "run": true, "argv": true, "setup": true, "command_passes": true}

// cut reports a plain text that a # behind it cut short.
func (d *decoder) cut(v value, f diag.Fragment, w written) {
	s, at := d.src.Text, w.end
	for at < len(s) && blank(s[at]) {
		at++
	}
	if at == w.end || at >= len(s) || s[at] != '#' {
		return
	}
	to := at
	for to < len(s) && breakLen(s, to) == 0 {
		to++
	}
	next := byte(' ')
	if at+1 < to {
		next = s[at+1]
	}
	meant := !blank(next) && next != '#' && next != '!' && !strings.HasPrefix(s[at:], "#foundry:")
	if !meant && !((v.code || code[v.name]) && unbalanced(f.Text)) {
		return
	}
	whole := strings.TrimRight(s[w.start:to], " \t")
	d.report(v.via, diag.YAMLComment, diag.Span{Source: d.src, Start: at, End: at + 1}, "everything from here on is a comment to YAML, and the text ends before it").
		Hintf("quote the text: %s", quote(whole))
}

// unbalanced says whether a quote or a bracket is still open at the end.
func unbalanced(s string) bool {
	var open []byte
	for i := 0; i < len(s); i++ {
		c := s[i]
		if k := len(open); k > 0 && strings.IndexByte("\"'`", open[k-1]) >= 0 {
			if c == '\\' && open[k-1] == '"' {
				i++
			} else if c == open[k-1] {
				open = open[:k-1]
			}
			continue
		}
		switch c {
		case '"', '\'', '`', '(', '[', '{':
			open = append(open, c)
		case ')', ']', '}':
			if len(open) > 0 {
				open = open[:len(open)-1]
			}
		}
	}
	return len(open) > 0
}

// boolean reads a switch.
func (d *decoder) boolean(v value) (Bool, bool) {
	n := v.node
	if n.Kind != yaml.ScalarNode || n.Style&yaml.TaggedStyle != 0 || isNull(n) {
		d.wrongType(v, "true or false")
		return Bool{}, false
	}
	if n.Style == 0 && (n.Value == "true" || n.Value == "false") {
		return Bool{Value: n.Value == "true", Span: d.spanOf(n), Set: true}, true
	}
	found := d.report(v.via, diag.NotBoolean, d.span(v), "%s takes true or false, not %q", v.label(), clip(n.Value))
	switch near := diag.Suggest(n.Value, []string{"false", "true"}); strings.ToLower(n.Value) {
	case "yes", "on", "y", "1", "true":
		found.Hintf("write true")
	case "no", "off", "n", "0", "false":
		found.Hintf("write false")
	default:
		if near != "" {
			found.Hintf("did you mean %s?", near)
		}
	}
	return Bool{}, false
}

// plainDecimal says whether s is digits without a leading zero.
func plainDecimal(s string) bool {
	if s == "" || len(s) > 1 && s[0] == '0' {
		return false
	}
	return strings.Trim(s, "0123456789") == ""
}

// number reads a whole number between low and high.
func (d *decoder) number(v value, low, high int) (Int, bool) {
	n := v.node
	if n.Kind != yaml.ScalarNode || n.Style&yaml.TaggedStyle != 0 || isNull(n) {
		d.wrongType(v, "a whole number")
		return Int{}, false
	}
	at := d.span(v)
	if n.Style != 0 || !plainDecimal(n.Value) {
		found := d.report(v.via, diag.BadNumber, at, "%s takes a plain whole number, not %q", v.label(), clip(n.Value))
		if guess, ok := meantNumber(n.Value, n.Style != 0); ok {
			found.Hintf("write %s", guess)
		} else if !v.item {
			found.Hintf("write it as in %s: %d", v.name, max(low, 1))
		}
		return Int{}, false
	}
	i, err := strconv.Atoi(n.Value)
	switch {
	case err != nil || i > high:
		d.report(v.via, diag.BadNumber, at, "%s is at most %d", v.label(), high)
		return Int{}, false
	case i < low:
		found := d.report(v.via, diag.BadNumber, at, "%s is at least %d", v.label(), low)
		if v.name == "turns" || v.name == "tokens" || v.name == "phases" {
			found.Message = v.label() + " is a limit, and a limit is at least 1"
			found.Hintf("write the most that a run may need, or leave %s out", v.name)
		}
		return Int{}, false
	}
	return Int{Value: i, Span: at, Set: true}, true
}

// meantNumber is the plain form of a number in some other spelling.
func meantNumber(s string, quoted bool) (string, bool) {
	if quoted && plainDecimal(s) {
		return s + " without quotes", true
	}
	t := strings.NewReplacer("_", "", ",", "", " ", "").Replace(strings.TrimPrefix(s, "+"))
	if u := strings.TrimRight(t, "kKM"); len(t)-len(u) == 1 && plainDecimal(u) && u != "0" {
		return u + map[byte]string{'k': "000", 'K': "000", 'M': "000000"}[t[len(u)]], true
	}
	for _, prefix := range []string{"0o", "0x", "0b"} {
		if strings.HasPrefix(t, prefix) {
			if i, err := strconv.ParseInt(t, 0, 64); err == nil {
				return strconv.FormatInt(i, 10), true
			}
			return "", false
		}
	}
	if u := strings.TrimLeft(t, "0"); plainDecimal(u) {
		return u, true
	}
	if u, ok := strings.CutSuffix(t, ".0"); ok && plainDecimal(u) {
		return u, true
	}
	return "", false
}

// decimal reads a number with an optional fraction, at least zero.
func (d *decoder) decimal(v value) (Number, bool) {
	n := v.node
	if n.Kind != yaml.ScalarNode || n.Style&yaml.TaggedStyle != 0 || isNull(n) {
		d.wrongType(v, "a number")
		return Number{}, false
	}
	whole, fraction, dot := strings.Cut(n.Value, ".")
	f, err := strconv.ParseFloat(n.Value, 64)
	if n.Style != 0 || !plainDecimal(whole) || dot && (fraction == "" || strings.Trim(fraction, "0123456789") != "") || err != nil {
		found := d.report(v.via, diag.BadNumber, d.span(v), "%s takes a plain decimal number, not %q", v.label(), clip(n.Value))
		if whole == "" && strings.Trim(fraction, "0123456789") == "" && fraction != "" {
			found.Hintf("write 0.%s", fraction)
		} else if guess, ok := meantNumber(n.Value, n.Style != 0); ok {
			found.Hintf("write %s", guess)
		}
		return Number{}, false
	}
	return Number{Value: f, Span: d.span(v), Set: true}, true
}

// duration reads a time such as 90s, 15m or 1h30m.
func (d *decoder) duration(v value) (Duration, bool) {
	n := v.node
	if n.Kind != yaml.ScalarNode || n.Style&yaml.TaggedStyle != 0 || isNull(n) {
		d.wrongType(v, "a duration such as 90s or 15m")
		return Duration{}, false
	}
	t, ok := parseDuration(n.Value)
	if !ok || t <= 0 {
		found := d.report(v.via, diag.BadDuration, d.span(v), "%s takes a duration with a unit (ms, s, m, h), not %q", v.label(), clip(n.Value))
		switch {
		case ok:
			found.Message = strconv.Quote(v.name) + " must be longer than nothing"
		case plainDecimal(n.Value):
			found.Hintf("write %ss for seconds, %sm for minutes or %sh for hours", n.Value, n.Value, n.Value)
		case strings.Contains(n.Value, ":"):
			a, b, _ := strings.Cut(n.Value, ":")
			found.Hintf("write %sm%ss, or %sh%sm", strings.TrimLeft(a, "0"), b, strings.TrimLeft(a, "0"), b)
		case strings.HasSuffix(n.Value, "d"):
			if days, err := strconv.Atoi(strings.TrimSuffix(n.Value, "d")); err == nil && days < 10000 {
				found.Hintf("write %dh", days*24)
			}
		default:
			found.Hintf("write it like 90s, 15m or 1h30m")
		}
		return Duration{}, false
	}
	return Duration{Value: t, Span: d.span(v), Set: true}, true
}

// parseDuration takes digits, an optional fraction and a unit, one or more times, largest unit first by habit
// but not by rule.
func parseDuration(s string) (time.Duration, bool) {
	if s == "" || strings.Trim(s, "0123456789.hms") != "" || s[0] == '.' || strings.Contains(s, "..") {
		return 0, false
	}
	t, err := time.ParseDuration(s)
	return t, err == nil
}

// size reads a number of bytes such as 100MB.
func (d *decoder) size(v value) (Int, bool) {
	n := v.node
	if n.Kind != yaml.ScalarNode || n.Style&yaml.TaggedStyle != 0 || isNull(n) {
		d.wrongType(v, "a size such as 100MB")
		return Int{}, false
	}
	units := []struct {
		name  string
		bytes int
	}{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}}
	for _, u := range units {
		if digits, ok := strings.CutSuffix(n.Value, u.name); ok && plainDecimal(digits) {
			if i, err := strconv.Atoi(digits); err == nil && i > 0 && i < 1<<20 {
				return Int{Value: i * u.bytes, Span: d.span(v), Set: true}, true
			}
		}
	}
	d.report(v.via, diag.BadNumber, d.span(v), "%s takes a size with a unit (KB, MB, GB), not %q", v.label(), clip(n.Value)).Hintf("write it like 100MB")
	return Int{}, false
}

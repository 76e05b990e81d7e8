package schema

// What a file must be before it is YAML at all: UTF-8, of a sane size, without characters that no editor shows.

import (
	"strings"
	"unicode/utf8"

	"foundry/diag"
)

const maxBytes = 8 << 20

// checkText says whether the text may be given to the YAML library; if not, the reason is reported.
func (d *decoder) checkText() bool {
	s := d.src.Text
	if len(s) > maxBytes {
		d.list.Report(diag.TooLarge, d.place(0), "the file has %d bytes; a pipeline file has at most 8 MiB", len(s))
		return false
	}
	if strings.HasPrefix(s, "\xff\xfe") || strings.HasPrefix(s, "\xfe\xff") {
		d.list.Report(diag.Encoding, d.place(0), "the file is UTF-16; a pipeline file is UTF-8").Hintf("save it as UTF-8")
		return false
	}
	for i := 0; i < len(s); {
		c := s[i]
		if c >= 0x20 && c < 0x7f || c == '\n' || c == '\t' || c == '\r' && strings.HasPrefix(s[i+1:], "\n") {
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		switch at := (diag.Span{Source: d.src, Start: i, End: i + size}); {
		case r == utf8.RuneError && size <= 1:
			d.list.Report(diag.Encoding, at, "the byte 0x%02x is not UTF-8", c).Hintf("save the file as UTF-8")
			return false
		case r == 0:
			d.list.Report(diag.Encoding, at, "a NUL byte; a pipeline file is text").Hintf("remove it")
			return false
		case r == '\r':
			d.list.Report(diag.Encoding, at, "a carriage return without a line feed").Hintf("end lines with LF or CRLF")
			return false
		case r == 0x85 || r == 0x2028 || r == 0x2029:
			d.list.Report(diag.Encoding, at, "the character %U ends a line for YAML and not for an editor", r).Hintf("remove it, or write it as an escape in double quotes")
			return false
		case r == '\ufeff' && i == 0, r >= 0xa0 && r != '\ufeff' && r != 0xfffe && r != 0xffff:
		default:
			d.list.Report(diag.Encoding, at, "the character %U is not allowed in YAML", r).Hintf("remove it, or write it as an escape in double quotes")
			return false
		}
		i += size
	}
	return true
}

// withoutDirective makes a comment of a leading `%YAML 1.x` line, which the YAML library refuses for 1.2. The
// length stays.
func withoutDirective(s string) string {
	for at := 0; at < len(s); {
		rest := s[at:]
		if at == 0 {
			if t, ok := strings.CutPrefix(rest, "\ufeff"); ok {
				at, rest = 3, t
			}
		}
		if strings.HasPrefix(rest, "%YAML 1.") {
			return s[:at] + "#" + s[at+1:]
		}
		end := strings.IndexByte(rest, '\n')
		line := rest
		if end >= 0 {
			line = rest[:end]
		}
		if t := strings.TrimSpace(line); t != "" && t[0] != '#' || end < 0 {
			return s
		}
		at += end + 1
	}
	return s
}

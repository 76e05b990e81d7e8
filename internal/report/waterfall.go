package report

import (
	"strings"
	"time"
)

// Waterfall draws the run over time: a row a phase, a bar a visit. A visit that did not pass is drawn with another
// sign, so that it shows without colours.
func (t *Trace) Waterfall(s Style, f Facts) string {
	if t.Started == nil {
		return ""
	}
	start := *t.Started
	total, names := time.Second/100, 0
	for _, p := range t.Phases {
		if len(p.Visits) > 0 {
			names = max(names, width(p.Name))
		}
		for _, v := range p.Visits {
			total = max(total, v.until(f, t.Last).Sub(start))
		}
	}
	if names == 0 {
		return ""
	}
	names = min(names, longestName)
	columns := 60
	if s.Width > 0 {
		columns = s.Width
	}
	columns = min(max(columns-2-names-2-9, 10), 100)

	var b strings.Builder
	bad := false
	for _, p := range t.Phases {
		if len(p.Visits) == 0 {
			continue
		}
		cells := make([]rune, columns)
		for _, v := range p.Visits {
			from := int(v.Started.Sub(start) * time.Duration(columns) / total)
			to := int(v.until(f, t.Last).Sub(start) * time.Duration(columns) / total)
			from = min(max(from, 0), columns-1)
			sign := v.sign()
			bad = bad || sign == badVisit
			for i := from; i < min(max(to, from+1), columns); i++ {
				cells[i] = sign
			}
		}
		b.WriteString("  " + pad(cut(flat(p.Name), names), names) + "  " + bar(s, cells) + "  " + padLeft(p.time(f), 7) + "\n")
	}
	axis := pad("0s", columns-width(Duration(total))) + Duration(total)
	margin := "  " + strings.Repeat(" ", names) + "  "
	b.WriteString(margin + s.Paint(Dim, axis) + "\n")
	if bad {
		b.WriteString(margin + s.Paint(Dim, string(badVisit)+" did not pass") + "\n")
	}
	return b.String()
}

// The signs of the bars.
const (
	goodVisit = '█'
	badVisit  = '░'
	openVisit = '▒'
)

func (v *Visit) sign() rune {
	switch v.Status {
	case "success", "unverified", "skipped":
		return goodVisit
	case "running", "waiting":
		return openVisit
	}
	return badVisit
}

// until is the end of the visit, or how far it has come.
func (v *Visit) until(f Facts, last time.Time) time.Time {
	switch {
	case !v.Ended.IsZero():
		return v.Ended
	case f.Now.After(last):
		return f.Now
	}
	return last
}

// bar draws a row of cells in runs of one colour.
func bar(s Style, cells []rune) string {
	var b strings.Builder
	for i := 0; i < len(cells); {
		j := i
		for j < len(cells) && cells[j] == cells[i] {
			j++
		}
		text := strings.Repeat(string(max(cells[i], ' ')), j-i)
		switch cells[i] {
		case goodVisit:
			text = s.Paint(Green, text)
		case badVisit:
			text = s.Paint(Red, text)
		case openVisit:
			text = s.Paint(Cyan, text)
		}
		b.WriteString(text)
		i = j
	}
	return b.String()
}

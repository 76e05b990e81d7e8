package report

import (
	"fmt"
	"html/template"
	"strings"
	"sync"
	"time"
)

// This file writes a report as one HTML file. It loads nothing and runs nothing: its policy forbids both, should a
// text ever get past the escaping of html/template.

// HTML is the report of the run as one file.
func (t *Trace) HTML(f ReportFacts) (string, error) {
	d := t.document(f)
	page := htmlPage{Title: flat(d.title), Status: flat(d.status), Class: d.class}
	for _, p := range d.parts {
		h := htmlPart{Name: p.name}
		for _, fact := range p.facts {
			h.Facts = append(h.Facts, [2]string{fact[0], flat(fact[1])})
		}
		for i, row := range p.table {
			cells := make([]htmlCell, len(row))
			for n := range row {
				cells[n] = newHTMLCell(flat(row[n]))
			}
			if i == 0 {
				h.Head = cells
			} else {
				h.Rows = append(h.Rows, cells)
			}
		}
		for _, item := range p.items {
			h.Items = append(h.Items, flat(item))
		}
		if p.draw != nil {
			h.Bars, h.Total = p.draw.htmlBars(f.Facts)
		}
		page.Parts = append(page.Parts, h)
	}
	var b strings.Builder
	if err := htmlReport().Execute(&b, page); err != nil {
		return "", fmt.Errorf("write the report as HTML: %w", err)
	}
	return b.String(), nil
}

type htmlPage struct {
	Title, Status, Class string
	Parts                []htmlPart
}

type htmlPart struct {
	Name  string
	Facts [][2]string
	Head  []htmlCell
	Rows  [][]htmlCell
	Items []string
	Bars  []htmlBars
	Total string
}

// htmlCell is a cell of a table: short ones stay on one line, so that it is the long ones that are broken.
type htmlCell struct{ Text, Class string }

const shortCell = 28

func newHTMLCell(text string) htmlCell {
	c := htmlCell{Text: text, Class: "long"}
	if width(text) <= shortCell {
		c.Class = "short"
	}
	switch text {
	case "passed", "up to date", "approve":
		c.Class += " good"
	case "failed", "rejected", "reject", "undone", "not undone":
		c.Class += " bad"
	}
	return c
}

// htmlBars is a row of the waterfall: a phase, a bar a visit.
type htmlBars struct {
	Name, Time string
	Bars       []htmlBar
}

// htmlBar is one visit, in thousandths of the run's time.
type htmlBar struct {
	From, Wide int
	Class      string
	Title      string
}

// htmlBars lays out what Waterfall draws.
func (t *Trace) htmlBars(f Facts) (rows []htmlBars, total string) {
	all := time.Second / 100
	for _, p := range t.Phases {
		for _, v := range p.Visits {
			all = max(all, v.until(f, t.Last).Sub(*t.Started))
		}
	}
	for _, p := range t.Phases {
		if len(p.Visits) == 0 {
			continue
		}
		row := htmlBars{Name: flat(p.Name), Time: p.time(f)}
		for _, v := range p.Visits {
			from := min(max(int(v.Started.Sub(*t.Started)*1000/all), 0), 995)
			to := min(int(v.until(f, t.Last).Sub(*t.Started)*1000/all), 1000)
			word, _ := statusWord(v.Status)
			class := map[rune]string{goodVisit: "good", badVisit: "bad", openVisit: "open"}[v.sign()]
			row.Bars = append(row.Bars, htmlBar{from, max(to-from, 5), class, flat(fmt.Sprintf("%s@%d: %s", p.Name, v.N, word))})
		}
		rows = append(rows, row)
	}
	return rows, Duration(all)
}

// htmlReport is parsed when a report is written: no other command waits for it.
var htmlReport = sync.OnceValue(func() *template.Template { return template.Must(template.New("report").Parse(htmlText)) })

const htmlText = `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{{.Title}}: {{.Status}}</title>
<style>
:root { color-scheme: light dark; --line: #8884; --good: #2a8a4a; --bad: #c33; --open: #289; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 70rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.1rem; margin: 2rem 0 .5rem; }
.good { color: var(--good); } .bad { color: var(--bad); } .open { color: var(--open); }
.wide { overflow-x: auto; }
table { border-collapse: collapse; } th, td { text-align: left; vertical-align: top; padding: .2rem 1.2rem .2rem 0; border-bottom: 1px solid var(--line); overflow-wrap: anywhere; }
th { font-weight: 600; } .short { white-space: nowrap; } .long { min-width: 14rem; } .wide + .wide { margin-top: .8rem; }
svg { width: 100%; height: 1rem; display: block; } rect.good { fill: var(--good); } rect.bad { fill: var(--bad); } rect.open { fill: var(--open); }
.fall td:nth-child(2) { width: 100%; } .fall { width: 100%; } .fall td { overflow-wrap: normal; }
</style>
</head>
<body>
<h1>{{.Title}}: <span class="{{.Class}}">{{.Status}}</span></h1>
{{- range .Parts}}
<h2>{{.Name}}</h2>
{{- if .Facts}}
<div class="wide"><table>
{{- range .Facts}}
<tr><th scope="row" class="short">{{index . 0}}</th><td>{{index . 1}}</td></tr>
{{- end}}
</table></div>
{{- end}}
{{- if .Rows}}
<div class="wide"><table>
<tr>{{range .Head}}<th scope="col" class="short">{{.Text}}</th>{{end}}</tr>
{{- range .Rows}}
<tr>{{range .}}<td{{with .Class}} class="{{.}}"{{end}}>{{.Text}}</td>{{end}}</tr>
{{- end}}
</table></div>
{{- end}}
{{- if .Items}}
<ul>{{range .Items}}<li>{{.}}</li>{{end}}</ul>
{{- end}}
{{- if .Bars}}
<table class="fall">
{{- range .Bars}}
<tr><td>{{.Name}}</td><td><svg viewBox="0 0 1000 10" preserveAspectRatio="none">{{range .Bars}}<rect class="{{.Class}}" x="{{.From}}" y="0" width="{{.Wide}}" height="10"><title>{{.Title}}</title></rect>{{end}}</svg></td><td>{{.Time}}</td></tr>
{{- end}}
</table>
<p>The whole width is {{.Total}}. Green passed, red did not, blue has not ended.</p>
{{- end}}
{{- end}}
</body>
</html>
`

package report

import (
	"time"

	"foundry/runner"
)

// Row is a run in a list.
type Row struct {
	runner.Outline
	Live    bool   `json:"live"`
	Problem string `json:"problem,omitempty"` // why its log could not be read
}

// Rows draws a list of runs, in the order given.
func Rows(rows []Row, s Style, now time.Time) string {
	b := block{style: s}
	if len(rows) == 0 {
		b.line("no runs yet; `foundry up` starts one")
		return b.text.String()
	}
	head := []string{"run", "pipeline", "status", "started", "time", "request"}
	limits := []int{0, 20, 0, 0, 0}
	columns := make([]int, 5)
	cells := make([][]string, len(rows))
	for i := range rows {
		cells[i] = rows[i].cells(now)
	}
	for c := range columns {
		columns[c] = width(head[c])
		for _, row := range cells {
			columns[c] = max(columns[c], width(row[c]))
		}
		if limits[c] > 0 {
			columns[c] = min(columns[c], limits[c])
		}
	}
	left := 0
	for _, w := range columns {
		left += w + 2
	}
	line := func(row []string, paint Paint, whole bool) {
		text := ""
		for c, w := range columns {
			cell := pad(cut(row[c], w), w)
			if c == 4 {
				cell = padLeft(row[c], w)
			}
			if c == 2 || whole {
				cell = s.Paint(paint, cell)
			}
			text += cell + "  "
		}
		rest := cut(row[5], b.room(left))
		if whole {
			rest = s.Paint(paint, rest)
		}
		b.line(text + rest)
	}
	line(head, Dim, true)
	for i, row := range cells {
		_, paint := rows[i].word()
		line(row, paint, false)
	}
	return b.text.String()
}

// word is the status, or what became of a run since: what still waits for somebody stands out.
func (r *Row) word() (string, Paint) {
	switch {
	case r.Merged != nil:
		return "merged", Green
	case r.Discarded:
		return "discarded", Dim
	}
	return statusWord(r.Status)
}

func (r *Row) cells(now time.Time) []string {
	word, _ := r.word()
	started, took := "–", "–"
	if r.Started != nil {
		started = Ago(*r.Started, now)
		switch worked, ok := r.Worked(now); {
		case ok:
			took = Duration(worked)
		case r.Ended != nil:
			took = Duration(r.Ended.Sub(*r.Started))
		case r.Live && r.Status == "running":
			took = Duration(now.Sub(*r.Started))
		}
	}
	about := firstLine(r.Request)
	if r.Problem != "" {
		about = firstLine(r.Problem)
	}
	return []string{flat(r.ID), first(flat(r.Pipeline), "–"), word, started, took, about}
}

package report

import (
	"slices"
	"strings"
)

// This file has the items of a phase that is repeated over a list: each is a phase of its own, and the view of the phase
// says how all of them stand.

// ItemRow is one item of a phase with `each`; the phase of its name has the rest.
type ItemRow struct {
	ID     string   `json:"id"`
	Phase  string   `json:"phase"`
	Title  string   `json:"title"`
	Needs  []string `json:"needs"` // ids
	Status string   `json:"status"`
	Reason string   `json:"reason"`
	Visits int      `json:"visits"`
	Weight string   `json:"weight"` // light or heavy, when its complexity asks for such a model; else ""
	Model  string   `json:"model"`  // the one that its newest turn asked for; "" when none, or before a turn
}

// items are the items that a visit of a phase had: of its newest visit as they stand now, of an earlier one as that left
// them.
func (t *Trace) items(p *Phase, v *Visit) []ItemRow {
	out := []ItemRow{}
	for _, it := range v.Items {
		row := ItemRow{ID: it.ID, Phase: it.Name, Title: it.Title, Needs: append([]string{}, it.Needs...), Weight: it.Model}
		if item := t.Phase(it.Name); item != nil {
			row.Visits = len(item.Visits)
			of := item.Newest()
			if v == p.Newest() {
				row.Status, row.Reason = item.Status, item.Why
			} else if of = item.during(p, v); of != nil {
				row.Status = of.Status
			} else {
				row.Status = "not_run"
			}
			if of != nil {
				row.Reason, row.Model = first(row.Reason, of.Reason), of.Model
			}
		}
		out = append(out, row)
	}
	return out
}

// during is the newest visit of an item that began in a visit of the phase whose item it is; nil when there is none.
func (p *Phase) during(each *Phase, v *Visit) *Visit {
	var out *Visit
	i := slices.Index(each.Visits, v)
	for _, of := range p.Visits {
		if of.seq > v.seq && (i+1 >= len(each.Visits) || of.seq < each.Visits[i+1].seq) {
			out = of
		}
	}
	return out
}

// itemsTable lists the items of a visit: how each stands, which model it has, what it waits for, and what it is.
func (t *Trace) itemsTable(b *block, p *Phase, v *Visit, f Facts) {
	if v.Each == "" || v.Items == nil {
		return
	}
	b.gap()
	if len(v.Items) == 0 {
		b.line("  " + b.style.Paint(Dim, "items") + "  none: the list is empty")
		return
	}
	rows := [][]string{{"item", "status", "model", "needs", ""}}
	paints := []Paint{Dim}
	for _, it := range t.items(p, v) {
		word, paint := statusWord(it.Status)
		if item := t.Phase(it.Phase); item != nil && v == p.Newest() {
			word, paint = t.word(item, f)
		}
		model := it.Weight
		if it.Model != "" {
			model = strings.TrimPrefix(model+": "+it.Model, ": ")
		}
		rows = append(rows, []string{flat(it.ID), word, first(flat(model), "–"), first(flat(list(it.Needs, 4)), "–"), firstLine(it.Title)})
		paints = append(paints, paint)
	}
	columns := make([]int, 4)
	for _, row := range rows {
		for c := range columns {
			columns[c] = min(max(columns[c], width(row[c])), longestName)
		}
	}
	for i, row := range rows {
		text, left := "  ", 2
		for c, w := range columns {
			cell := pad(cut(row[c], w), w)
			if i == 0 || c == 1 {
				cell = b.style.Paint(paints[i], cell)
			}
			text += cell + "  "
			left += w + 2
		}
		b.line(text + b.style.Paint(Dim, cut(row[4], b.room(left))))
	}
}

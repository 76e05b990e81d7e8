package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"foundry/runner"
)

// This file adds up what the turns of several runs used. Each turn that was sent is counted once, at the time of its
// end, and by the rule of a run's own usage: so the sums over all runs are the sums of what their outlines say. What a
// turn did not tell is counted as not told; it never passes for nothing.

// CostBy says what the turns are grouped by. The zero value is invalid.
type CostBy uint8

const (
	ByDay CostBy = iota + 1
	ByPipeline
	ByAgent
	ByModel
)

var costWords = [...]string{ByDay: "day", ByPipeline: "pipeline", ByAgent: "agent", ByModel: "model"}

// CostWords are the words for --by.
func CostWords() []string { return slices.Clone(costWords[ByDay:]) }

// CostByWord is the grouping of a word; 0 when there is none.
func CostByWord(word string) CostBy { return CostBy(max(slices.Index(costWords[:], word), 0)) }

// CostRow is what a group of turns used. Tokens and Cost are of the turns that told them, nil when none did.
type CostRow struct {
	Key           string   `json:"key"`
	Runs          int      `json:"runs"`
	Turns         int      `json:"turns"`
	Tokens        *int     `json:"tokens"`
	TokensUnknown int      `json:"turns_without_tokens"` // turns that did not tell how many tokens they took
	Cost          *float64 `json:"cost"`                 // in US dollars
	CostUnknown   int      `json:"turns_without_cost"`   // turns that did not tell what they cost

	lastRun string
}

// Costs gathers turns. Its JSON is what `costs --json` prints.
type Costs struct {
	By         string     `json:"by"`
	Since      *time.Time `json:"since"` // turns that ended before it are left out; null is that none are
	Rows       []CostRow  `json:"rows"`
	Total      CostRow    `json:"total"`
	Unreadable []string   `json:"unreadable"` // runs whose log cannot be read: what they used is in no sum

	by   CostBy
	zone *time.Location
	rows map[string]*CostRow
}

// NewCosts begins with nothing. Days are those of zone. since is zero for no limit.
func NewCosts(by CostBy, since time.Time, zone *time.Location) *Costs {
	c := &Costs{By: costWords[by], Rows: []CostRow{}, Total: CostRow{Key: "total"}, Unreadable: []string{}, by: by, zone: zone, rows: map[string]*CostRow{}}
	if !since.IsZero() {
		c.Since = &since
	}
	return c
}

// Add adds the turns of a run. model tells the model of a turn whose event does not, "" being the harness's own choice,
// and whether that is known.
func (c *Costs) Add(id string, events []runner.Event, model func(*runner.Event) (string, bool)) {
	pipeline := ""
	for i := range events {
		e := &events[i]
		if e.Run != nil && e.Kind == runner.RunStarted {
			pipeline = e.Run.Pipeline
		}
		if e.Kind != runner.TurnEnded || e.Reused != nil || c.Since != nil && e.At.Before(*c.Since) {
			continue
		}
		key := c.key(e, pipeline, model)
		row := c.rows[key]
		if row == nil {
			row = &CostRow{Key: key}
			c.rows[key] = row
		}
		row.add(id, e.Reply)
		c.Total.add(id, e.Reply)
	}
}

// Sort makes the rows: days from the first to the last, everything else by what it cost, the dearest first.
func (c *Costs) Sort() {
	c.Rows = []CostRow{}
	for _, key := range slices.Sorted(maps.Keys(c.rows)) {
		c.Rows = append(c.Rows, *c.rows[key])
	}
	if c.by != ByDay {
		slices.SortStableFunc(c.Rows, func(a, b CostRow) int {
			return cmp.Or(cmp.Compare(or0(b.Cost), or0(a.Cost)), cmp.Compare(or0(b.Tokens), or0(a.Tokens)), cmp.Compare(b.Turns, a.Turns))
		})
	}
}

func or0[N int | float64](n *N) N {
	if n == nil {
		return 0
	}
	return *n
}

func (c *Costs) key(e *runner.Event, pipeline string, model func(*runner.Event) (string, bool)) string {
	switch c.by {
	case ByDay:
		return e.At.In(c.zone).Format(time.DateOnly)
	case ByPipeline:
		return first(pipeline, "unknown")
	case ByAgent:
		return first(e.Agent, "unknown")
	}
	if e.Model != "" {
		return e.Model
	}
	switch name, known := model(e); {
	case name != "":
		return name
	case !known || e.Harness == "":
		return "unknown"
	}
	return e.Harness + "'s own choice"
}

func (r *CostRow) add(run string, reply *runner.Reply) {
	if r.lastRun != run {
		r.lastRun = run
		r.Runs++
	}
	r.Turns++
	if reply == nil {
		reply = &runner.Reply{}
	}
	if reply.TokensKnown() {
		n := or0(r.Tokens) + reply.Tokens
		r.Tokens = &n
	} else {
		r.TokensUnknown++
	}
	if reply.CostKnown {
		n := or0(r.Cost) + reply.Cost
		r.Cost = &n
	} else {
		r.CostUnknown++
	}
}

// Text draws the sums as a table.
func (c *Costs) Text(s Style) string {
	b := block{style: s}
	if c.Total.Turns == 0 {
		since := ""
		if c.Since != nil {
			since = " since " + c.Since.In(c.zone).Format("2006-01-02 15:04")
		}
		b.line("no agent had a turn" + since)
	} else {
		c.table(&b)
	}
	if n := len(c.Unreadable); n > 0 {
		b.line("")
		b.line(s.Paint(Yellow, "not counted: the "+strings.TrimPrefix(count(n, "log"), "1 ")+" of "+list(c.Unreadable, 4)+" cannot be read"))
	}
	return b.text.String()
}

func (c *Costs) table(b *block) {
	lines := [][]string{{c.By, "runs", "turns", "tokens", "cost"}}
	for i := range c.Rows {
		lines = append(lines, c.Rows[i].cells())
	}
	lines = append(lines, c.Total.cells())
	columns := make([]int, len(lines[0]))
	for _, cells := range lines {
		for i := range cells {
			columns[i] = max(columns[i], width(cells[i]))
		}
	}
	columns[0] = min(columns[0], 40)
	for n, cells := range lines {
		text := pad(cut(cells[0], columns[0]), columns[0])
		for i := 1; i < len(cells); i++ {
			text += "  " + padLeft(cells[i], columns[i])
		}
		switch n {
		case 0:
			text = b.style.Paint(Dim, text)
		case len(lines) - 1:
			text = b.style.Paint(Bold, text)
		}
		b.line(text)
	}
	if n := c.Total.CostUnknown; n > 0 {
		b.line("")
		b.line(b.style.Paint(Yellow, fmt.Sprintf("%s did not tell what %s cost; no sum has that", count(n, "turn"), itOrThey(n))))
	}
	if n := c.Total.TokensUnknown; n > 0 {
		b.line(b.style.Paint(Yellow, fmt.Sprintf("%s did not tell how many tokens %s took; no sum has those", count(n, "turn"), itOrThey(n))))
	}
}

func itOrThey(n int) string {
	if n == 1 {
		return "it"
	}
	return "they"
}

func (r *CostRow) cells() []string {
	tokens, cost := "unknown", "unknown"
	if r.Tokens != nil {
		tokens = thousands(*r.Tokens) + plusUnknown(r.TokensUnknown)
	}
	if r.Cost != nil {
		cost = Cost(r.Cost) + plusUnknown(r.CostUnknown)
	}
	return []string{flat(r.Key), thousands(r.Runs), thousands(r.Turns), tokens, cost}
}

// plusUnknown marks a sum that some turns are not in.
func plusUnknown(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(" + %d unknown", n)
}

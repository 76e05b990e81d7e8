package runner

import (
	"slices"

	"foundry/gates"
)

// Rewrite returns the event with every text in it that came from outside (what people wrote, agents answered, programs
// printed, files are called) given through f. Names, words of a closed list, digests and numbers stay as they are. What the
// event shares with others is not changed.
func (e Event) Rewrite(f func(string) string) Event {
	for _, text := range []*string{&e.Text, &e.Hint, &e.Because, &e.Feedback, &e.Who} {
		*text = f(*text)
	}
	if e.Run != nil {
		run := *e.Run
		run.Request, run.Who, run.Params = f(run.Request), f(run.Who), rewriteMap(run.Params, f)
		e.Run = &run
	}
	if e.Reply != nil {
		reply := *e.Reply
		reply.Text, reply.Error = f(reply.Text), f(reply.Error)
		e.Reply = &reply
	}
	if e.Result != nil {
		r := *e.Result
		r.Command, r.Output, r.Outputs, r.Notes = f(r.Command), f(r.Output), rewriteMap(r.Outputs, f), rewriteList(r.Notes, f)
		e.Result = &r
	}
	for i := range e.Seen {
		if i == 0 {
			e.Seen = slices.Clone(e.Seen)
		}
		e.Seen[i].Term, e.Seen[i].Value = f(e.Seen[i].Term), f(e.Seen[i].Value)
	}
	e.Problems, e.Changed, e.Suspects, e.Edited = rewriteList(e.Problems, f), rewriteList(e.Changed, f), rewriteList(e.Suspects, f), rewriteList(e.Edited, f)
	e.Items = slices.Clone(e.Items)
	for i := range e.Items {
		e.Items[i].Title = f(e.Items[i].Title)
	}
	e.Outside = slices.Clone(e.Outside)
	for i := range e.Outside {
		v := &e.Outside[i]
		v.Path, v.Reason, v.Note = f(v.Path), f(v.Reason), f(v.Note)
	}
	if e.Tool != nil {
		tool := *e.Tool
		tool.Name, tool.Paths, tool.Command = f(tool.Name), rewriteList(tool.Paths, f), f(tool.Command)
		e.Tool = &tool
	}
	e.Checks = rewriteChecks(e.Checks, f)
	return e
}

func rewriteChecks(checks []gates.Check, f func(string) string) []gates.Check {
	out := slices.Clone(checks)
	for i := range out {
		out[i].Item, out[i].Note = f(out[i].Item), f(out[i].Note)
	}
	return out
}

func rewriteList(list []string, f func(string) string) []string {
	out := slices.Clone(list)
	for i := range out {
		out[i] = f(out[i])
	}
	return out
}

func rewriteMap(m map[string]string, f func(string) string) map[string]string {
	if m == nil {
		return nil
	}
	out := make(map[string]string, len(m))
	for name, value := range m {
		out[name] = f(value)
	}
	return out
}

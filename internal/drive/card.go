package drive

import (
	"context"
	"fmt"
	"path/filepath"
	"sort"
	"strings"

	"foundry/dsl"
	"foundry/graph"
	"foundry/internal/workspace"
	"foundry/runner"
)

// cardLines bounds the diff stat in the context card.
const cardLines = 40

// cardReaders are the phases of which a text reads the context card, and whether a criterion does. The card costs a
// look at the whole workspace, so it is made for these alone.
func cardReaders(g *graph.Graph) (phases graph.Set, criteria bool) {
	everywhere := readCard(values(g.Project.Env))
	phases, criteria = graph.NewSet(len(g.Phases)), everywhere
	for i := range g.Phases {
		ph := &g.Phases[i]
		texts := append(values(ph.Env), ph.Prompt, ph.Question, ph.Message)
		texts = append(texts, ph.Script.Argv...)
		for _, a := range g.WorkersOf(ph.ID) {
			texts = append(append(texts, g.Agents[a].System), values(g.Agents[a].Env)...)
		}
		for _, gate := range ph.Gates {
			if gate.Command != nil {
				texts = append(append(texts, gate.Command.Script.Argv...), values(gate.Command.Env)...)
			}
		}
		if ph.Call != nil {
			texts = append(texts, criteriaTexts(ph.Call.Criteria)...)
		}
		if ph.Each != nil && ph.Each.Callee != nil {
			if called, criteria := cardReaders(ph.Each.Callee); criteria || !called.Empty() {
				phases.Add(ph.ID)
			}
		}
		if everywhere || readCard(texts) {
			phases.Add(ph.ID)
		}
	}
	return phases, criteria || readCard(criteriaTexts(g.Criteria))
}

// readsCard says whether a text of a phase reads the card. An item, and what it calls, is taken for the phase whose
// item it is.
func (d *driver) readsCard(p graph.PhaseID) bool {
	g, of := d.g(), p
	for ; p >= 0; p = g.Phases[p].Owner {
		if g.Phases[p].Item != nil {
			of = g.Phases[p].Owner
		}
	}
	return d.readers.Has(of)
}

func criteriaTexts(list []graph.Criterion) []*dsl.Template {
	var out []*dsl.Template
	for i := range list {
		c := &list[i].Command
		out = append(append(out, c.Script.Argv...), values(c.Env)...)
	}
	return out
}

func values(env []graph.EnvVar) []*dsl.Template {
	out := make([]*dsl.Template, len(env))
	for i := range env {
		out[i] = env[i].Value
	}
	return out
}

func readCard(texts []*dsl.Template) bool {
	for _, t := range texts {
		if t == nil {
			continue
		}
		for _, r := range t.Reads() {
			if r.Phase == "" && r.Field == "context" {
				return true
			}
		}
	}
	return false
}

// card is what `context` renders to: where the run stands in the repository, what it changed so far, the
// languages and the commands. What cannot be found out is left out.
func (d *driver) card(ctx context.Context, tree *workspace.Tree, info *runner.RunInfo) string {
	var b strings.Builder
	if d.g().Project.Name != "" {
		fmt.Fprintf(&b, "project: %s\n", d.g().Project.Name)
	}
	if info.Branch != "" {
		fmt.Fprintf(&b, "branch: %s\n", info.Branch)
	}
	if info.Base != "" {
		fmt.Fprintf(&b, "base: %s\n", info.Base)
	}
	if files, err := tree.Tracked(ctx); err == nil {
		if langs := languages(files); langs != "" {
			fmt.Fprintf(&b, "languages: %s\n", langs)
		}
	}
	var names []string
	for _, ph := range d.g().Phases {
		if ph.Command != "" {
			names = append(names, ph.Command+" ("+ph.Script.Label+")")
		}
	}
	if len(names) > 0 {
		fmt.Fprintf(&b, "commands: %s\n", strings.Join(names, ", "))
	}
	if now, err := tree.Snapshot(ctx); err == nil && info.BranchPoint != "" {
		if stat, err := d.Repo.Stat(ctx, info.BranchPoint, now.Tree); err == nil && strings.TrimSpace(stat) != "" {
			lines := strings.Split(strings.TrimRight(stat, "\n"), "\n")
			if len(lines) > cardLines {
				lines = append(lines[:cardLines-1:cardLines-1], lines[len(lines)-1])
			}
			fmt.Fprintf(&b, "changed since the branch point:\n%s\n", strings.Join(lines, "\n"))
		}
	}
	return strings.TrimSpace(b.String())
}

// languages names the most frequent kinds of files by their extension.
func languages(files []string) string {
	names := map[string]string{".go": "Go", ".py": "Python", ".js": "JavaScript", ".ts": "TypeScript", ".tsx": "TypeScript", ".rs": "Rust", ".java": "Java",
		".kt": "Kotlin", ".rb": "Ruby", ".c": "C", ".h": "C", ".cc": "C++", ".cpp": "C++", ".cs": "C#", ".php": "PHP", ".swift": "Swift", ".sh": "shell", ".sql": "SQL"}
	count := map[string]int{}
	for _, f := range files {
		if name, ok := names[strings.ToLower(filepath.Ext(f))]; ok {
			count[name]++
		}
	}
	var found []string
	for name := range count {
		found = append(found, name)
	}
	sort.Slice(found, func(i, j int) bool {
		if count[found[i]] != count[found[j]] {
			return count[found[i]] > count[found[j]]
		}
		return found[i] < found[j]
	})
	if len(found) > 4 {
		found = found[:4]
	}
	return strings.Join(found, ", ")
}

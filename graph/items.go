package graph

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"foundry/dsl"
)

// This file reads a list as the items of a phase: what each is called, and which of them wait for which. A list is
// judged as the phases of a file are: no two of one name, nothing unknown, no circle.

// Item is an entry of the list over which a phase is repeated.
type Item struct {
	Key    string   // its id, its text, or its place in the list
	Title  string   // "" when it has none
	Needs  []string // keys of items, as the entry lists them
	Weight string   // light, heavy or "": the model that its complexity asks for
	Value  any      // what texts read
	Writes [][]string
}

// longestKey is how long the key of an item may be, in bytes.
const longestKey = 200

// weights are the models that the complexity of an entry asks for.
var weights = map[string]string{"trivial": light, "complex": heavy}

// Read makes the items of a list, in the order in which they take turns: that of the list, an item behind those that
// it needs. The problems say what is wrong with the list; there are no items then.
func (e *Each) Read(list []any) (items []Item, problems []string) {
	at := map[string]int{}
	say := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	for i, entry := range list {
		it, why := readItem(i, entry)
		if why != "" {
			say("%s", why)
			continue
		}
		if first, twice := at[it.Key]; twice {
			say("entries %d and %d have the same id, %q", first+1, i+1, it.Key)
			continue
		}
		at[it.Key] = i
		items = append(items, it)
	}
	for i := range items {
		for _, need := range items[i].Needs {
			_, known := at[need]
			switch {
			case need == items[i].Key:
				say("%q needs itself", need)
			case !known:
				say("%q needs %q, which is not in the list", items[i].Key, need)
			}
		}
	}
	if len(problems) > 0 {
		return nil, problems
	}
	ordered, circle := inTurn(items)
	if len(circle) > 0 {
		return nil, []string{"these need each other in a circle: " + strings.Join(circle, ", ")}
	}
	return ordered, nil
}

func readItem(i int, entry any) (Item, string) {
	it := Item{Key: strconv.Itoa(i)}
	switch v := entry.(type) {
	case map[string]any:
		v = maps.Clone(v)
		switch id := v["id"].(type) {
		case nil:
			v["id"] = it.Key
		case string:
			if id == "" {
				v["id"] = it.Key
			} else {
				it.Key = id
			}
		default:
			it.Key = dsl.Text(id)
		}
		it.Value = v
		it.Title, _ = v["title"].(string)
		complexity, _ := v["complexity"].(string)
		it.Weight = weights[complexity]
		needs, ok := texts(v["needs"])
		if !ok {
			return it, fmt.Sprintf("entry %d: needs is no list of ids", i+1)
		}
		it.Needs = needs
	case string:
		it.Key, it.Title = v, v
		it.Value = map[string]any{"id": v, "title": v}
	default:
		it.Title = dsl.Text(v)
		it.Value = map[string]any{"id": it.Key, "title": it.Title}
	}
	if why := badKey(it.Key); why != "" {
		return it, fmt.Sprintf("entry %d: %q cannot be the name of an item: %s", i+1, clip(it.Key, 40), why)
	}
	return it, ""
}

// texts reads a list of texts; none at all is an empty one.
func texts(v any) ([]string, bool) {
	switch list := v.(type) {
	case nil:
		return nil, true
	case []string:
		return list, true
	case []any:
		var out []string
		for _, x := range list {
			s, ok := x.(string)
			if !ok {
				return nil, false
			}
			if !slices.Contains(out, s) {
				out = append(out, s)
			}
		}
		return out, true
	}
	return nil, false
}

func badKey(key string) string {
	switch {
	case strings.TrimSpace(key) == "":
		return "it is blank"
	case key != strings.TrimSpace(key):
		return "it begins or ends with a blank"
	case !utf8.ValidString(key):
		return "it is not UTF-8"
	case len(key) > longestKey:
		return fmt.Sprintf("it is longer than %d bytes", longestKey)
	case strings.ContainsFunc(key, func(r rune) bool { return !unicode.IsPrint(r) }):
		return "it holds a character that cannot be printed"
	}
	return ""
}

// inTurn puts items behind those that they need and else leaves them in the order of the list. circle names the ones
// that need each other.
func inTurn(items []Item) (ordered []Item, circle []string) {
	done := map[string]bool{}
	left := slices.Clone(items)
	for len(left) > 0 {
		i := slices.IndexFunc(left, func(it Item) bool {
			return !slices.ContainsFunc(it.Needs, func(need string) bool { return !done[need] })
		})
		if i < 0 {
			return nil, inCircle(left)
		}
		done[left[i].Key] = true
		ordered = append(ordered, left[i])
		left = slices.Delete(left, i, i+1)
	}
	return ordered, nil
}

// inCircle are those of some items that cannot be ordered which lie on a circle: nothing that is only in front of
// one, or behind it.
func inCircle(left []Item) []string {
	for {
		n := len(left)
		left = slices.DeleteFunc(left, func(it Item) bool {
			return !slices.ContainsFunc(left, func(o Item) bool { return slices.Contains(o.Needs, it.Key) })
		})
		if len(left) == n {
			break
		}
	}
	var out []string
	for _, it := range left {
		out = append(out, strconv.Quote(it.Key))
	}
	return out
}

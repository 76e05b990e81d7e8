package runner

import (
	"encoding/json"
	"regexp"
	"strconv"
	"strings"

	"foundry/graph"
)

// ReadOutputs reads a code phase's outputs out of what it printed: the last match of each pattern, or the
// value that a JSON pointer names in the last line or the whole of it that is JSON. missing names the
// required ones that were not found, or did not have their type.
func ReadOutputs(outputs []graph.Output, printed string) (found map[string]string, missing []string) {
	for _, o := range outputs {
		text, ok := "", false
		if o.Regex != "" {
			text, ok = lastMatch(o.Regex, printed)
		} else {
			text, ok = pointed(o.JSON, printed)
		}
		if ok {
			switch o.Type {
			case graph.ParamInt:
				_, err := strconv.Atoi(text)
				ok = err == nil
			case graph.ParamNumber:
				_, err := strconv.ParseFloat(text, 64)
				ok = err == nil
			case graph.ParamBool:
				ok = text == "true" || text == "false"
			}
		}
		if !ok {
			if o.Required {
				missing = append(missing, o.Name)
			}
			continue
		}
		if found == nil {
			found = map[string]string{}
		}
		found[o.Name] = text
	}
	return found, missing
}

func lastMatch(pattern, printed string) (string, bool) {
	re, err := regexp.Compile(pattern)
	if err != nil {
		return "", false
	}
	all := re.FindAllStringSubmatch(printed, -1)
	if len(all) == 0 {
		return "", false
	}
	last := all[len(all)-1]
	if len(last) > 1 {
		return last[1], true
	}
	return last[0], true
}

// pointed follows a JSON pointer (RFC 6901) into the printed text, else into its last line that is JSON.
func pointed(pointer, printed string) (string, bool) {
	candidates := []string{strings.TrimSpace(printed)}
	lines := strings.Split(strings.TrimSpace(printed), "\n")
	for i := len(lines) - 1; i >= 0 && len(candidates) < 50; i-- {
		candidates = append(candidates, lines[i])
	}
	for _, c := range candidates {
		dec := json.NewDecoder(strings.NewReader(c))
		dec.UseNumber()
		var v any
		if dec.Decode(&v) != nil {
			continue
		}
		if text, ok := pointAt(v, pointer); ok {
			return text, true
		}
	}
	return "", false
}

func pointAt(v any, pointer string) (string, bool) {
	if pointer != "" {
		for _, part := range strings.Split(strings.TrimPrefix(pointer, "/"), "/") {
			part = strings.NewReplacer("~1", "/", "~0", "~").Replace(part)
			switch at := v.(type) {
			case map[string]any:
				next, ok := at[part]
				if !ok {
					return "", false
				}
				v = next
			case []any:
				i, err := strconv.Atoi(part)
				if err != nil || i < 0 || i >= len(at) {
					return "", false
				}
				v = at[i]
			default:
				return "", false
			}
		}
	}
	switch v := v.(type) {
	case string:
		return v, true
	case json.Number:
		return v.String(), true
	case bool:
		return strconv.FormatBool(v), true
	case nil:
		return "", false
	}
	raw, err := json.Marshal(v)
	return string(raw), err == nil
}

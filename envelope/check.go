package envelope

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Problem is one thing that is wrong with a reply. Path is the field, as "steps[2].files[0]"; "" is the
// reply as a whole.
type Problem struct {
	Path    string
	Message string
}

// String is the problem as an agent is told it.
func (p Problem) String() string {
	if p.Path == "" {
		return p.Message
	}
	return p.Path + ": " + p.Message
}

// maxProblems is how many problems are listed; more do not help anybody to repair a reply.
const maxProblems = 20

// checked is an object held against a kind. The object has what was written and no defaults.
type checked struct {
	object   Object
	problems []Problem
	unknown  []string // keys at the top level that the kind does not have
}

// check holds an object against a kind.
func check(k *Kind, n node) checked {
	c := &checker{}
	object, unknown := c.object(k.Fields, n, "")
	if more := c.count - len(c.problems); more > 0 {
		c.problems = append(c.problems, Problem{"", fmt.Sprintf("and %d more problems", more)})
	}
	return checked{object, c.problems, unknown}
}

type checker struct {
	problems []Problem
	count    int
}

func (c *checker) report(path, format string, args ...any) {
	c.count++
	if c.count <= maxProblems {
		c.problems = append(c.problems, Problem{path, fmt.Sprintf(format, args...)})
	}
}

// object checks the fields of an object; path is "" for the envelope itself.
func (c *checker) object(fields []Field, n node, path string) (Object, []string) {
	out := make(Object, len(n.keys))
	var unknown []string
	for _, key := range n.twice {
		c.report(join(path, key), "the key stands there twice")
	}
	for _, f := range fields {
		i := slices.Index(n.keys, f.Name)
		if i < 0 {
			if f.Required {
				c.report(join(path, f.Name), "is missing, it must be %s", f.wants())
			}
			continue
		}
		out[f.Name] = c.value(f, n.kids[i], join(path, f.Name))
	}
	for i, key := range n.keys {
		if _, done := out[key]; done || slices.ContainsFunc(fields, func(f Field) bool { return f.Name == key }) {
			continue
		}
		// A name that differs only in case is no unknown key but a field that would go unseen.
		if near := slices.IndexFunc(fields, func(f Field) bool { return strings.EqualFold(f.Name, key) }); near >= 0 {
			c.report(join(path, key), "the key is spelled %q", fields[near].Name)
			continue
		}
		out[key] = c.plain(n.kids[i], join(path, key))
		unknown = append(unknown, key)
	}
	return out, unknown
}

// value checks one value of a field and converts it.
func (c *checker) value(f Field, n node, path string) any {
	switch {
	case f.Type == List && n.shape == list:
		element := Field{Type: f.Of, Enum: f.Enum, Fields: f.Fields, Required: true}
		out := make([]any, len(n.kids))
		for i, kid := range n.kids {
			out[i] = c.value(element, kid, fmt.Sprintf("%s[%d]", path, i))
		}
		return out
	case f.Type == Nested && n.shape == object:
		o, _ := c.object(f.Fields, n, path)
		return o
	case f.Type == Bool && n.shape == boolean:
		return n.truth
	case f.Type == String && n.shape == text:
		if f.Enum != nil && !slices.Contains(f.Enum, n.text) {
			c.report(path, "must be %s, got %q", f.wants(), clip(n.text))
		}
		return n.text
	case f.Type == Path && n.shape == text:
		c.path(f, n, path)
		return n.text
	case f.Type == Int && n.shape == number:
		i, ok := exactInt(n.text)
		if !ok {
			c.report(path, "must be a whole number of at most 64 bits, got %s", clip(n.text))
		}
		return i
	case f.Type == Number && n.shape == number:
		v, ok := exactFloat(n.text)
		if !ok {
			c.report(path, "cannot be held exactly, got %s", clip(n.text))
		}
		return v
	}
	if n.shape == null && !f.Required {
		c.report(path, "must be %s, got null, leave it out instead", f.wants())
	} else {
		c.report(path, "must be %s, got %s", f.wants(), n.shape)
	}
	return nil
}

// path refuses what no file can be named. Whether the file exists, and where, is not asked here.
func (c *checker) path(f Field, n node, path string) {
	switch {
	case n.lone:
		c.report(path, "is not a path, it has half of a surrogate pair (\\uD800 to \\uDFFF)")
	case strings.ContainsRune(n.text, 0):
		c.report(path, "is not a path, it has a NUL character")
	case n.text == "" && f.Required:
		c.report(path, "is empty, it must be a path from the repository root")
	}
}

// plain converts a value that no field describes. Equal keys are refused even there: a reader of the record
// would see another value than the one that was meant.
func (c *checker) plain(n node, path string) any {
	switch n.shape {
	case boolean:
		return n.truth
	case text:
		return n.text
	case number:
		return plainNumber(n.text)
	case list:
		out := make([]any, len(n.kids))
		for i, kid := range n.kids {
			out[i] = c.plain(kid, fmt.Sprintf("%s[%d]", path, i))
		}
		return out
	case object:
		o, _ := c.object(nil, n, path)
		return o
	}
	return nil
}

// wants says what a field must be.
func (f Field) wants() string {
	switch f.Type {
	case Int:
		return "a whole number"
	case Number:
		return "a number"
	case Bool:
		return "true or false"
	case Nested:
		return "an object"
	case Path:
		return "a path from the repository root"
	case List:
		switch f.Of {
		case Path:
			return "a list of paths"
		case Nested:
			return "a list of objects"
		case Bool:
			return "a list of booleans"
		}
		return "a list of " + f.Of.String() + "s"
	}
	if f.Enum != nil {
		return "one of " + strings.Join(f.Enum, ", ")
	}
	return "a string"
}

func join(path, key string) string {
	if path == "" {
		return clip(key)
	}
	return path + "." + clip(key)
}

// clip keeps what an agent wrote from filling a message.
func clip(s string) string {
	if len(s) <= 60 {
		return s
	}
	return strings.ToValidUTF8(s[:57], "") + "..."
}

// exactInt converts a number as JSON writes it, when it is whole and fits: 3, 3.0 and 3e2 do, 3.5 does not.
func exactInt(literal string) (int, bool) {
	if i, err := strconv.Atoi(literal); err == nil {
		return i, true
	}
	sign := ""
	if strings.HasPrefix(literal, "-") {
		sign, literal = "-", literal[1:]
	}
	mantissa, exponent, _ := strings.Cut(strings.ToLower(literal), "e")
	whole, fraction, _ := strings.Cut(mantissa, ".")
	shift := 0
	if exponent != "" {
		var err error
		if shift, err = strconv.Atoi(exponent); err != nil {
			return 0, false
		}
	}
	digits := strings.TrimLeft(whole+fraction, "0")
	shift -= len(fraction)
	kept := strings.TrimRight(digits, "0")
	shift += len(digits) - len(kept)
	switch {
	case kept == "":
		return 0, true
	case shift < 0 || shift > 20:
		return 0, false
	}
	i, err := strconv.Atoi(sign + kept + strings.Repeat("0", shift))
	return i, err == nil
}

// exactFloat converts a number. A fraction is rounded as everywhere; a whole number that would change is
// refused, since it may be an identifier.
func exactFloat(literal string) (float64, bool) {
	v, err := strconv.ParseFloat(literal, 64)
	if err != nil || math.IsInf(v, 0) {
		return 0, false
	}
	if !strings.ContainsAny(literal, ".eE") && strconv.FormatFloat(v, 'f', -1, 64) != literal {
		return 0, false
	}
	return v, true
}

// plainNumber keeps a number of an unknown key: as int or float64 where that says the same, else as written.
func plainNumber(literal string) any {
	if i, err := strconv.Atoi(literal); err == nil && strconv.Itoa(i) == literal {
		return i
	}
	v, err := strconv.ParseFloat(literal, 64)
	if err == nil && (strconv.FormatFloat(v, 'f', -1, 64) == literal || strconv.FormatFloat(v, 'g', -1, 64) == literal) {
		return v
	}
	return json.Number(literal)
}

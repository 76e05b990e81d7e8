package envelope

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"
)

const tail = `{"status":"success","summary":"tail wins","artifacts":[],"changed_files":[]}`

// prose is a reply of about size bytes with the report at its end.
func prose(size int) string {
	line := "step 17: looked at {things} and [more]; nothing to add here, moving along to next.\n"
	return strings.Repeat(line, size/len(line)) + tail
}

// Whatever an agent sends, reading it takes time in proportion to its length.
func TestSizes(t *testing.T) {
	const mega = 1 << 19
	for name, tc := range map[string]struct {
		text    string
		summary string // "" is refused
		problem string
	}{
		"60 MB of prose":         {prose(120 * mega), "tail wins", ""},
		"a line of 15 MB":        {strings.Replace(tail, "tail wins", strings.Repeat("y", 30*mega), 1), strings.Repeat("y", 30*mega), ""},
		"braces":                 {strings.Repeat("{", mega) + tail, "tail wins", ""},
		"brackets":               {strings.Repeat("[", mega) + "x" + tail, "tail wins", ""},
		"brackets to the end":    {strings.Repeat("[", mega), "", "no JSON object"},
		"deep":                   {`{"status":"success","summary":"x","x":` + strings.Repeat("[", 20000) + strings.Repeat("]", 20000) + "}", "", "nested too deep"},
		"deep objects":           {strings.Repeat(`{"a":`, mega/5), "", "ends inside"},
		"deep objects and prose": {strings.Repeat(`{"a":`, mega/5) + "x" + tail, "tail wins", ""},
		"deep broken reports":    {strings.Repeat(`{"status":`, mega/10) + "x", "", "nested too deep"},
		"keys without an end":    {strings.Repeat(`{"a" `, mega/5) + "x", "", "expected a colon"},
		"line comments":          {strings.Repeat("{//", mega/3), "", "ends inside"},
		"list comments":          {strings.Repeat("[//", mega/3), "", "unbalanced"},
		"comments to one line":   {strings.Repeat("{//", mega/3) + "\n" + tail, "", "unbalanced"},
		"comments in comments":   {strings.Repeat("/*{/**/", mega/7) + "{x", "", "unbalanced"},
		"small objects":          {strings.Repeat("{}", mega/2) + tail, "tail wins", ""},
		"reports":                {strings.Repeat(tail, mega/len(tail)), "tail wins", ""},
		"wrong reports":          {strings.Repeat(`{"status":"x","summary":""}`, mega/27), "", "status: must be"},
		"many keys":              {`{"status":"success","summary":"keys",` + strings.Repeat(`"k":1,`, mega/6) + `"z":1}`, "", "twice"},
		"many unknown keys":      {manyKeys(mega / 12), "keys", ""},
		"fences":                 {strings.Repeat("```\n", mega/4) + tail, "tail wins", ""},
		"tags":                   {"a" + strings.Repeat("<think>", mega/7) + tail, "tail wins", ""},
		"closing tags":           {strings.Repeat("</think>\n", mega/9) + tail, "tail wins", ""},
		"tags and closing ends":  {"a" + strings.Repeat("<think></", mega/9) + tail, "tail wins", ""},
		"quotes in a broken one": {strings.Repeat(`{"status":"`, mega/11), "", "expected a comma"},
	} {
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			got := Parse(builtin(t, "build"), tc.text, false)
			spent := time.Since(start)
			// Generous, for busy machines: a quadratic scan would take minutes.
			if limit := 5 * time.Second; spent > limit {
				t.Errorf("took %v, more than %v", spent, limit)
			}
			if tc.summary != "" && (got.Envelope == nil || got.Envelope["summary"] != tc.summary) {
				t.Errorf("not found: %.200s", joined(got.Problems))
			}
			if tc.summary == "" && (got.Envelope != nil || !strings.Contains(joined(got.Problems), tc.problem)) {
				t.Errorf("problems are %.300q, want %q", joined(got.Problems), tc.problem)
			}
		})
	}
}

func manyKeys(n int) string {
	var b strings.Builder
	b.WriteString(`{"status":"success","summary":"keys"`)
	for i := range n {
		b.WriteString(`,"k` + strings.Repeat("x", i%7) + string(rune('a'+i%26)) + `_` + strings.Repeat("0", i%5) + itoa(i) + `":1`)
	}
	b.WriteString("}")
	return b.String()
}

func itoa(i int) string {
	b, err := json.Marshal(i)
	if err != nil {
		panic(err)
	}
	return string(b)
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		tail, "```json\n" + tail + "\n```\n", "<think>{\n</think>\n" + tail, "[" + tail + "]",
		`{"status":"success","approved":true,"findings":[{"requirement":"a","met":true}],"x":1.0e5,"y":[null,{"a":-0}]}`,
		`{"status":"success","severity":"low","ratio":123456789012345678901e2,"count":3.0,"places":[{"file":"a"}],}`,
		`{"status":"fail" /* x */, "summary":"` + "\n" + `\ud83d\ude00\ud83d",}`, "{{[\"\\u", "~~~ {\"status\": tru",
	} {
		f.Add(seed, false)
	}
	kinds := append(Builtins(), *triage())
	f.Fuzz(func(t *testing.T, reply string, truncated bool) {
		for i := range kinds {
			k := &kinds[i]
			got := Parse(k, reply, truncated)
			if (got.Envelope == nil) != (len(got.Problems) > 0) || truncated && got.Envelope != nil {
				t.Fatalf("%s: neither accepted nor refused: %+v", k.Name, got)
			}
			for _, p := range got.Problems {
				if p.String() == "" {
					t.Fatalf("%s: a problem without words", k.Name)
				}
			}
			if got.Envelope == nil {
				continue
			}
			raw, err := json.Marshal(got.Envelope)
			if err != nil {
				t.Fatalf("%s: %v", k.Name, err)
			}
			again, problems := decode(k, raw)
			if problems != nil || !reflect.DeepEqual(again, got.Envelope) {
				t.Fatalf("%s: accepted %#v, which is %v, %#v", k.Name, got.Envelope, problems, again)
			}
			k.Paths(got.Envelope)
		}
	})
}

func BenchmarkParse(b *testing.B) {
	k := builtin(b, "build")
	for name, text := range map[string]string{
		"small":         "Done.\n\n```json\n{\"status\":\"success\",\"summary\":\"parser split\",\"artifacts\":[],\"changed_files\":[\"src/p.go\",\"src/q.go\"]}\n```\n",
		"1MB prose":     prose(1 << 20),
		"1MB string":    strings.Replace(tail, "tail wins", strings.Repeat("y", 1<<20), 1),
		"1MB escapes":   strings.Replace(tail, "tail wins", strings.Repeat(`\n\"`, 1<<18), 1),
		"1MB of braces": strings.Repeat("{", 1<<20) + tail,
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				if Parse(k, text, false).Envelope == nil {
					b.Fatal("not found")
				}
			}
		})
	}
}

package graph

import (
	"reflect"
	"testing"
	"time"

	"foundry/diag"
	"foundry/schema"
)

// filled is a value of a phase's field that was written; n tells two of them apart.
func filled(t *testing.T, kind reflect.Type, n int) reflect.Value {
	t.Helper()
	word := string(rune('a' + n))
	text := schema.Text{Value: word, Set: true}
	span := diag.Span{Source: diag.NewSource("f", "abc"), Start: n, End: n + 1}
	for _, v := range []any{text, schema.Texts{Items: []schema.Text{text}, Set: true}, schema.Bool{Value: true, Span: span, Set: true},
		schema.Int{Value: n, Set: true}, schema.Duration{Value: time.Duration(n), Set: true}, schema.Prose{Text: text}, schema.Script{Shell: text},
		schema.Pairs{Items: []schema.Pair{{Name: text, Value: text}}, Set: true}, schema.Route{Set: true, Span: span}, schema.Each{In: text, Set: true},
		schema.ExitCodes{Codes: []schema.Int{{Value: n, Set: true}}, Set: true}, []schema.Gate{{Kind: text}}, []schema.Output{{Name: text}}, span} {
		if reflect.TypeOf(v) == kind {
			return reflect.ValueOf(v)
		}
	}
	t.Fatalf("no value of %s", kind)
	return reflect.Value{}
}

// Every field of a phase comes from the patch when it was written there, else from the phase that is patched.
func TestPatchMergesEveryField(t *testing.T) {
	t.Parallel()
	fields := reflect.TypeFor[schema.Phase]()
	for i := range fields.NumField() {
		f := fields.Field(i)
		if f.Name == "ID" || f.Name == "Span" {
			continue
		}
		var base, patch schema.Phase
		old, now := filled(t, f.Type, 1), filled(t, f.Type, 2)
		reflect.ValueOf(&base).Elem().Field(i).Set(old)
		got := reflect.ValueOf(patched(base, &schema.Patch{})).Field(i)
		if !reflect.DeepEqual(got.Interface(), old.Interface()) {
			t.Errorf("%s is lost", f.Name)
		}
		reflect.ValueOf(&patch).Elem().Field(i).Set(now)
		got = reflect.ValueOf(patched(base, &schema.Patch{Phase: patch})).Field(i)
		switch f.Name {
		case "Env", "Set":
			if len(got.Interface().(schema.Pairs).Items) != 2 {
				t.Errorf("%s is not merged", f.Name)
			}
		case "Outputs":
			if got.Len() != 2 {
				t.Errorf("%s are not merged", f.Name)
			}
		default:
			if !reflect.DeepEqual(got.Interface(), now.Interface()) {
				t.Errorf("%s is not taken from the patch", f.Name)
			}
		}
	}
}

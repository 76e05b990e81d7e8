package runner

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

// words are the fields that hold no text from outside: names, words of a closed list, digests, what only decisions have.
var words = strings.Fields(`Kind Phase Item Calls Status Reason Rule Target Tree Ref Kept Purpose Agent Harness Model Session File Criterion Culprit After Gate Outcome Answer
	Limit Commit Envelope Reused.Phase Reused.Run Run.Only Run.ID Run.Pipeline Run.From Run.Until Run.File Run.FileCommit Run.Isolation Run.Merge Run.Base Run.Branch Run.BranchPoint
	Run.Worktree Run.Fingerprint Run.Version Base Worktree Inputs.Name Inputs.Digest Each Items.Name Items.ID Items.Needs Items.Model Reply.Stop Result.Signal Result.Missing Outside.Change Outside.By Tool.Kind Tool.Whole`)

// Every field of an event that holds text is either rewritten or known to hold none from outside.
func TestRewriteMissesNoText(t *testing.T) {
	t.Parallel()
	var e Event
	fill(reflect.ValueOf(&e).Elem())
	before := e.Text
	got := e.Rewrite(func(s string) string { return strings.ReplaceAll(s, "hidden", "masked") })
	var left []string
	collect(reflect.ValueOf(got), "", &left)
	want := slices.Sorted(slices.Values(words))
	slices.Sort(left)
	left = slices.Compact(left)
	if !slices.Equal(left, want) {
		t.Errorf("these are not rewritten: %v\nwant %v", left, want)
	}
	var still []string
	collect(reflect.ValueOf(e), "", &still)
	if before != e.Text || len(still) <= len(left) || e.Result.Notes[0] != "hidden" || e.Outside[0].Path != "hidden" {
		t.Error("the event itself was changed")
	}
}

func fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString("hidden")
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			v.SetBytes([]byte(`"hidden"`))
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0))
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(reflect.ValueOf("name"), reflect.ValueOf("hidden"))
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			return
		}
		for i := range v.NumField() {
			fill(v.Field(i))
		}
	}
}

func collect(v reflect.Value, path string, found *[]string) {
	switch v.Kind() {
	case reflect.String:
		if v.String() == "hidden" {
			*found = append(*found, path)
		}
	case reflect.Pointer:
		collect(v.Elem(), path, found)
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			*found = append(*found, path)
			return
		}
		for i := range v.Len() {
			collect(v.Index(i), path, found)
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			collect(v.MapIndex(key), path, found)
		}
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			return
		}
		for i := range v.NumField() {
			name := v.Type().Field(i).Name
			if path != "" {
				name = path + "." + name
			}
			collect(v.Field(i), name, found)
		}
	}
}

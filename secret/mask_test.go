package secret

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"net/url"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"foundry/internal/seed"
)

var _ = seed.FromEnvironment()

const key = "-----BEGIN KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQ\nEFAASCBKcwggSjAgEAAoIBAQ==\n-----END KEY-----\n"

var values = []Value{{"TOKEN", `sk-<"a\b&>9`}, {"LONG", strings.Repeat("0123456789abcdef", 10)}, {"KEY", key}, {"SHORT", "abc"}, {"BLANK", "  ab \n"}, {"UNSET", ""}}

func TestSpellings(t *testing.T) {
	t.Parallel()
	m := New(values)
	quoted, _ := json.Marshal(values[0].Text)
	wrapped := base64.StdEncoding.EncodeToString([]byte(values[1].Text + "\n"))
	for name, text := range map[string]string{
		"itself":            "curl -H " + values[0].Text,
		"JSON":              string(quoted),
		"a query":           "?t=" + url.QueryEscape(values[0].Text),
		"a path":            "/" + url.PathEscape(values[0].Text),
		"base64":            base64.StdEncoding.EncodeToString([]byte(values[0].Text)),
		"base64, a line":    base64.StdEncoding.EncodeToString([]byte(values[0].Text + "\n")),
		"basic auth":        base64.StdEncoding.EncodeToString([]byte("user:" + values[0].Text)),
		"other basic auth":  base64.StdEncoding.EncodeToString([]byte("usr:" + values[0].Text + ":x")),
		"hexadecimal":       "736b2d3c22615c62263e39",
		"base64, broken":    wrapped[:76] + "\n" + wrapped[76:152] + "\n" + wrapped[152:],
		"a line of several": "  MIIEvQIBADANBgkqhkiG9w0BAQ",
		"several lines":     key,
	} {
		got := m.Text(text)
		if !strings.Contains(got, "[secret ") || strings.Contains(got, "a\\b") || strings.Contains(got, "MIIE") || strings.Contains(got, "c2st") || strings.Contains(got, wrapped[10:60]) ||
			strings.Contains(got, wrapped[90:140]) {
			t.Errorf("%s: %q", name, got)
		}
		if again := m.Text(got); again != got {
			t.Errorf("%s: masked again it is %q", name, again)
		}
		if name, ok := m.Finds(text); !ok || name == "" {
			t.Errorf("%s: not found in %q", name, text)
		}
	}
	for _, text := range []string{"abc", "ab", "-----BEGIN KEY-----", "sk-", ""} {
		if got := m.Text(text); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
	if New([]Value{{"A", "abc"}, {"B", ""}}) != nil {
		t.Error("a mask of nothing")
	}
	var none *Mask
	if _, ok := none.Finds("x"); none.Text("x") != "x" || string(none.Stream().Write([]byte("x"))) != "x" || ok {
		t.Error("no mask does something")
	}
}

// The pieces in which a text comes make no difference.
func TestStreamIsTheWhole(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		alphabet := rapid.SampledFrom([]byte("aabbcd"))
		var vs []Value
		for i, v := range rapid.SliceOfN(rapid.SliceOfN(alphabet, 4, 9), 1, 4).Draw(t, "values") {
			vs = append(vs, Value{string(rune('P' + i)), string(v)})
		}
		m := New(vs)
		s := m.Stream()
		var whole, got []byte
		for _, p := range rapid.SliceOf(rapid.SliceOfN(alphabet, 0, 12)).Draw(t, "pieces") {
			whole = append(whole, p...)
			got = append(got, s.Write(bytes.Clone(p))...)
		}
		got = append(got, s.Flush()...)
		if want := m.Text(string(whole)); string(got) != want {
			t.Fatalf("values %q, text %q: in pieces %q, whole %q", vs, whole, got, want)
		}
		for _, v := range vs {
			if strings.Contains(string(got), v.Text) {
				t.Fatalf("%q is left in %q", v.Text, got)
			}
		}
	})
}

func BenchmarkStream(b *testing.B) {
	s := New(values).Stream()
	p := bytes.Repeat([]byte("ok  \tfoundry/internal/process\t0.012s\n"), 7000)
	b.SetBytes(int64(len(p)))
	for range b.N {
		s.Write(p)
	}
}

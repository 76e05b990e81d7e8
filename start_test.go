package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// BenchmarkStart compares the start of the program with that of the smallest Go program, which is the floor:
// no command can be faster. Completion reads names only and has to stay under 50 ms.
func BenchmarkStart(b *testing.B) {
	dir := b.TempDir()
	hello := filepath.Join(dir, "hello.go")
	if err := os.WriteFile(hello, []byte("package main\n\nimport \"os\"\n\nfunc main() { os.Stdout.WriteString(\"hello\\n\") }\n"), 0o644); err != nil {
		b.Fatal(err)
	}
	build(b, filepath.Join(dir, "hello"), hello)
	build(b, filepath.Join(dir, "foundry"), ".")
	for _, run := range []struct {
		name string
		argv []string
	}{
		{"hello", []string{"hello"}},
		{"version", []string{"foundry", "version"}},
		{"complete", []string{"foundry", "-f", "foundry.yaml.example", "__complete", "--", "graph", ""}},
		{"lint", []string{"foundry", "lint", "-q", "foundry.yaml.example"}},
	} {
		b.Run(run.name, func(b *testing.B) {
			for b.Loop() {
				if out, err := exec.Command(filepath.Join(dir, run.argv[0]), run.argv[1:]...).CombinedOutput(); err != nil {
					b.Fatalf("%v: %v\n%s", run.argv, err, out)
				}
			}
		})
	}
}

func build(b *testing.B, to, what string) {
	b.Helper()
	if out, err := exec.Command("go", "build", "-o", to, what).CombinedOutput(); err != nil {
		b.Fatalf("build %s: %v\n%s", what, err, out)
	}
}

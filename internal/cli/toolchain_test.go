package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// writeFiles lays out a directory from "name: text" pairs.
func writeFiles(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestFindToolchain(t *testing.T) {
	t.Parallel()
	scripts := `{"scripts": {"test": "vitest", "lint": "eslint .", "build": "tsc", "start": "node ."}`
	for _, tt := range []struct {
		name     string
		files    map[string]string
		commands string // name=run, joined by ;
		setup    string
	}{
		{name: "nothing", files: map[string]string{"README.md": ""}},
		{name: "npm", files: map[string]string{"package.json": scripts + "}", "package-lock.json": ""},
			commands: "test=npm test;lint=npm run lint;build=npm run build", setup: "npm ci"},
		{name: "npm without a lockfile", files: map[string]string{"package.json": `{"scripts": {"test": "jest"}}`},
			commands: "test=npm test", setup: "npm install --no-package-lock"},
		{name: "npm's own placeholder is no test", files: map[string]string{
			"package.json": `{"scripts": {"test": "echo \"Error: no test specified\" && exit 1"}}`}, setup: "npm install --no-package-lock"},
		{name: "pnpm", files: map[string]string{"package.json": scripts + "}", "pnpm-lock.yaml": ""},
			commands: "test=pnpm test;lint=pnpm run lint;build=pnpm run build", setup: "pnpm install --frozen-lockfile"},
		{name: "yarn 1", files: map[string]string{"package.json": `{"scripts": {"test": "jest"}}`, "yarn.lock": ""},
			commands: "test=yarn test", setup: "yarn install --frozen-lockfile"},
		{name: "yarn 4", files: map[string]string{"package.json": `{"scripts": {"test": "jest"}}`, "yarn.lock": "", ".yarnrc.yml": ""},
			commands: "test=yarn test", setup: "yarn install --immutable"},
		{name: "bun", files: map[string]string{"package.json": `{"scripts": {"test": "bun test"}}`, "bun.lock": ""},
			commands: "test=bun run test", setup: "bun install --frozen-lockfile"},
		{name: "declared package manager", files: map[string]string{"package.json": scripts + `, "packageManager": "pnpm@9.1.0"}`},
			commands: "test=pnpm test;lint=pnpm run lint;build=pnpm run build", setup: "pnpm install"},
		{name: "cargo", files: map[string]string{"Cargo.toml": "[package]\nname = \"x\"\n"},
			commands: "test=cargo test;lint=cargo clippy --all-targets -- -D warnings;build=cargo build"},
		{name: "cargo workspace", files: map[string]string{"Cargo.toml": "[workspace]\nmembers = [\"a\"]\n"},
			commands: "test=cargo test --workspace;lint=cargo clippy --workspace --all-targets -- -D warnings;build=cargo build --workspace"},
		{name: "go", files: map[string]string{"go.mod": "module x\n"},
			commands: "test=go test ./...;lint=go vet ./...;build=go build ./..."},
		{name: "go with golangci", files: map[string]string{"go.mod": "module x\n", ".golangci.yml": ""},
			commands: "test=go test ./...;lint=golangci-lint run;build=go build ./..."},
		{name: "pyproject with pytest and ruff", files: map[string]string{"pyproject.toml": "[tool.pytest.ini_options]\n[tool.ruff]\n", "uv.lock": ""},
			commands: "test=uv run pytest;lint=uv run ruff check .", setup: "uv sync --locked"},
		{name: "requirements", files: map[string]string{"requirements.txt": "flask\n", "requirements-dev.txt": "pytest==8\nflake8\n"},
			commands: "test=python3 -m pytest;lint=python3 -m flake8"},
		{name: "tests without a project file", files: map[string]string{"tests/test_x.py": ""}, commands: "test=python3 -m unittest discover -s tests"},
		{name: "tests at the top", files: map[string]string{"test_x.py": ""}, commands: "test=python3 -m unittest"},
		{name: "a conftest alone", files: map[string]string{"conftest.py": ""}, commands: "test=python3 -m pytest"},
		{name: "unittest", files: map[string]string{"pyproject.toml": "[project]\n", "tests/test_x.py": "", "poetry.lock": ""},
			commands: "test=poetry run python -m unittest discover -s tests", setup: "poetry install"},
		{name: "gradle wrapper", files: map[string]string{"build.gradle.kts": "", "gradlew": ""},
			commands: "test=./gradlew test;build=./gradlew assemble"},
		{name: "maven", files: map[string]string{"pom.xml": ""},
			commands: "test=mvn -B -q test;build=mvn -B -q -DskipTests package"},
		{name: "dotnet", files: map[string]string{"App.sln": ""},
			commands: "test=dotnet test;lint=dotnet format --verify-no-changes;build=dotnet build"},
		{name: "make", files: map[string]string{"Makefile": "CC := cc\nall: x\nx y: z\n\tcc\n.PHONY: check\ncheck:\n\t./x\nlint::\n\tl\n"},
			commands: "test=make check;lint=make lint;build=make all"},
		{name: "make variables are no targets", files: map[string]string{"Makefile": "test := 1\nbuild ::= 2\nlint = 3\n"}},
		{name: "the more specific file first", files: map[string]string{"go.mod": "module x\n", "Makefile": "test:\n\tgo test\ndeploy:\n"},
			commands: "test=go test ./...;lint=go vet ./...;build=go build ./..."},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			found, err := findToolchain(writeFiles(t, tt.files))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, c := range found.commands {
				got = append(got, c.name+"="+c.run)
			}
			if strings.Join(got, ";") != tt.commands {
				t.Errorf("commands %q, want %q", strings.Join(got, ";"), tt.commands)
			}
			if strings.Join(found.setup, ";") != tt.setup {
				t.Errorf("setup %q, want %q", found.setup, tt.setup)
			}
		})
	}
}

func TestFindToolchainSaysWhatIsBroken(t *testing.T) {
	t.Parallel()
	if _, err := findToolchain(writeFiles(t, map[string]string{"package.json": "{"})); err == nil || !strings.Contains(err.Error(), "package.json") {
		t.Errorf("error %v, want one that names package.json", err)
	}
}

// TestInitLintsClean writes the file for every kind of repository and holds it to the strictest lint.
func TestInitLintsClean(t *testing.T) {
	t.Parallel()
	all := map[string]string{"package.json": `{"scripts": {"test": "x", "lint": "y", "build": "z"}}`, "package-lock.json": ""}
	for name, f := range map[string]found{
		"nothing": {}, "agents": {agents: []string{"claude", "gemini"}}, "odd": {copies: []string{".env"}, protect: []string{".github/**"},
			toolchain: toolchain{commands: []foundCommand{{"test", `echo "a: b" #c && ! true`, "Makefile"}}, setup: []string{"npm ci"}}},
	} {
		t.Run(name, func(t *testing.T) { lintStrictly(t, f.pipelineFile()) })
	}
	f, err := lookAround(writeFiles(t, all))
	if err != nil {
		t.Fatal(err)
	}
	if len(f.commands) != 3 {
		t.Fatalf("found %v", f.commands)
	}
	lintStrictly(t, f.pipelineFile())
	for _, c := range f.commands {
		g := f
		g.commands = []foundCommand{c}
		lintStrictly(t, g.pipelineFile())
	}
}

// lintStrictly fails on any finding, and on a default pipeline that does not compile.
func lintStrictly(t *testing.T, text string) {
	t.Helper()
	p := parse(text)
	found := p.lint()
	for _, d := range found.Sorted() {
		t.Errorf("%v: %s [%s]\n%s", d.Span.Position(), d.Message, d.Rule, text)
	}
	if name, ok := p.names.Default(); !ok {
		t.Errorf("there is no default pipeline\n%s", text)
	} else if _, found := p.names.Compile(name); found.HasErrors() {
		t.Errorf("the default pipeline does not compile: %v", found.Sorted())
	}
}

package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"foundry/internal/lazyregexp"
)

// This file finds out how a repository is tested, checked and built, from the files at its top. It reads
// and guesses; it starts nothing.

// foundCommand is a command that a repository seems to have.
type foundCommand struct {
	name string // test, lint, build
	run  string // for a shell
	from string // the file that says so
}

// toolchain is everything that was found in one directory.
type toolchain struct {
	commands []foundCommand // at most one of each name, in the order test, lint, build
	setup    []string       // what makes a fresh worktree ready
	others   []foundCommand // found as well, but another file came first
}

// commandNames is the order in which commands are written.
var commandNames = [...]string{"test", "lint", "build"}

// findToolchain looks at the files at the top of dir. Where several tools have a command of the same name,
// the first of the order below is taken: the more specific the file, the earlier it stands.
func findToolchain(dir string) (toolchain, error) {
	look := &lookout{dir: dir}
	finders := []func(*lookout) ([]foundCommand, []string){
		nodeCommands, cargoCommands, goCommands, pythonCommands, gradleCommands, mavenCommands, dotnetCommands, makeCommands,
	}
	var t toolchain
	for _, find := range finders {
		commands, setup := find(look)
		t.setup = append(t.setup, setup...)
		for _, c := range commands {
			if slices.ContainsFunc(t.commands, func(o foundCommand) bool { return o.name == c.name }) {
				t.others = append(t.others, c)
			} else {
				t.commands = append(t.commands, c)
			}
		}
	}
	slices.SortStableFunc(t.commands, func(a, b foundCommand) int {
		return slices.Index(commandNames[:], a.name) - slices.Index(commandNames[:], b.name)
	})
	return t, look.err
}

// lookout reads files of one directory and keeps the first failure that is not plain absence.
type lookout struct {
	dir string
	err error
}

func (l *lookout) read(name string) string {
	data, err := os.ReadFile(filepath.Join(l.dir, name))
	if err != nil && !errors.Is(err, fs.ErrNotExist) && l.err == nil {
		l.err = fmt.Errorf("read %s: %w", name, plainPathError(err))
	}
	return string(data)
}

func (l *lookout) has(name string) bool {
	_, err := os.Stat(filepath.Join(l.dir, name))
	return err == nil
}

// first is the first of the names that exists, or "".
func (l *lookout) first(names ...string) string {
	for _, n := range names {
		if l.has(n) {
			return n
		}
	}
	return ""
}

// match is the first file whose name fits the pattern, or "".
func (l *lookout) match(patterns ...string) string {
	for _, p := range patterns {
		if found, err := filepath.Glob(filepath.Join(l.dir, p)); err == nil && len(found) > 0 {
			return filepath.Base(found[0])
		}
	}
	return ""
}

func nodeCommands(l *lookout) (found []foundCommand, setup []string) {
	text := l.read("package.json")
	if text == "" {
		return nil, nil
	}
	var pkg struct {
		Scripts        map[string]string `json:"scripts"`
		PackageManager string            `json:"packageManager"`
	}
	if err := json.Unmarshal([]byte(text), &pkg); err != nil {
		if l.err == nil {
			l.err = fmt.Errorf("read package.json: %w", err)
		}
		return nil, nil
	}
	runner, install := nodeRunner(l, pkg.PackageManager)
	for _, name := range commandNames {
		script, ok := pkg.Scripts[name]
		if !ok || strings.Contains(script, "no test specified") {
			continue
		}
		run := runner + " run " + name
		if name == "test" && runner != "bun" {
			run = runner + " test"
		}
		found = append(found, foundCommand{name, run, "package.json"})
	}
	return found, []string{install}
}

// nodeRunner is the package manager that a lockfile or package.json names, and how it installs.
func nodeRunner(l *lookout, declared string) (runner, install string) {
	declared, _, _ = strings.Cut(declared, "@")
	switch {
	case l.has("pnpm-lock.yaml"):
		return "pnpm", "pnpm install --frozen-lockfile"
	case l.first("bun.lock", "bun.lockb") != "":
		return "bun", "bun install --frozen-lockfile"
	case l.has("yarn.lock") && l.has(".yarnrc.yml"):
		return "yarn", "yarn install --immutable"
	case l.has("yarn.lock"):
		return "yarn", "yarn install --frozen-lockfile"
	case l.first("package-lock.json", "npm-shrinkwrap.json") != "":
		return "npm", "npm ci"
	case declared == "pnpm" || declared == "bun" || declared == "yarn":
		return declared, declared + " install"
	}
	return "npm", "npm install --no-package-lock" // a lockfile that it wrote would be part of what the run changed
}

func cargoCommands(l *lookout) ([]foundCommand, []string) {
	text := l.read("Cargo.toml")
	if text == "" {
		return nil, nil
	}
	all := ""
	if hasTable(text, "workspace") {
		all = " --workspace"
	}
	return []foundCommand{
		{"test", "cargo test" + all, "Cargo.toml"},
		{"lint", "cargo clippy" + all + " --all-targets -- -D warnings", "Cargo.toml"},
		{"build", "cargo build" + all, "Cargo.toml"},
	}, nil
}

func goCommands(l *lookout) ([]foundCommand, []string) {
	from := l.first("go.work", "go.mod")
	if from == "" || !l.has("go.mod") {
		return nil, nil // go.work alone has no ./... to test
	}
	lint := "go vet ./..."
	if l.match(".golangci.y*ml", ".golangci.toml") != "" {
		lint = "golangci-lint run"
	}
	return []foundCommand{{"test", "go test ./...", "go.mod"}, {"lint", lint, "go.mod"}, {"build", "go build ./...", "go.mod"}}, nil
}

func pythonCommands(l *lookout) (found []foundCommand, setup []string) {
	project := l.read("pyproject.toml")
	from := "pyproject.toml"
	requirements := ""
	for _, name := range []string{"requirements.txt", "requirements-dev.txt", "dev-requirements.txt"} {
		if text := l.read(name); text != "" {
			requirements += text + "\n"
			if project == "" && from == "pyproject.toml" {
				from = name
			}
		}
	}
	if project == "" && requirements == "" { // tests alone are a project, too
		if from = l.first("pytest.ini", "conftest.py", "tests/conftest.py"); from == "" {
			if from = l.match("tests/test*.py", "test_*.py"); from == "" {
				return nil, nil
			}
		}
	}
	tool, python := "python3 -m ", "python3" // how a tool and the interpreter are started
	for _, manager := range []struct{ lock, name, install string }{
		{"uv.lock", "uv", "uv sync --locked"}, {"poetry.lock", "poetry", "poetry install"}, {"pdm.lock", "pdm", "pdm install"},
	} {
		if l.has(manager.lock) {
			tool, python, setup = manager.name+" run ", manager.name+" run python", []string{manager.install}
			break
		}
	}
	all := project + requirements
	switch {
	case strings.Contains(all, "pytest") || l.first("pytest.ini", "conftest.py", "tests/conftest.py") != "":
		found = append(found, foundCommand{"test", tool + "pytest", from})
	case l.match("tests/test*.py") != "":
		found = append(found, foundCommand{"test", python + " -m unittest discover -s tests", from})
	case l.match("test_*.py") != "":
		found = append(found, foundCommand{"test", python + " -m unittest", from})
	}
	switch {
	case hasTable(project, "tool.ruff") || strings.Contains(all, "ruff") || l.first("ruff.toml", ".ruff.toml") != "":
		found = append(found, foundCommand{"lint", tool + "ruff check .", from})
	case strings.Contains(all, "flake8") || l.has(".flake8"):
		found = append(found, foundCommand{"lint", tool + "flake8", from})
	}
	return found, setup
}

// hasTable says whether a TOML text has the table [name] or one below it.
func hasTable(text, name string) bool {
	for _, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "["+name+"]") || strings.HasPrefix(line, "["+name+".") {
			return true
		}
	}
	return false
}

func gradleCommands(l *lookout) ([]foundCommand, []string) {
	from := l.first("build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts")
	if from == "" {
		return nil, nil
	}
	program := "gradle"
	if l.has("gradlew") {
		program = "./gradlew"
	}
	return []foundCommand{{"test", program + " test", from}, {"build", program + " assemble", from}}, nil
}

func mavenCommands(l *lookout) ([]foundCommand, []string) {
	if !l.has("pom.xml") {
		return nil, nil
	}
	program := "mvn"
	if l.has("mvnw") {
		program = "./mvnw"
	}
	return []foundCommand{{"test", program + " -B -q test", "pom.xml"}, {"build", program + " -B -q -DskipTests package", "pom.xml"}}, nil
}

func dotnetCommands(l *lookout) ([]foundCommand, []string) {
	from := l.match("*.sln", "*.slnx", "*.csproj", "*.fsproj", "*.vbproj")
	if from == "" {
		return nil, nil
	}
	return []foundCommand{{"test", "dotnet test", from}, {"lint", "dotnet format --verify-no-changes", from}, {"build", "dotnet build", from}}, nil
}

var makeTarget = lazyregexp.New(`(?m)^([a-zA-Z0-9_./ -]+?)\s*::?(?:[^=:]|$)`)

func makeCommands(l *lookout) (found []foundCommand, setup []string) {
	from := l.first("GNUmakefile", "makefile", "Makefile")
	if from == "" {
		return nil, nil
	}
	targets := map[string]bool{}
	for _, m := range makeTarget().FindAllStringSubmatch(l.read(from), -1) {
		for _, t := range strings.Fields(m[1]) {
			targets[t] = true
		}
	}
	for _, want := range []struct{ name, target string }{{"test", "test"}, {"test", "check"}, {"lint", "lint"}, {"build", "build"}, {"build", "all"}} {
		if targets[want.target] && !slices.ContainsFunc(found, func(c foundCommand) bool { return c.name == want.name }) {
			found = append(found, foundCommand{want.name, "make " + want.target, from})
		}
	}
	return found, nil
}

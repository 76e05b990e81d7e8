package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"foundry/builtins"
	"foundry/diag"
	"foundry/glob"
	"foundry/graph"
	"foundry/internal/check"
	"foundry/schema"
)

// This file finds the pipeline file and reads it, together with what ships.

// fileNames are the names of a pipeline file, the usual one first.
var fileNames = [...]string{"foundry.yaml", "foundry.yml"}

// maxFile is more than any pipeline file may hold, so that reading one ends.
const maxFile = 16 << 20

// project is a pipeline file with what ships, ready to be compiled.
type project struct {
	root     string           // the top of the repository, or the directory of the file when there is none
	path     string           // of the pipeline file, absolute; "" when there is none, or it came from standard input
	name     string           // of the pipeline file, as the user would type it
	doc      *schema.Document // nil when there is no file
	source   *diag.Source     // nil when there is no file
	findings diag.List        // of decoding
	names    *graph.Catalogue
	ships    *schema.Document    // what ships, decoded
	used     map[string]string   // the texts that were read for it, by path, for the record of a run
	tried    []string            // the values of --agent
	agents   string              // the text of --agents, "" when agents are real
	listed   map[string][]string // the files that its patterns matched, for the same
}

// repositoryTop is the nearest directory at or above dir that holds .git; without one it is dir itself.
func repositoryTop(dir string) (top string, isRepo bool) {
	for at := dir; ; at = filepath.Dir(at) {
		if _, err := os.Lstat(filepath.Join(at, ".git")); err == nil {
			return at, true
		}
		if at == filepath.Dir(at) {
			return dir, false
		}
	}
}

// errNoFile says that no pipeline file was found by looking for one.
var errNoFile = errors.New("no pipeline file")

// findFile is the path of the pipeline file: -f, else the first of its names on the way up to the top of the
// repository. It returns errNoFile within a *problem when there is none.
func (s *session) findFile() (string, error) {
	if s.file != "" {
		return s.path(s.file), nil
	}
	return s.findFileFrom(s.dir)
}

// findFileFrom is the nearest pipeline file at or above a directory, inside its repository.
func (s *session) findFileFrom(start string) (string, error) {
	top, isRepo := repositoryTop(start)
	for dir := start; ; dir = filepath.Dir(dir) {
		var there []string
		for _, name := range fileNames {
			if info, err := os.Stat(filepath.Join(dir, name)); err == nil && !info.IsDir() {
				there = append(there, filepath.Join(dir, name))
			}
		}
		switch {
		case len(there) == 2:
			return "", badUsage("%s and %s both exist", s.display(there[0]), s.display(there[1])).
				hintf("delete one of them, or choose with -f")
		case len(there) == 1:
			return there[0], nil
		}
		if dir == top || dir == filepath.Dir(dir) {
			break
		}
	}
	where := "in " + start
	if isRepo {
		where = "between here and " + top
	}
	p := badUsage("%w: neither foundry.yaml nor foundry.yml is %s", errNoFile, where)
	return "", p.hintf("`foundry init` writes one; -f names one elsewhere")
}

// load finds, reads and decodes the pipeline file. Mistakes in it are findings, not an error.
func (s *session) load() (*project, error) {
	path, err := s.findFile()
	if err != nil {
		return nil, err
	}
	return s.loadFile(path)
}

// loadOrBuiltins is load, but a repository without a pipeline file still has what ships.
func (s *session) loadOrBuiltins() (*project, error) {
	p, err := s.load()
	if !errors.Is(err, errNoFile) {
		return p, err
	}
	top, _ := repositoryTop(s.dir)
	return newProject(top, "", "", nil, nil), nil
}

// loadFile reads and decodes the pipeline file at an absolute path.
func (s *session) loadFile(path string) (*project, error) {
	text, err := s.readPipeline(path)
	if err != nil {
		return nil, err
	}
	top, _ := repositoryTop(filepath.Dir(path))
	return newProject(top, path, s.display(path), diag.NewSource(s.display(path), text), s.display), nil
}

// readPipeline reads the file at an absolute path, which the user named or which was found.
func (s *session) readPipeline(path string) (string, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", badUsage("%s does not exist", s.display(path)).hintf("`foundry init` writes a pipeline file")
	}
	if err != nil {
		return "", failure(fmt.Errorf("read %s: %w", s.display(path), plainPathError(err)))
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.IsDir() {
		return "", badUsage("%s is a directory, not a pipeline file", s.display(path))
	}
	text, err := io.ReadAll(io.LimitReader(f, maxFile))
	if err != nil {
		return "", failure(fmt.Errorf("read %s: %w", s.display(path), plainPathError(err)))
	}
	return string(text), nil
}

// newProject decodes a source, which reaches other files of the repository only, links included. A nil source
// leaves what ships. show says how an absolute path is shown; nil: from the root.
func newProject(root, path, name string, source *diag.Source, show func(path string) string) *project {
	files := graph.Files{
		Read: func(name string) (string, error) { return readInside(root, name) },
		List: func(pattern string) ([]string, error) { return listInside(root, pattern) },
	}
	if show != nil {
		files.Show = func(name string) string { return show(filepath.Join(root, filepath.FromSlash(name))) }
	}
	return newProjectFrom(root, path, name, source, files)
}

// readInside reads a regular file of the repository; anything else could make the reader wait.
func readInside(root, name string) (string, error) {
	dir, err := os.OpenRoot(root)
	if err != nil {
		return "", plainPathError(err)
	}
	defer dir.Close()
	info, err := dir.Stat(filepath.FromSlash(name))
	if err != nil {
		return "", plainPathError(err)
	}
	if !info.Mode().IsRegular() {
		return "", errors.New("it is not a file with a text in it")
	}
	f, err := dir.Open(filepath.FromSlash(name))
	if err != nil {
		return "", plainPathError(err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxFile))
	if err != nil {
		return "", plainPathError(err)
	}
	return string(text), nil
}

// listInside lists the files of the repository that a pattern matches. It follows no links, and enters no other
// repository, no records and no worktrees.
func listInside(root, pattern string) ([]string, error) {
	var out []string
	top := filepath.Join(root, filepath.FromSlash(glob.Base(pattern)))
	err := filepath.WalkDir(top, func(path string, e fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist) && path == top:
			return nil
		case err != nil:
			return plainPathError(err)
		case e.IsDir():
			if path != root && (e.Name() == ".git" || strings.HasPrefix(e.Name(), ".foundry") || holds(path, ".git")) {
				return fs.SkipDir
			}
		case e.Type().IsRegular():
			if name, err := filepath.Rel(root, path); err == nil && glob.Match(pattern, filepath.ToSlash(name)) {
				out = append(out, filepath.ToSlash(name))
			}
		}
		return nil
	})
	slices.Sort(out)
	return out, err
}

// newProjectFrom decodes a source that reaches other files through files: those of the repository, or of the
// record of a run. What it was given is noted for the record.
func newProjectFrom(root, path, name string, source *diag.Source, files graph.Files) *project {
	p := &project{root: root, path: path, name: name, source: source, ships: shipped(), used: map[string]string{}, listed: map[string][]string{}}
	if source != nil {
		p.doc, p.findings = schema.Decode(source)
	}
	p.names = graph.New(p.doc, p.ships, graph.Files{Path: p.relative(), Show: files.Show,
		Read: func(name string) (string, error) {
			text, err := files.Read(name)
			if err == nil {
				p.used[name] = text
			}
			return text, err
		},
		List: func(pattern string) ([]string, error) {
			names, err := files.List(pattern)
			if err == nil {
				p.listed[pattern] = names
			}
			return names, err
		}})
	return p
}

// shipped is the document of what ships with the program. It is only read.
var shipped = sync.OnceValue(func() *schema.Document {
	doc, findings := schema.Decode(diag.NewSource(builtins.Name, builtins.YAML()))
	if findings.HasErrors() {
		panic("BUG: the builtins do not decode: " + findings.Sorted()[0].Message)
	}
	return doc
})

// relative is the path of the pipeline file from the root, with slashes.
func (p *project) relative() string {
	if p.path != "" {
		if rel, err := filepath.Rel(p.root, p.path); err == nil {
			return filepath.ToSlash(rel)
		}
	}
	return p.name
}

// lint returns every finding of the pipeline file, its tests included. A default pipeline that ships is looked at too, as far as
// the file has to give it something.
func (p *project) lint() diag.List {
	var found diag.List
	found.Merge(p.findings)
	if p.doc == nil || p.doc.Broken {
		return found
	}
	found.Merge(p.names.Lint())
	if tests := p.names.User().Tests; len(tests) > 0 {
		found.Merge(check.NewSuite(p.names).Add(tests))
	}
	if name := p.doc.Default.Value; p.doc.Default.Set {
		for _, command := range p.missing(name) {
			found.Report(diag.UnknownCommand, p.doc.Default.Span(), "the default pipeline %q runs the command %q, which is not defined", name, command).
				Hintf("%s", p.defineCommand(command))
		}
	}
	return found
}

// missing are the commands that a pipeline which ships runs and the file does not define.
func (p *project) missing(pipeline string) []string {
	named := func(x schema.Pipeline) bool { return x.Name.Value == pipeline }
	at := slices.IndexFunc(p.ships.Pipelines, named)
	user := p.names.User()
	if at < 0 || slices.ContainsFunc(user.Pipelines, named) {
		return nil
	}
	var out []string
	for i := range p.ships.Pipelines[at].Phases {
		name := p.ships.Pipelines[at].Phases[i].Command.Value
		defined := slices.ContainsFunc(user.Commands, func(c schema.Command) bool { return c.Name.Value == name })
		if name != "" && !defined && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

// defineCommand says what to write for a command, with what the repository seems to use.
func (p *project) defineCommand(name string) string {
	line := name + ": the command line"
	if t, err := findToolchain(p.root); err == nil {
		for _, c := range t.commands {
			if c.name == name {
				line = name + ": " + scalar(c.run) + ", as " + c.from + " has it"
			}
		}
	}
	return "add it under commands: " + line
}

// refuse writes the findings of a pipeline that does not compile and ends the program.
func (s *session) refuse(found diag.List, name string) error {
	list := diag.Unsilenced(found.Sorted())
	if err := diag.RenderText(s.err, list, s.colored(s.err)); err != nil {
		return failure(fmt.Errorf("write the findings: %w", err))
	}
	what := strings.TrimSpace("the pipeline file " + name)
	return badUsage("%s does not compile: %s", what, countFindings(list)).
		hintf("`foundry explain RULE` says more about a finding; its rule is in brackets")
}

// countFindings is "2 errors and 1 warning", "no findings" when there are none.
func countFindings(list []diag.Diagnostic) string {
	n := map[diag.Severity]int{}
	for _, d := range list {
		n[d.Severity]++
	}
	var parts []string
	for _, sev := range []diag.Severity{diag.Error, diag.Warning} {
		switch n[sev] {
		case 0:
		case 1:
			parts = append(parts, "1 "+sev.String())
		default:
			parts = append(parts, fmt.Sprintf("%d %ss", n[sev], sev))
		}
	}
	if len(parts) == 0 {
		return "no findings"
	}
	return strings.Join(parts, " and ")
}

package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"foundry/diag"
	"foundry/graph"
	"foundry/internal/check"
	"foundry/schema"
)

// testSuffix is how the name of a file of tests ends.
const testSuffix = ".foundry-test.yaml"

func testVerb(s *session) verb {
	return verb{
		Command: &cli.Command{
			Name:      "test",
			Usage:     "run pipeline tests",
			ArgsUsage: "[FILE...]",
			Description: `Runs pipelines with outcomes that are given, and compares the way they went with what is expected. No agent is
asked, no command is started, and nothing is written. Without FILE it runs the tests of the pipeline file and those of every
*` + testSuffix + ` of the repository for which this pipeline file is the nearest one.

An outcome that a run needs and a test does not give is a failure, and so is one that is left over.`,
			Flags: []cli.Flag{
				jsonFlag(),
				&cli.StringFlag{Name: "junit", Usage: "write the results to `FILE` as JUnit's XML, too"},
				&cli.BoolFlag{Name: "explore", Usage: "try other outcomes, and say which phases, rules and values no test covers"},
			},
			Action: s.test,
		},
		exits: []Exit{Refused, Failed},
		examples: []example{
			{"foundry test", "all tests of the repository"},
			{"foundry test -v release" + testSuffix, "the tests of one file, with the way that each of them went"},
			{"foundry test --explore", "and what they leave out"},
			{"foundry test --junit results.xml", "for a build server"},
		},
	}
}

func (s *session) test(c *cli.Context) error {
	p, err := s.loadOrBuiltins()
	if err != nil {
		return err
	}
	if p.findings.HasErrors() {
		return s.refuse(p.findings, p.name)
	}
	suite := check.NewSuite(p.names)
	found, err := s.collectTests(c.Args().Slice(), p, suite)
	if err != nil {
		return err
	}
	if suite.Broken.HasErrors() {
		return s.refuse(suite.Broken, p.name)
	}
	began := time.Now()
	results := make([]check.Result, len(suite.Cases()))
	for i, tc := range suite.Cases() {
		if err := s.ctx.Err(); err != nil {
			return err
		}
		if results[i], err = tc.Run(); err != nil {
			return failure(err)
		}
	}
	if err := writeJUnit(s, c.String("junit"), results, time.Since(began)); err != nil {
		return err
	}
	var explored []*check.Exploration
	if c.Bool("explore") {
		if explored, err = explore(p, suite, results); err != nil {
			return failure(err)
		}
	}
	if suite.Broken.HasErrors() {
		return s.refuse(suite.Broken, p.name)
	}
	if err := s.showTests(c, results, explored); err != nil {
		return err
	}
	return s.testExit(c.Args().Slice(), p, results, found)
}

// collectTests adds the tests of the files named, or of all there are. Mistakes in tests are findings.
func (s *session) collectTests(names []string, p *project, suite *check.Suite) (diag.List, error) {
	var found diag.List
	own := p.doc != nil && len(names) == 0
	files := names
	if len(names) == 0 {
		var err error
		if files, err = findTests(p); err != nil {
			return found, failure(err)
		}
	}
	if own {
		found.Merge(suite.Add(p.names.User().Tests))
	}
	for _, name := range files {
		path := s.path(name)
		if p.path != "" && path == p.path {
			found.Merge(suite.Add(p.names.User().Tests))
			continue
		}
		text, err := os.ReadFile(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return found, badUsage("%s does not exist", name).hintf("a file of tests is called NAME%s", testSuffix)
		case err != nil:
			return found, failure(fmt.Errorf("read %s: %w", s.display(path), plainPathError(err)))
		case len(text) > maxFile:
			return found, badUsage("%s is too large for a file of tests", name)
		}
		tests, mistakes := schema.DecodeTests(diag.NewSource(s.display(path), string(text)))
		found.Merge(mistakes)
		found.Merge(suite.Add(tests))
	}
	return found, nil
}

// findTests finds the files of tests for which the pipeline file is the nearest one, at or above them. It stays
// in the repository: it follows no links, and enters no other repository, no records and no worktrees.
func findTests(p *project) ([]string, error) {
	home := p.root
	if p.path != "" {
		home = filepath.Dir(p.path)
	}
	var out []string
	err := filepath.WalkDir(p.root, func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return fmt.Errorf("look for tests: %w", err)
		case e.IsDir() && path != p.root && (e.Name() == ".git" || strings.HasPrefix(e.Name(), ".foundry") || holds(path, ".git")):
			return fs.SkipDir
		case e.IsDir() && path != home && !isBelow(home, path) && holds(path, fileNames[:]...):
			return fs.SkipDir
		case e.Type().IsRegular() && strings.HasSuffix(e.Name(), testSuffix) && nearest(p.root, home, filepath.Dir(path)):
			out = append(out, path)
		}
		return nil
	})
	return out, err
}

// nearest says whether the directory of the pipeline file is the nearest one to a directory that holds one.
func nearest(root, home, dir string) bool {
	for ; dir != home; dir = filepath.Dir(dir) {
		if dir == root || holds(dir, fileNames[:]...) {
			return !holds(dir, fileNames[:]...)
		}
	}
	return true
}

func holds(dir string, names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool {
		_, err := os.Lstat(filepath.Join(dir, name))
		return err == nil
	})
}

func isBelow(path, dir string) bool {
	return strings.HasPrefix(path, dir+string(filepath.Separator))
}

// explore explores every pipeline of the user's file, and every other one that a test is about.
func explore(p *project, suite *check.Suite, results []check.Result) ([]*check.Exploration, error) {
	runs, tested := map[string][]check.Run{}, map[string]bool{}
	for i := range results {
		name := results[i].Case.Graph.Pipeline
		tested[name] = true
		runs[name] = append(runs[name], results[i].Run)
		for called, list := range results[i].Run.Called(results[i].Case.Graph) {
			runs[called] = append(runs[called], list...)
		}
	}
	var out []*check.Exploration
	for _, n := range p.names.Names() {
		if n.Kind != graph.PipelineName || n.Builtin && !tested[n.Name] {
			continue
		}
		g := suite.Graph(n.Name)
		if g == nil {
			continue // its findings are reported
		}
		x, err := check.Explore(g, runs[n.Name], check.DefaultRuns)
		if err != nil {
			return nil, err
		}
		out = append(out, x)
	}
	return out, nil
}

func writeJUnit(s *session, name string, results []check.Result, took time.Duration) error {
	if name == "" {
		return nil
	}
	var b bytes.Buffer
	if err := check.JUnit(&b, results, took); err != nil {
		return failure(err)
	}
	if err := os.WriteFile(s.path(name), b.Bytes(), 0o644); err != nil {
		return failure(fmt.Errorf("write %s: %w", name, plainPathError(err)))
	}
	return nil
}

func (s *session) showTests(c *cli.Context, results []check.Result, explored []*check.Exploration) error {
	if c.Bool("json") {
		var b strings.Builder
		if err := check.JSON(&b, results, explored); err != nil {
			return failure(err)
		}
		return s.print(b.String())
	}
	text := check.Text(results, s.verbose, s.colored(s.out))
	for _, x := range explored {
		text += x.Text()
	}
	return s.print(text)
}

// testExit reports the findings and says how it went as a whole.
func (s *session) testExit(names []string, p *project, results []check.Result, found diag.List) error {
	list := diag.Unsilenced(found.Sorted())
	if err := diag.RenderText(s.err, list, s.colored(s.err)); err != nil {
		return failure(fmt.Errorf("write the findings: %w", err))
	}
	failed := 0
	for i := range results {
		if !results[i].Passed() {
			failed++
		}
	}
	switch {
	case len(results) == 0 && !found.HasErrors():
		where := "no *" + testSuffix + " was found"
		if len(names) > 0 {
			where = strings.Join(names, ", ") + " holds no tests"
		} else if p.name != "" {
			where = p.name + " has no tests, and " + where
		}
		return badUsage("nothing was tested: %s", where).hintf("write tests: in the pipeline file, or a file NAME%s beside it", testSuffix)
	case failed > 0 || found.HasErrors():
		text := fmt.Sprintf("%d of %s failed", failed, count(len(results), "test"))
		if found.HasErrors() {
			text += "; " + countFindings(list) + " in the tests themselves"
		}
		return &problem{exit: Refused, err: errors.New(text)}
	}
	s.note("%s passed", count(len(results), "test"))
	return nil
}

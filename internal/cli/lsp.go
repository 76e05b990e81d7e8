package cli

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"foundry/diag"
	"foundry/dsl"
	"foundry/graph"
	"foundry/internal/check"
	"foundry/internal/lsp"
	"foundry/schema"
)

func lspVerb(s *session) verb {
	return verb{
		Command: &cli.Command{
			Name:  "lsp",
			Usage: "the language server, for editors",
			Description: `Speaks the Language Server Protocol over standard input and output: findings while you type, completion, what a key or a
name means, and where it is defined. An editor starts it; docs/editors.md says how. Nothing of the repository is run, and
no file is read but those that a pipeline file names.`,
			Flags: []cli.Flag{&cli.BoolFlag{Name: "stdio", Usage: "speak over standard input and output, which is what it does; editors say so"}},
			Action: func(c *cli.Context) error {
				if err := noArguments(c); err != nil {
					return err
				}
				return s.serveEditor()
			},
		},
		exits:    []Exit{Refused, Failed},
		examples: []example{{"foundry lsp", "the command that an editor is told to start"}},
	}
}

// serveEditor carries on the conversation with an editor. A client that leaves without a word is no failure; one
// that exits without a shutdown is told so by the exit code, as the protocol wants it.
func (s *session) serveEditor() error {
	err := lsp.Serve(s.ctx, lsp.Config{In: s.in, Out: s.out, Log: s.err, Version: versionText(), Words: editorWords(), Open: openForEditor})
	switch {
	case errors.Is(err, lsp.ErrNoShutdown):
		return &problem{exit: Refused, err: err}
	case err != nil && isClosedPipe(err):
		return nil
	case err != nil && s.ctx.Err() == nil:
		return failure(err)
	}
	return err
}

// openForEditor makes a project of a text. What the text names is read from the repository, or is what the editor
// has not saved yet.
func openForEditor(path, text string, unsaved func(path string) (string, bool)) lsp.Project {
	if strings.HasSuffix(path, testSuffix) {
		return openTestsForEditor(path, text, unsaved)
	}
	p := unsavedProject(path, text, unsaved)
	return lsp.Project{
		Source: p.source, Broken: p.doc.Broken, Names: p.names, Root: p.root, Uses: p.uses(),
		Lint: func() []diag.Diagnostic {
			found := p.lint()
			list := diag.Unsilenced(found.Sorted())
			if _, home := homeOf(path, unsaved); home != nil && home.uses()(path) {
				list = slices.DeleteFunc(list, func(d diag.Diagnostic) bool { return d.Rule == diag.Unused })
			}
			return list
		},
	}
}

// homeOf is the path and the project of the pipeline file that is found from the place of another file. The project
// is nil when there is none, and for that file itself.
func homeOf(path string, unsaved func(path string) (string, bool)) (home string, p *project) {
	if path == "" {
		return "", nil
	}
	s := session{dir: filepath.Dir(path)}
	home, err := s.findFile()
	if err != nil || home == path {
		return home, nil
	}
	root, _ := repositoryTop(filepath.Dir(home))
	text, open := unsaved(home)
	if rel, err := filepath.Rel(root, home); !open && err == nil {
		text, err = readInside(root, rel)
		if err != nil {
			return "", nil
		}
	}
	return home, unsavedProject(home, text, unsaved)
}

// unsavedProject is newProject with what the editor has not saved.
func unsavedProject(path, text string, unsaved func(path string) (string, bool)) *project {
	name, root := fileNames[0], ""
	if path != "" {
		root, _ = repositoryTop(filepath.Dir(path))
		if rel, err := filepath.Rel(root, path); err == nil {
			name = filepath.ToSlash(rel)
		}
	}
	return newProjectFrom(root, path, name, diag.NewSource(name, text), graph.Files{
		Read: func(name string) (string, error) {
			if root == "" {
				return "", errors.New("this text is not in a repository yet; save it first")
			}
			if text, ok := unsaved(filepath.Join(root, filepath.FromSlash(name))); ok {
				return text, nil
			}
			return readInside(root, name)
		},
		List: func(pattern string) ([]string, error) {
			if root == "" {
				return nil, errors.New("this text is not in a repository yet; save it first")
			}
			return listInside(root, pattern)
		},
	})
}

// uses says of an absolute path whether the project has read it.
func (p *project) uses() func(path string) bool {
	return func(path string) bool {
		rel, err := filepath.Rel(p.root, path)
		if err != nil {
			return false
		}
		_, read := p.used[filepath.ToSlash(rel)]
		return read
	}
}

// openTestsForEditor makes a project of a file of tests: the pipelines are those of the nearest pipeline file.
func openTestsForEditor(path, text string, unsaved func(path string) (string, bool)) lsp.Project {
	root, _ := repositoryTop(filepath.Dir(path))
	rel, err := filepath.Rel(root, path)
	if err != nil {
		rel = filepath.Base(path)
	}
	source := diag.NewSource(filepath.ToSlash(rel), text)
	home, p := homeOf(path, unsaved)
	if p == nil { // then the tests are about the pipelines that ship
		p = newProject(root, "", "", nil, nil)
	}
	uses := p.uses()
	return lsp.Project{
		Source: source, Tests: true, Names: p.names, Root: root,
		Uses: func(other string) bool { return other == home || uses(other) },
		Lint: func() []diag.Diagnostic {
			tests, found := schema.DecodeTests(source)
			if !p.findings.HasErrors() {
				found.Merge(check.NewSuite(p.names).Add(tests))
			}
			return diag.Unsilenced(found.Sorted())
		},
	}
}

// editorWords gathers the words that editors are told of beside the table of keys.
func editorWords() lsp.Vocabulary {
	v := lsp.Vocabulary{Vocabulary: vocabulary()}
	for _, f := range dsl.Functions() {
		v.Functions = append(v.Functions, lsp.Word{Name: f.Name, Usage: f.Usage, Doc: f.Doc})
	}
	for _, t := range []struct {
		trigger dsl.Trigger
		doc     string
	}{
		{dsl.Pass, "the phase ended well"},
		{dsl.Reject, "its report or the person's answer says no; this is neither a pass nor a failure"},
		{dsl.Fail, "it failed, whatever the reason; a timeout is a failure, too"},
		{dsl.Timeout, "it took too long; a rule for this stands before one for `fail`"},
		{dsl.Skip, "its `when` was false, or it is optional and failed"},
		{dsl.Any, "it ended, other than by a skip"},
	} {
		v.Triggers = append(v.Triggers, lsp.Word{Name: t.trigger.String(), Usage: "on " + t.trigger.String() + " -> …", Doc: t.doc})
	}
	for _, a := range []struct {
		action dsl.Action
		doc    string
	}{
		{dsl.Next, "the run goes on as if there were no rule"},
		{dsl.Finish, "what depends on the phase does not run; when everything else has ended, acceptance decides"},
		{dsl.Abort, "the run ends at once and is not accepted; a text may follow that says why"},
	} {
		v.Actions = append(v.Actions, lsp.Word{Name: a.action.String(), Usage: "-> " + a.action.String(), Doc: a.doc})
	}
	return v
}

package cli

import (
	"github.com/urfave/cli/v2"

	"foundry/gates"
	"foundry/graph"
	"foundry/internal/harness"
	"foundry/schema"
)

func schemaVerb(s *session) verb {
	return verb{
		Command: &cli.Command{
			Name:  "schema",
			Usage: "the JSON Schema of foundry.yaml, for editors",
			Description: `Prints the JSON Schema (draft 2020-12) of pipeline files, made from the same table that lint reads files with. With it an
editor completes keys, shows what they mean and marks what is misplaced while you type. Keep it in a file and name that
file to the editor; a first line such as

    # yaml-language-server: $schema=.foundry/schema.json

does so for every editor that uses the YAML language server. Print it again after an update of foundry.`,
			Flags: []cli.Flag{
				&cli.BoolFlag{Name: "tests", Usage: "the schema of files of pipeline tests (*" + testSuffix + ") instead"},
			},
			Action: func(c *cli.Context) error {
				if err := noArguments(c); err != nil {
					return err
				}
				if c.Bool("tests") {
					return s.print(string(schema.TestsSchema(vocabulary())))
				}
				return s.print(string(schema.JSONSchema(vocabulary())))
			},
		},
		exits: []Exit{Failed},
		examples: []example{
			{"foundry schema >.foundry/schema.json", "where the modeline of `foundry init` looks for it"},
			{"foundry schema --tests >.foundry/test-schema.json", "for files of tests"},
		},
	}
}

// vocabulary gathers what the schema lists from the tables of the packages that own the words.
func vocabulary() schema.Vocabulary {
	v := schema.Vocabulary{Steps: []string{graph.Commit.String(), graph.Status.String(), graph.Noop.String()}}
	for _, h := range harness.Table() {
		v.Harnesses = append(v.Harnesses, h.Name)
	}
	for _, info := range gates.Table() {
		w := schema.GateWords{Name: info.Name, Doc: info.Summary, Short: info.Short}
		for _, a := range info.Args {
			w.Args = append(w.Args, schema.Key{Name: a.Name, Shape: argShape(a.Type), Enum: a.Words, Doc: a.Name + " of " + info.Name, Max: 1 << 31})
		}
		v.Gates = append(v.Gates, w)
	}
	return v
}

// argShape is what the argument of a gate looks like in the file.
func argShape(t gates.ArgType) schema.Shape {
	switch t {
	case gates.Flag:
		return schema.ShapeBool
	case gates.Count:
		return schema.ShapeInt
	case gates.Patterns:
		return schema.ShapePatterns
	case gates.Command:
		return schema.ShapeSection
	case gates.Expr, gates.Word, gates.PathArg:
		return schema.ShapeText
	}
	panic("BUG: a gate has an argument of no known type")
}

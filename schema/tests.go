package schema

// The keys of pipeline tests. Their values are read by the package that runs tests; here only the names of the
// keys are checked.

import (
	"gopkg.in/yaml.v3"
)

func (l *language) tests() {
	l.test = newSection("test", "a test",
		row[Data]("name", ShapeText, "what the test shows", nil).must(),
		row[Data]("pipeline", ShapeText, "the pipeline under test", nil),
		row[Data]("request", ShapeText, "the request of the run", nil),
		row[Data]("params", ShapeData, "values of params", nil),
		row[Data]("given", ShapeData, "outcomes by phase id: one entry a turn, a run or a question", nil),
		row[Data]("criteria", ShapeData, "outcomes of criteria: before the work, and after", nil),
		nested("expect", "expect", "what must come of it", func(d *decoder, v value, t *Data) { mapping(d, l.expect, v, t) }),
		row[Data]("j", ShapeInt, "how many phases may overlap", nil).def("1").from(1),
	)
	l.expect = newSection("expect", "an expectation",
		row[Data]("status", ShapeText, "how the run ends", nil),
		row[Data]("reason", ShapeText, "why it ends so", nil),
		row[Data]("text", ShapeText, "a text in the run's reason", nil),
		row[Data]("exit", ShapeInt, "the exit code of foundry", nil),
		row[Data]("path", ShapeTexts, "the visits, in order", nil),
		row[Data]("not_run", ShapeTexts, "phases that did not run", nil),
		row[Data]("visits", ShapeData, "visits by phase", nil),
		row[Data]("routes", ShapeData, "the rules that were taken", nil),
		row[Data]("feedback", ShapeData, "what each visit of a phase was given", nil),
	)
}

func readTests(d *decoder, v value, doc *Document) {
	if v.node.Kind != yaml.SequenceNode {
		d.wrongType(v, "a list of tests")
		return
	}
	for _, item := range d.items(v) {
		mapping(d, d.lang.test, item, &Data{})
	}
	doc.Tests = d.data(v)
}

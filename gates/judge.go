package gates

import (
	"fmt"
	"slices"
)

// Judge turns evidence into a verdict. It never panics: a gate that cannot judge has failed, and says why.
// A check gate is not judged here and fails.
func (s Spec) Judge(e Evidence) Verdict {
	return judgeWith(s.Name, func() Verdict {
		checks, judged := s.checks(e)
		if !judged {
			return Verdict{Failed, []Check{{Item: s.Name, Note: fmt.Sprintf("a gate of kind %q cannot be judged here", s.Kind)}}}
		}
		return s.Conclude(checks)
	})
}

func judgeWith(name string, judge func() Verdict) (v Verdict) {
	defer func() {
		if r := recover(); r != nil {
			v = Verdict{Failed, []Check{{Item: name, Note: fmt.Sprintf("the gate itself broke: %v", r)}}}
		}
	}()
	return judge()
}

// Conclude makes the verdict of checks: none is empty, or failed when the gate requires something, and one
// that is not ok fails. A failed gate with a message leads with it.
func (s Spec) Conclude(checks []Check) Verdict {
	outcome := Passed
	switch {
	case len(checks) == 0 && s.Require:
		outcome = Failed
		checks = []Check{{Item: s.Name, Note: s.nothing()}}
	case len(checks) == 0:
		outcome = Empty
	case slices.ContainsFunc(checks, func(c Check) bool { return !c.OK }):
		outcome = Failed
	}
	if outcome == Failed && s.Message != "" {
		checks = slices.Concat([]Check{{Item: s.Name, Note: s.Message}}, checks)
	}
	return Verdict{outcome, checks}
}

// checks looks at the evidence; judged is false for a kind that is not judged here.
func (s Spec) checks(e Evidence) (checks []Check, judged bool) {
	switch s.Kind {
	case ArtifactsExist:
		return s.artifactsExist(e), true
	case FilesNonEmpty:
		return filesNonEmpty(e), true
	case JSONParses:
		return jsonParses(e), true
	case DiffMatchesClaims:
		return diffMatchesClaims(e), true
	case VerdictConsistent:
		return verdictConsistent(e.Envelope), true
	case CommandPasses:
		return s.commandPasses(e.Run), true
	case TestsRan:
		return s.testsRan(e), true
	case TestsUntouched:
		return s.testsUntouched(e.Changes), true
	case MaxDiff:
		return s.maxDiff(e.Changes), true
	}
	return nil, false
}

// nothing says what an empty gate would have needed.
func (s Spec) nothing() string {
	switch s.Kind {
	case ArtifactsExist, FilesNonEmpty:
		return "no file is declared: list what was written under artifacts"
	case JSONParses:
		return "no .json file is declared: list what was written under artifacts"
	case DiffMatchesClaims:
		return "nothing changed and nothing is claimed: make the change, and list its files"
	case TestsRan:
		return "no tests were found"
	case MaxDiff:
		return "nothing changed"
	}
	return "there was nothing to look at"
}

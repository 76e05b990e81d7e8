// Package seed lets tests that draw their cases at random be run with cases that do not change: a check that everybody
// has to pass must not fail by chance for a change that has nothing to do with it. It is for tests only.
package seed

import (
	"flag"
	"fmt"
	"os"
)

// Variable names the environment variable that holds the seed, a decimal number above 0. Without it each run draws
// other cases.
const Variable = "FOUNDRY_SEED"

// FromEnvironment gives rapid the seed that the environment holds, and says whether there is one. A test file with
// random tests, which imports rapid and with it the flag, calls it before they run; -rapid.seed of a single run still
// counts more.
func FromEnvironment() bool {
	s := os.Getenv(Variable)
	if s == "" {
		return false
	}
	if err := flag.Set("rapid.seed", s); err != nil {
		panic(fmt.Sprintf("%s: %v", Variable, err))
	}
	return true
}

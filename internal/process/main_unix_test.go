//go:build unix

package process

import (
	"fmt"
	"os"
	"testing"
)

// The test binary is its own guard, as Foundry's binary is.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == GuardVerb {
		if err := GuardMain(os.Stdin, func() { os.Stdout.WriteString("given back") }); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if len(os.Args) == 2 && os.Args[1] == ConfineVerb {
		fmt.Fprintln(os.Stderr, ConfineMain())
		os.Exit(1)
	}
	if os.Getenv("PROCESS_TEST_CHILD") != "" {
		child(os.Getenv("PROCESS_TEST_CHILD"))
		os.Exit(0)
	}
	os.Exit(m.Run())
}

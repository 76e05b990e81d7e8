//go:build !linux

package watch

import "fmt"

func watchLimit(n int) string {
	return fmt.Sprintf("the tree has %d directories, and the limit of open files (ulimit -n) may be too low", n)
}

func instanceLimit() string { return "raise the limit of open files (ulimit -n)" }

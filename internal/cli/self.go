package cli

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// selfPath is the path by which this program can start itself again: the name it was called by while that
// leads to the same file, so that a link under another name stays what it is; else the file itself.
func selfPath() (string, error) {
	exe, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find foundry's own program: %w", err)
	}
	called, err := exec.LookPath(os.Args[0])
	if err != nil {
		return exe, nil
	}
	if called, err = filepath.Abs(called); err != nil {
		return exe, nil
	}
	a, errA := os.Stat(exe)
	b, errB := os.Stat(called)
	if errA == nil && errB == nil && os.SameFile(a, b) {
		return called, nil
	}
	return exe, nil
}

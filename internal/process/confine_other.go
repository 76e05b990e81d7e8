//go:build !linux

package process

import (
	"errors"
	"runtime"
)

// CanConfine says why this system cannot confine programs; nil when it can.
func CanConfine() error {
	return errors.New("only Linux can confine programs, and this is " + runtime.GOOS)
}

func confineSelf([]string) error { return CanConfine() }

func become(string, []string) error { return CanConfine() }

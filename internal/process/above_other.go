//go:build !linux

package process

// RunAbove cannot look at the environment of other processes here and names none.
func RunAbove() string { return "" }

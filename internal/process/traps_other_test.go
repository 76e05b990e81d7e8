//go:build unix && !linux

package process

// plays is empty where the tests of the traps cannot be made.
func plays() map[string]func() { return nil }

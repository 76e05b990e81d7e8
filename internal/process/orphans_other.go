//go:build !linux

package process

// AdoptOrphans does nothing on this system: orphans go to the init process.
func AdoptOrphans() (stop func(), err error) { return func() {}, nil }

// Orphans returns nothing on this system.
func Orphans() []int { return nil }

package graph

import "math/bits"

// Set is a set of phases, a bit each. Sets of one graph have one length; a nil Set is empty.
type Set []uint64

// NewSet makes an empty set for n phases.
func NewSet(n int) Set { return make(Set, (n+63)/64) }

// Widened is a copy of the set with room for n phases.
func (s Set) Widened(n int) Set {
	out := NewSet(n)
	copy(out, s)
	return out
}

// Has says whether p is in the set.
func (s Set) Has(p PhaseID) bool {
	return p >= 0 && int(p)/64 < len(s) && s[p/64]&(1<<(uint(p)%64)) != 0
}

// Add puts p into the set.
func (s Set) Add(p PhaseID) { s[p/64] |= 1 << (uint(p) % 64) }

// Remove takes p out of the set.
func (s Set) Remove(p PhaseID) { s[p/64] &^= 1 << (uint(p) % 64) }

// Union puts all of t into the set.
func (s Set) Union(t Set) {
	for i := range t {
		s[i] |= t[i]
	}
}

// Empty says that nothing is in the set.
func (s Set) Empty() bool {
	for _, w := range s {
		if w != 0 {
			return false
		}
	}
	return true
}

// Len counts what is in the set.
func (s Set) Len() int {
	n := 0
	for _, w := range s {
		n += bits.OnesCount64(w)
	}
	return n
}

// All visits the set in order until yield returns false.
func (s Set) All(yield func(PhaseID) bool) {
	for i, w := range s {
		for ; w != 0; w &= w - 1 {
			if !yield(PhaseID(i*64 + bits.TrailingZeros64(w))) {
				return
			}
		}
	}
}

// FirstCommon is the first phase in both sets that counts.
func (s Set) FirstCommon(t Set, counts func(PhaseID) bool) (PhaseID, bool) {
	for i := range min(len(s), len(t)) {
		for w := s[i] & t[i]; w != 0; w &= w - 1 {
			if p := PhaseID(i*64 + bits.TrailingZeros64(w)); counts(p) {
				return p, true
			}
		}
	}
	return -1, false
}

// Intersects says whether a phase is in all three sets.
func (s Set) Intersects(t, u Set) bool {
	for i := range min(len(s), len(t), len(u)) {
		if s[i]&t[i]&u[i] != 0 {
			return true
		}
	}
	return false
}

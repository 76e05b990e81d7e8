// Package filestat reads what a system says of a file beyond its size and the time of its last write: by that a file is
// known again, and a write that was hidden is noticed.
package filestat

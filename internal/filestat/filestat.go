// Package filestat reads what a system says of a file beyond its size and the time of its last write: by that a file is
// known again, and a write that was hidden is noticed.
package filestat

import "time"

// CoarsestStep is the coarsest step of a file system's clock. A file that was touched less than that before it was read
// may have been written once more with the same times.
const CoarsestStep = 2 * time.Second

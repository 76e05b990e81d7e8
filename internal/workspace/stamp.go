package workspace

import (
	"io/fs"
	"time"
)

// This file lets others tell, as snapshots do, whether a file was written or replaced since they looked.

// Stamp is what the system says of a file. Two looks with equal stamps saw the same bytes, unless the file was touched
// within the steps of the clock before the first of them.
type Stamp struct{ id identity }

// StampOf is the stamp of a file. told is false on systems that do not say when a file was last touched: nothing
// follows from equal stamps there.
func StampOf(info fs.FileInfo) (s Stamp, told bool) {
	s.id = identityOf(info)
	return s, s.id.ctime != 0
}

// Touched is when the file was last written, replaced or changed in any other way, the later of what the system says.
func (s Stamp) Touched() time.Time { return time.Unix(0, max(s.id.mtime, s.id.ctime)) }

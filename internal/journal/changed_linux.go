package journal

import (
	"io/fs"
	"syscall"
)

// changed is when a file was last changed in any way, which no program can set back; 0 where nobody knows.
func changed(info fs.FileInfo) int64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return st.Ctim.Nano()
	}
	return 0
}

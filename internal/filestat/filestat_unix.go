//go:build unix

package filestat

import (
	"io/fs"
	"syscall"
)

// Inode is the number of the file on its file system, 0 where there is none.
func Inode(info fs.FileInfo) uint64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(st.Ino)
	}
	return 0
}

// Changed is when the file was last changed in any way, which no program can set back, in nanoseconds since 1970; 0 on
// systems that do not tell.
func Changed(info fs.FileInfo) int64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return changed(st)
	}
	return 0
}

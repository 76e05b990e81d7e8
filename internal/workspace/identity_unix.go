//go:build unix

package workspace

import (
	"os"
	"syscall"
)

// identify returns what tells whether a file was written or replaced.
func identify(path string) (identity, error) {
	st, err := os.Lstat(path)
	if err != nil {
		return identity{}, err
	}
	return identityOf(st), nil
}

func identityOf(st os.FileInfo) identity {
	id := identity{size: st.Size(), mtime: st.ModTime().UnixNano(), mode: st.Mode()}
	if sys, ok := st.Sys().(*syscall.Stat_t); ok {
		id.inode = uint64(sys.Ino)
		id.ctime = ctime(sys)
	}
	return id
}

//go:build linux || darwin || freebsd

package cli

import "golang.org/x/sys/unix"

// room is what the disk that a directory lies on has left for this user; false when nobody knows.
func room(dir string) (roominess, bool) {
	var st unix.Statfs_t
	if unix.Statfs(dir, &st) != nil {
		return roominess{}, false
	}
	return roominess{bytes: uint64(st.Bavail) * uint64(st.Bsize), files: uint64(st.Ffree), every: uint64(st.Files)}, true
}

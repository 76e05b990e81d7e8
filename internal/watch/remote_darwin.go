package watch

import "golang.org/x/sys/unix"

// Remote says why events cannot be trusted where a directory lies; "" when they can, or nobody knows.
func Remote(dir string) string {
	var st unix.Statfs_t
	if unix.Statfs(dir, &st) != nil || st.Flags&unix.MNT_LOCAL != 0 {
		return ""
	}
	return "the files lie on " + unix.ByteSliceToString(st.Fstypename[:]) + ", which does not tell of all changes"
}

package workspace

import "os"

// identify returns what tells whether a file was written or replaced.
func identify(path string) (identity, error) {
	st, err := os.Lstat(path)
	if err != nil {
		return identity{}, err
	}
	return identityOf(st), nil
}

func identityOf(st os.FileInfo) identity {
	return identity{size: st.Size(), mtime: st.ModTime().UnixNano(), mode: st.Mode()}
}

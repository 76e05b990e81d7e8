package workspace

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Gates ask about files by the names that an agent gave. A name may be absolute, climb out of the workspace,
// or pass through a link that leads out of it; none of these is evidence of work in the workspace.

// Files looks at paths of the workspace. With a limit above 0, up to that many bytes of each file are read
// too. Nothing is opened but regular files.
func (t *Tree) Files(paths []string, limit int64) map[string]FileInfo {
	infos := make(map[string]FileInfo, len(paths))
	for _, p := range paths {
		infos[p] = fileInfo(t.dir, p, limit)
	}
	return infos
}

func fileInfo(root, p string, limit int64) FileInfo {
	switch {
	case p == "":
		return FileInfo{Problem: "empty path"}
	case filepath.IsAbs(p) || strings.HasPrefix(p, "~"):
		return FileInfo{Problem: "absolute path"}
	case strings.ContainsRune(p, 0):
		return FileInfo{Problem: "a NUL byte in the path"}
	}
	clean := filepath.ToSlash(filepath.Clean(p))
	if clean == ".." || strings.HasPrefix(clean, "../") {
		return FileInfo{Problem: "leaves the workspace"}
	}
	full := filepath.Join(root, clean)
	st, err := os.Lstat(full)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) || isNotDir(err) {
			return FileInfo{}
		}
		return FileInfo{Problem: err.Error()}
	}
	info := FileInfo{Exists: true, Type: typeName(st.Mode()), Size: st.Size(), Exec: st.Mode().IsRegular() && st.Mode().Perm()&0o111 != 0}
	real, err := filepath.EvalSymlinks(full)
	if err != nil {
		info.Problem = "a link that leads nowhere"
		return info
	}
	top, err := filepath.EvalSymlinks(root)
	if err != nil {
		info.Problem = err.Error()
		return info
	}
	if real != top && !strings.HasPrefix(real, top+string(filepath.Separator)) {
		info.Problem = "links out of the workspace"
		return info
	}
	if st, err = os.Stat(full); err != nil {
		info.Problem = err.Error()
		return info
	}
	info.Size = st.Size()
	if limit > 0 && st.Mode().IsRegular() {
		info.Data, info.Truncated, err = readSome(full, limit)
		if err != nil {
			info.Problem = err.Error()
		}
	}
	return info
}

// isNotDir reports whether a path goes through something that is no directory.
func isNotDir(err error) bool { return strings.Contains(err.Error(), "not a directory") }

func readSome(full string, limit int64) (data []byte, truncated bool, err error) {
	f, err := os.Open(full)
	if err != nil {
		return nil, false, err
	}
	defer f.Close()
	data, err = io.ReadAll(io.LimitReader(f, limit+1))
	if int64(len(data)) > limit {
		return data[:limit], true, err
	}
	return data, false, err
}

package watch

import "golang.org/x/sys/unix"

// remotes are the file systems that do not tell of what another machine, or another side, writes.
var remotes = map[int64]string{
	unix.NFS_SUPER_MAGIC: "NFS", unix.SMB_SUPER_MAGIC: "SMB", unix.SMB2_SUPER_MAGIC: "SMB", unix.CIFS_SUPER_MAGIC: "SMB",
	unix.V9FS_MAGIC: "9p", unix.FUSE_SUPER_MAGIC: "FUSE", 0x786f4256: "a VirtualBox share", unix.AFS_SUPER_MAGIC: "AFS", unix.CODA_SUPER_MAGIC: "Coda",
	unix.CEPH_SUPER_MAGIC: "Ceph",
}

// Remote says why events cannot be trusted where a directory lies; "" when they can, or nobody knows.
func Remote(dir string) string {
	var st unix.Statfs_t
	if unix.Statfs(dir, &st) != nil {
		return ""
	}
	return remote(int64(st.Type))
}

func remote(kind int64) string {
	if name, ok := remotes[kind]; ok {
		return "the files lie on " + name + ", which does not tell of all changes"
	}
	return ""
}

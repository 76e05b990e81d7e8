package watch

import (
	"strings"
	"testing"
)

// TestRemote: file systems that do not tell of all changes are known by what the system calls their kind; the one that
// the tests run on is none of them.
func TestRemote(t *testing.T) {
	t.Parallel()
	for kind, name := range map[int64]string{0x6969: "NFS", 0xff534d42: "SMB", 0xfe534d42: "SMB", 0x01021997: "9p", 0x65735546: "FUSE", 0x786f4256: "a VirtualBox share"} {
		if why := remote(kind); !strings.Contains(why, name) {
			t.Errorf("%#x: %q", kind, why)
		}
	}
	for _, kind := range []int64{0xef53, 0x01021994, 0x9123683e} { // ext4, tmpfs, btrfs
		if why := remote(kind); why != "" {
			t.Errorf("%#x: %q", kind, why)
		}
	}
	if why := Remote(t.TempDir()); why != "" {
		t.Skipf("the tests run where events cannot be trusted: %s", why)
	}
}

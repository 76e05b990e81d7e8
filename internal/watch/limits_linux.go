package watch

import (
	"fmt"
	"os"
	"strings"
)

func sysctl(name string) string {
	b, err := os.ReadFile("/proc/sys/" + strings.ReplaceAll(name, ".", "/"))
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(b))
}

// watchLimit names the setting that stands in the way, and a value that would do. n is how many directories there are.
func watchLimit(n int) string {
	const name = "fs.inotify.max_user_watches"
	return fmt.Sprintf("%s is %s, and this tree alone needs %d; sudo sysctl %s=%d", name, sysctl(name), n, name, max(524288, 2*n))
}

func instanceLimit() string {
	const name = "fs.inotify.max_user_instances"
	return fmt.Sprintf("%s is %s; sudo sysctl %s=512, or raise the limit of open files (ulimit -n)", name, sysctl(name), name)
}

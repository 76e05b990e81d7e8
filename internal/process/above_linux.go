package process

import (
	"bytes"
	"os"
	"strconv"
)

// RunAbove names the run that this process was started from, by the environment of the processes above it;
// "" when there is none. A child that clears its own environment is still found.
func RunAbove() string {
	for pid := os.Getppid(); pid > 1; {
		environ, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
		if err == nil {
			for _, entry := range bytes.Split(environ, []byte{0}) {
				if id, ok := bytes.CutPrefix(entry, []byte(RunToken+"=")); ok && len(id) > 0 {
					return string(id)
				}
			}
		}
		st, ok := readStat(pid)
		if !ok || st.ppid == pid {
			return ""
		}
		pid = st.ppid
	}
	return ""
}

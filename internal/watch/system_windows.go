package watch

import "os"

func isNotDir(error) bool { return false }

func openFile(name string) (*os.File, error) { return os.Open(name) }

package cli

import "golang.org/x/sys/windows"

// room is what the disk that a directory lies on has left for this user; false when nobody knows.
func room(dir string) (roominess, bool) {
	path, err := windows.UTF16PtrFromString(dir)
	if err != nil {
		return roominess{}, false
	}
	var left roominess
	if windows.GetDiskFreeSpaceEx(path, &left.bytes, nil, nil) != nil {
		return roominess{}, false
	}
	return left, true
}

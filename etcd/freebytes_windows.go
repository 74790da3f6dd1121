package etcd

import "golang.org/x/sys/windows"

// freeBytes returns how many bytes this process may still write to the disk of dir.
func freeBytes(dir string) (free uint64, known bool) {
	name, err := windows.UTF16PtrFromString(dir)
	if err != nil {
		return 0, false
	}
	err = windows.GetDiskFreeSpaceEx(name, &free, nil, nil)
	return free, err == nil
}

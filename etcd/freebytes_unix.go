//go:build linux || darwin || freebsd

package etcd

import "syscall"

// freeBytes returns how many bytes this process may still write to the disk of dir.
func freeBytes(dir string) (free uint64, known bool) {
	var st syscall.Statfs_t
	if err := syscall.Statfs(dir, &st); err != nil {
		return 0, false
	}
	return availableBytes(&st)
}

// availableBytes returns false for a file system that reports no sizes, such as ramfs and a tmpfs
// without a limit.
func availableBytes(st *syscall.Statfs_t) (bytes uint64, known bool) {
	if st.Blocks == 0 {
		return 0, false
	}
	return uint64(st.Bavail) * blockBytes(st), true //nolint:unconvert // the type depends on the platform
}

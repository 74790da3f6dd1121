//go:build linux || darwin || freebsd

package etcd

import "syscall"

// freeBytes returns how many bytes this process may still write to the disk of dir.
func freeBytes(dir string) (uint64, bool) {
	var st syscall.Statfs_t
	if err := syscall.Statfs(dir, &st); err != nil {
		return 0, false
	}
	return uint64(st.Bavail) * uint64(st.Bsize), true //nolint:unconvert // the types depend on the platform
}

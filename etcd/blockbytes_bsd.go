//go:build darwin || freebsd

package etcd

import "syscall"

// blockBytes returns the size of the blocks that a file system counts.
func blockBytes(st *syscall.Statfs_t) uint64 {
	return uint64(st.Bsize) //nolint:unconvert // the type depends on the platform
}

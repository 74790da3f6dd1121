package etcd

import "syscall"

// blockBytes returns the size of the blocks that a file system counts. On Linux these are fragments: with
// virtiofs and NFS, Bsize is how much to transfer at once.
func blockBytes(st *syscall.Statfs_t) uint64 {
	if st.Frsize > 0 { // otherwise it is not reported
		return uint64(st.Frsize)
	}
	return uint64(st.Bsize)
}

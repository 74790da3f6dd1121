//go:build !(linux || darwin || freebsd)

package etcd

// freeBytes is not implemented on this system. A full disk is reported by the first
// write that fails.
func freeBytes(string) (uint64, bool) { return 0, false }

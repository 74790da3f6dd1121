//go:build !linux

package memory

// dropTextPages does nothing where the operating system has no call for it.
func dropTextPages() error { return nil }

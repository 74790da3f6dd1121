//go:build !linux

package ctrlplane

// dropTextPages does nothing where the system has no way to ask for it.
func dropTextPages() error { return nil }

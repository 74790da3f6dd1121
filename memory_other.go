//go:build !linux

package ctrlplane

// forgetProgram does nothing where the system has no way to ask for it.
func forgetProgram() error { return nil }

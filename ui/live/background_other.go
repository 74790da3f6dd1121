//go:build !unix

package live

// ignoreBackgroundOutput does nothing: the system has no job control.
func ignoreBackgroundOutput() {}

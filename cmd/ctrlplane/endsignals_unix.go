//go:build unix

package main

// onStopRequest does nothing: other processes send SIGTERM.
func onStopRequest(func()) (stop func()) { return func() {} }

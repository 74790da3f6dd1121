//go:build !linux && !darwin

package main

// members lists who runs in a process group, where that can be told.
func members(int) []process { return nil }

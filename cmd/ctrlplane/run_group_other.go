//go:build !linux && !darwin

package main

// groupMembers lists the running processes of a process group: none, as this platform
// cannot list them.
func groupMembers(int) []groupMember { return nil }

//go:build !linux && !darwin

package main

import "syscall"

const canListGroups = false

// groupMembers lists the running processes of a process group: none, as this platform
// cannot list them.
func groupMembers(int) []groupMember { return nil }

// killWithParent does nothing: this platform has no such signal, or it is not used.
func killWithParent(*syscall.SysProcAttr) {}

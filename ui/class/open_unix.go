//go:build !windows

package class

import "syscall"

// safeOpen are the flags with which opening neither follows a link nor waits for the other
// end of a pipe.
const safeOpen = syscall.O_NOFOLLOW | syscall.O_NONBLOCK

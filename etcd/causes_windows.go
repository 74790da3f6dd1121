package etcd

import (
	"syscall"

	"golang.org/x/sys/windows"
)

// Causes of errors of the file system; see withAdvice. The system returns none of those of Unix.
var (
	diskFull      = []syscall.Errno{windows.ERROR_DISK_FULL, windows.ERROR_HANDLE_DISK_FULL}
	quotaExceeded = []syscall.Errno{windows.ERROR_DISK_QUOTA_EXCEEDED}
	notWritable   = []syscall.Errno{windows.ERROR_ACCESS_DENIED, windows.ERROR_WRITE_PROTECT}
)

//go:build unix

package etcd

import "syscall"

// Causes of errors of the file system; see withAdvice.
var (
	diskFull      = []syscall.Errno{syscall.ENOSPC}
	quotaExceeded = []syscall.Errno{syscall.EDQUOT}
	notWritable   = []syscall.Errno{syscall.EACCES, syscall.EPERM, syscall.EROFS}
)

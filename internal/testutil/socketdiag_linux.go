package testutil

import (
	"testing"

	"golang.org/x/sys/unix"
)

// NeedSocketDiag skips a test where the kernel has no sock_diag(7), as in some sandboxes.
func NeedSocketDiag(t *testing.T) {
	t.Helper()
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, unix.NETLINK_INET_DIAG)
	if err != nil {
		t.Skipf("sock_diag: %v", err)
	}
	unix.Close(fd)
}

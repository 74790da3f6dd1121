//go:build unix

package live

import (
	"os/signal"
	"syscall"
)

// ignoreBackgroundOutput lets a process that was suspended restore the terminal from the background: the
// terminal would stop it again.
func ignoreBackgroundOutput() { signal.Ignore(syscall.SIGTTOU) }

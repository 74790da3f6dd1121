package filewatch

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// The advice raises a limit, whatever it is.
func TestAdviceRaisesTheLimit(t *testing.T) {
	for name, err := range map[string]error{"max_user_watches": syscall.ENOSPC, "max_user_instances": syscall.EMFILE} {
		data, readErr := os.ReadFile("/proc/sys/fs/inotify/" + name)
		if readErr != nil {
			t.Skip(readErr)
		}
		limit, parseErr := strconv.Atoi(strings.TrimSpace(string(data)))
		if parseErr != nil {
			t.Fatal(parseErr)
		}
		if got, want := watchError("files", err).Error(), fmt.Sprintf("as root (sysctl -w fs.inotify.%s=%d)", name, 2*limit); !strings.Contains(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// Another system has no such limits.
func TestAdviceWithoutLimits(t *testing.T) {
	if got := raiseLimit("unknown"); got != "" {
		t.Errorf("got %q", got)
	}
}

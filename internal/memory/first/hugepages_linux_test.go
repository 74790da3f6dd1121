//go:build !race && !msan && !asan

package first

import (
	"os"
	"regexp"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
)

// After Delay, part of the heap is advised to be in huge pages ("hg").
func TestDelayReservesHugePages(t *testing.T) {
	enabled, err := os.ReadFile("/sys/kernel/mm/transparent_hugepage/enabled")
	if err != nil || !strings.Contains(string(enabled), "[madvise]") {
		t.Skipf("no process chooses huge pages: %s %v", enabled, err)
	}
	t.Setenv("GOGC", "")
	defer debug.SetGCPercent(debug.SetGCPercent(DefaultPercent))
	Delay()
	for isDelayed() {
		runtime.GC()
	}
	maps, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		t.Fatal(err)
	}
	if !regexp.MustCompile(`(?m)^VmFlags:.* hg`).Match(maps) {
		t.Error("no memory is advised to be in huge pages")
	}
}

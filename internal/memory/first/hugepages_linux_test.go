package first

import (
	"os"
	"regexp"
	"runtime"
	"runtime/debug"
	"testing"
)

// After Delay, part of the heap is advised to be in huge pages ("hg").
func TestDelayAdvisesHugePages(t *testing.T) {
	if _, err := os.Stat("/sys/kernel/mm/transparent_hugepage"); err != nil {
		t.Skip(err)
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

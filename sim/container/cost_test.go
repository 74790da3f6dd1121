package container

import (
	"runtime"
	"strconv"
	"testing"

	"k8s.io/apimachinery/pkg/types"
)

// TestSleepingRunsAreSmall measures what 1,000 containers cost that only sleep.
func TestSleepingRunsAreSmall(t *testing.T) {
	const count, limit = 1000, 2048
	f := newFixture(t)
	heap := func() uint64 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc + m.StackInuse
	}
	before := heap()
	for i := range count {
		pod := newPod("sleep", "infinity")
		pod.UID = types.UID(strconv.Itoa(i))
		if state := f.start(pod); state.Phase != Running || !state.Command {
			t.Fatalf("got %+v", state)
		}
	}
	after := heap()
	if each := (int64(after) - int64(before)) / count; each > limit {
		t.Errorf("%d bytes each, want at most %d", each, limit)
	} else {
		t.Logf("%d bytes each", each)
	}
	runtime.KeepAlive(f)
}

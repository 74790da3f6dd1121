package nodes

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/kwok/pkg/utils/queue"
)

// A synctest bubble fails if a goroutine outlives it.
func TestKwokQueueEndsWithContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		clock := newCancelableClock(ctx)
		q := queue.NewWeightDelayingQueue[string](clock)
		q.AddAfter("a", time.Hour)
		q.AddAfter("b", time.Minute)
		for _, want := range []string{"b", "a"} {
			time.Sleep(time.Hour)
			if got, ok := q.Get(); got != want || !ok {
				t.Errorf("got %q, %v, want %q", got, ok, want)
			}
		}
		cancelled := time.Now()
		cancel()
		<-clock.ended
		if took := time.Since(cancelled); took != 0 {
			t.Errorf("the queue ended after %v", took)
		}
	})
}

// cancelableClock ends the goroutine that calls After: that must be a queue's.
func TestOnlyQueuesCallAfter(t *testing.T) {
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/kwok").Output()
	if err != nil {
		t.Skipf("the source of kwok cannot be found: %v", err)
	}
	var callers []string
	for _, pkg := range []string{"pkg/kwok/controllers", "pkg/utils/queue", "pkg/utils/lifecycle"} {
		files, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(dir)), pkg, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %d files, %v", pkg, len(files), err)
		}
		for _, file := range files {
			source, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.HasSuffix(file, "_test.go") && strings.Contains(string(source), "lock.After(") {
				callers = append(callers, pkg+"/"+filepath.Base(file))
			}
		}
	}
	if diff := cmp.Diff([]string{"pkg/utils/queue/delaying_queue.go", "pkg/utils/queue/weight_delaying_queue.go"}, callers); diff != "" {
		t.Errorf("files that call After of their clock: %s", diff)
	}
}

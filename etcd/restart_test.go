package etcd

import (
	"fmt"
	"sync"
	"testing"
)

// The immediate election at a start must succeed with a log that has more entries than
// etcd keeps in memory, and while other members start.
func TestRestartWithLongLog(t *testing.T) {
	const servers, entries, restarts = 3, 450, 10
	dirs := make([]string, servers)
	for i := range dirs {
		dirs[i] = newFilledDir(t, entries)
	}
	last := fmt.Sprintf("k%d", entries-1)
	for range restarts {
		var running sync.WaitGroup
		for _, dir := range dirs {
			running.Go(func() {
				s, err := Start(testContext(t), Config{Dir: dir, NoSync: true})
				if err != nil {
					t.Errorf("Start: %v", err)
					return
				}
				defer closeServer(t, s)
				if r, err := dialEmbedded(t, s).Get(testContext(t), last); err != nil || r.Count != 1 {
					t.Errorf("get %s = %v, %v", last, r, err)
				}
			})
		}
		running.Wait()
		if t.Failed() {
			return
		}
	}
}

package scheduler

import "sync"

// Totals counts the Pods that were added to each of upstream's queues, and those that have left it. Schedulers of one control
// plane, which run one after the other, share it. The zero value is ready.
type Totals struct {
	mu   sync.Mutex
	adds map[string]int64 // by name of the queue
	gets map[string]int64 // by name of the queue, except of the active one
}

func (t *Totals) add(queue string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.adds == nil {
		t.adds, t.gets = map[string]int64{}, map[string]int64{}
	}
	t.adds[queue]++
}

// counts returns how many Pods were added to a queue that has a depth, and how many have left it. Those of a scheduler that was
// stopped have.
func (t *Totals) counts(queue string, depth int64) (adds, gets int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	adds = t.adds[queue]
	if adds == 0 {
		return 0, 0
	}
	// The depth may lack a Pod that was added since it was read: what has left does not become less.
	t.gets[queue] = max(t.gets[queue], adds-depth)
	return adds, t.gets[queue]
}

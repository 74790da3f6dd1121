package observe

import (
	"testing"
	"testing/synctest"
	"time"
)

// inQueue calls do with a queue of a controller, as that controller, in a bubble with its own clock.
func inQueue(t *testing.T, do func(by *Recorder, q QueueMetrics)) {
	synctest.Test(t, func(t *testing.T) {
		qs := NewQueues()
		o := New(Options{Queues: qs})
		defer o.Close()
		by := o.Recorder("c")
		by.Do(func() { do(by, qs.Open("q")) })
	})
}

// Adds whose keys were all taken are not taken for the add of a later key, also if it is not known which sync took which.
func TestTakenAddsAreForgotten(t *testing.T) {
	inQueue(t, func(by *Recorder, q QueueMetrics) { // the clock stands still: all adds match
		add := func(name string) {
			by.Deliver(&Delivered{Change: Added, Object: Object{Resource: "pods", Name: name}}, q.Depth().Inc)
		}
		take := func() *syncRun {
			q.Depth().Dec()
			q.Wait().Observe(0)
			return currentScope().activeSync()
		}
		add("a")
		add("b")
		take()
		if list := q.q.waitingObjects(10); len(list) != 1 {
			t.Errorf("one key waits, of %v", list)
		}
		q.Work().Observe(0)
		if w := take(); w.lastAdd != 2 || w.sure {
			t.Errorf("either add may be the one of the second sync: %+v", w)
		}
		q.Work().Observe(0)
		if list := q.q.waitingObjects(10); len(list) > 0 {
			t.Errorf("no key waits, and these do: %v", list)
		}
		add("c")
		if w := take(); w.add == nil || w.add.number != 3 || w.lastAdd != 0 || !w.sure {
			t.Errorf("only the third add is pending: %+v", w)
		}
		q.Work().Observe(0)
	})
}

// Of two queues that share a name, one runs empty while a worker of the other has taken a key, and has not measured yet
// how long that waited.
func TestAddsOfAKeyInHandAreNotForgotten(t *testing.T) {
	inQueue(t, func(by *Recorder, q QueueMetrics) {
		for _, name := range []string{"a", "b"} {
			by.Deliver(&Delivered{Change: Added, Object: Object{Resource: "pods", Name: name}}, q.Depth().Inc)
			time.Sleep(time.Second)
		}
		isTaken, isEmpty, done := make(chan struct{}), make(chan struct{}), make(chan struct{})
		go by.Do(func() {
			defer close(done)
			q.Depth().Dec()
			close(isTaken)
			<-isEmpty
			q.Wait().Observe(2)
			if w := currentScope().activeSync(); w.add == nil || w.add.number != 1 || !w.sure {
				t.Errorf("the first add is that of the first sync: %+v", w)
			}
			q.Work().Observe(0)
		})
		<-isTaken
		q.Depth().Dec()
		q.Wait().Observe(1)
		q.Work().Observe(0)
		close(isEmpty)
		<-done
	})
}

// A goroutine that a sync has started, and that waits for something after that has ended, likely requeues the key of the sync. If it adds
// another one, that says nothing.
func TestGoroutineOfAnEndedSyncRequeuesItsKey(t *testing.T) {
	for _, test := range []struct {
		key     string
		later   int // syncs of a, before the goroutine adds the key
		isCause bool
	}{{key: "a", isCause: true}, {key: "a", later: 3, isCause: true}, {key: "b"}, {key: ""}} {
		inQueue(t, func(by *Recorder, q QueueMetrics) {
			sync := func(key string, during func()) *syncRun {
				q.Depth().Dec()
				q.Wait().Observe(0)
				w := currentScope().activeSync()
				by.NameSync(key)
				during()
				q.Work().Observe(0)
				return w
			}
			isOver, added := make(chan struct{}), make(chan struct{})
			by.Deliver(&Delivered{Change: Added, Object: Object{Resource: "namespaces", Name: "a"}}, q.Depth().Inc)
			first := sync("a", func() {
				go func() {
					defer close(added)
					<-isOver
					q.Depth().Inc()
				}()
			})
			time.Sleep(time.Second)
			for range test.later {
				by.Deliver(&Delivered{Change: Updated, Object: Object{Resource: "namespaces", Name: "a"}}, q.Depth().Inc)
				sync("a", func() {})
				time.Sleep(time.Hour)
			}
			close(isOver)
			<-added
			want := uint64(0)
			if test.isCause {
				want = first.id
			}
			if got := sync(test.key, func() {}).event(0); got.CauseSync != want || got.Sure == test.isCause {
				t.Errorf("%+v: the sync follows sync %d, want %d; sure: %v", test, got.CauseSync, want, got.Sure)
			}
		})
	}
}

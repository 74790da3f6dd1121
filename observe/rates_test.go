package observe_test

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ctrlplane/ctrlplane/observe"
)

// rateStep is what a queue has counted at a sample, nil if the queue is not there, and its rates then.
type rateStep struct {
	queue    *observe.Queue
	adds     float64
	done     float64
	duration time.Duration // of the sample
}

// testRates samples a queue once for each step.
func testRates(t *testing.T, name string, steps ...rateStep) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		var current atomic.Pointer[rateStep]
		var delay atomic.Int64
		current.Store(&rateStep{})
		o := observe.New(observe.Options{MoreQueues: func() []observe.Queue {
			step := current.Load()
			time.Sleep(time.Duration(delay.Swap(0)))
			if step.queue == nil {
				return nil
			}
			q := *step.queue
			q.Controller, q.Name = name, "q"
			return []observe.Queue{q}
		}})
		defer o.Close()
		for i, step := range steps {
			current.Store(&step)
			delay.Store(int64(step.duration))
			time.Sleep(time.Second + step.duration) // until the next sample
			synctest.Wait()
			s, err := o.Snapshot(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, q := range s.Queues {
				if q.AddRate != step.adds || q.DoneRate != step.done {
					t.Errorf("step %d: rates %v and %v, want %v and %v", i, q.AddRate, q.DoneRate, step.adds, step.done)
				}
			}
		}
	})
}

// An operator that runs already, as after a restart of the control plane, reports what it has counted since its start.
func TestRateOfAQueueThatIsReported(t *testing.T) {
	testRates(t, "op/web",
		rateStep{queue: &observe.Queue{Adds: 100, Done: 100}},
		rateStep{queue: &observe.Queue{Adds: 106, Done: 104}, adds: 6, done: 4},
	)
}

// The next run of an operator continues the numbers of a reported queue: they are no adds of that second.
func TestRateOfAQueueThatIsReportedAgain(t *testing.T) {
	testRates(t, "op/web",
		rateStep{queue: &observe.Queue{Adds: 100, Done: 100}},
		rateStep{},
		rateStep{queue: &observe.Queue{Adds: 106, Done: 106}, adds: 6, done: 6},
	)
}

// What an operator has counted while it could not report is not of the second in which it reports again.
func TestRateOfAQueueAfterASilence(t *testing.T) {
	testRates(t, "op/web",
		rateStep{queue: &observe.Queue{Adds: 100, Done: 100}},
		rateStep{},
		rateStep{queue: &observe.Queue{Adds: 900, Done: 900, Resumed: 1}},
		rateStep{queue: &observe.Queue{Adds: 906, Done: 904, Resumed: 1}, adds: 6, done: 4},
	)
}

// A controller that is started again counts from zero.
func TestRateOfARestartedQueue(t *testing.T) {
	testRates(t, "kube-scheduler",
		rateStep{queue: &observe.Queue{Adds: 10, Gets: 10, Done: 10}, adds: 10, done: 10},
		rateStep{},
		rateStep{queue: &observe.Queue{Adds: 12, Depth: 12}, adds: 12},
	)
}

// It may be restarted between two samples.
func TestRateOfAQueueThatIsRestartedAtOnce(t *testing.T) {
	testRates(t, "kube-scheduler",
		rateStep{queue: &observe.Queue{Adds: 10, Gets: 10, Done: 10}, adds: 10, done: 10},
		rateStep{queue: &observe.Queue{Adds: 12, Gets: 3, Done: 2}, adds: 12, done: 2},
	)
}

// The queue of a recorder goes on counting when the controller is started again, as its syncs do.
func TestKeyedQueueOfARestartedController(t *testing.T) {
	o := observe.New(observe.Options{})
	defer o.Close()
	r := o.Recorder("kube-scheduler")
	before := r.KeyedQueue("active")
	before.Begin("default/a", before.Add(time.Time{})).End("")
	late := before.Begin("default/b", nil)
	r.CloseQueues()
	q := r.KeyedQueue("active")
	late.End("")
	if s := q.Snapshot(time.Now()); s.Adds != 1 || s.Gets != 2 || s.Done != 2 || s.InFlight != 0 || s.Wait.Total.Count != 1 || s.Work.Total.Count != 2 {
		t.Errorf("%+v", s)
	}
}

// A sample that comes late covers more than a second.
func TestRateOnABusyMachine(t *testing.T) {
	testRates(t, "kube-scheduler",
		rateStep{queue: &observe.Queue{Adds: 10, Done: 10}, adds: 10, done: 10},
		rateStep{queue: &observe.Queue{Adds: 50, Done: 30}, duration: 3 * time.Second, adds: 10, done: 6},
	)
}

// The queues of the process that belong to no controller go on when another control plane begins.
func TestRateOfAnEarlierQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		queues := observe.NewQueues()
		depth := queues.Open("q").Depth()
		for range 100 {
			depth.Inc()
		}
		o := observe.New(observe.Options{Queues: queues})
		defer o.Close()
		for range 6 {
			depth.Inc()
		}
		time.Sleep(time.Second)
		synctest.Wait()
		s, err := o.Snapshot(t.Context())
		if err != nil || len(s.Queues) != 1 || s.Queues[0].AddRate != 6 {
			t.Errorf("%+v, %v", s.Queues, err)
		}
	})
}

package settled

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ctrlplane/ctrlplane/observe"
)

var now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// quietly is a snapshot in which nothing is left, changed by f.
func quietly(f func(*observe.Snapshot)) observe.Snapshot {
	s := observe.Snapshot{
		Time:        now,
		Process:     observe.Process{State: observe.Ready, Settled: true},
		Queues:      []observe.Queue{{Controller: "job-controller", Name: "job", Adds: 4, Done: 4}},
		Controllers: []observe.Controller{{Name: "job-controller"}},
	}
	if f != nil {
		f(&s)
	}
	return s
}

// failing is a snapshot with a key that failed some time ago.
func failing(ago time.Duration, times int, delayed int64) observe.Snapshot {
	return quietly(func(s *observe.Snapshot) {
		s.Queues[0].Delayed = delayed
		s.Controllers[0].Failing = []observe.Failing{
			{Queue: "job", Key: "shop/j", KeyBasis: observe.BasisLog, Error: "no\nquota", Times: times, Last: now.Add(-ago)},
		}
	})
}

func TestLeft(t *testing.T) {
	retry := func(times string) []Work {
		return []Work{{"job-controller", []string{"shop/j in queue job has failed " + times + " and will be retried: no quota"}}}
	}
	for _, test := range []struct {
		name     string
		snapshot observe.Snapshot
		want     []Work
	}{
		{"nothing", quietly(nil), nil},
		{"starting", quietly(func(s *observe.Snapshot) { s.Process.State = observe.Starting }),
			[]Work{{"control plane", []string{"it is starting"}}}},
		{"unknown state", observe.Snapshot{}, []Work{{"control plane", []string{"it is not known to be ready"}}}},
		{"a moment ago", quietly(func(s *observe.Snapshot) { s.Process.Settled = false }),
			[]Work{{"control plane", []string{"something was written or delivered a moment ago"}}}},
		{"queued and in flight", quietly(func(s *observe.Snapshot) {
			s.Process.Settled = false
			s.Queues[0].Depth, s.Queues[0].InFlight = 3, 1
			s.Queues = append(s.Queues, observe.Queue{Name: "somebody's", Depth: 1})
			s.Controllers[0].Running = []observe.Running{
				{Queue: "job", Key: "shop/j", KeyBasis: observe.BasisEvent, Since: now.Add(-1500 * time.Millisecond)},
				{Queue: "job", Since: now.Add(-time.Second)},
			}
		}), []Work{
			{"job-controller", []string{
				"queue job has depth 3, 1 in flight",
				"sync of likely shop/j takes 1.5s by now",
				"sync of a key that is not known takes 1s by now",
			}},
			{"somebody's", []string{"queue somebody's has depth 1, 0 in flight"}},
		}},

		{"failed just now", failing(time.Millisecond, 1, 1), retry("once")},
		{"retry of a slow queue is ahead", failing(900*time.Millisecond, 1, 1), retry("once")},
		{"retry of a slow queue may be late", failing(1900*time.Millisecond, 1, 1), retry("once")},
		{"retry is overdue", failing(3*time.Second, 1, 1), nil},
		{"no key waits for a timer", failing(time.Millisecond, 1, 0), nil},
		{"timers are not known", failing(time.Millisecond, 3, -1), retry("3 times")},
		{"retry is beyond the horizon", failing(0, 9, 1), nil}, // due in 1.28 s
		{"retry comes into it", failing(300*time.Millisecond, 9, 1), retry("9 times")},
		{"backing off for long", failing(time.Hour, 40, 1), nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, Left(test.snapshot, time.Second)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestHorizon(t *testing.T) {
	s := failing(0, 9, 1)
	if got := Left(s, 2*time.Second); len(got) != 1 {
		t.Errorf("a retry in 1.28 s: got %v, want it within 2 s", got)
	}
	if got := Left(s, 0); got != nil {
		t.Errorf("a retry in 1.28 s: got %v, want nothing with no horizon", got)
	}
}

func TestFailureOfAQueueThatIsGone(t *testing.T) {
	s := failing(0, 1, 1)
	s.Queues = nil
	if got := Left(s, time.Second); got != nil {
		t.Errorf("got %v", got)
	}
}

func TestWorkIsOneLine(t *testing.T) {
	if got, want := (Work{"a", []string{"b", "c"}}).String(), "a: b; c"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

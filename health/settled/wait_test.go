package settled

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ctrlplane/ctrlplane/observe"
)

// fakeSource is a source whose nth snapshot is the nth answer, or else the last.
type fakeSource struct {
	answers []any // observe.Snapshot or error
	n       int
}

func (l *fakeSource) Snapshot(context.Context) (observe.Snapshot, error) {
	i := min(l.n, len(l.answers)-1)
	l.n++
	if err, ok := l.answers[i].(error); ok {
		return observe.Snapshot{}, err
	}
	return l.answers[i].(observe.Snapshot), nil
}

func snapshotWithDepth(n int64) observe.Snapshot {
	return quietSnapshot(func(s *observe.Snapshot) { s.Process.Quiet, s.Queues[0].Depth = false, n })
}

func TestNeedsTwoQuietChecksInARow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := &fakeSource{answers: []any{snapshotWithDepth(2), quietSnapshot(nil), snapshotWithDepth(1), quietSnapshot(nil)}}
		began := time.Now()
		var progress []string
		err := Wait(t.Context(), src, time.Second, func(work []Work) { progress = append(progress, fmt.Sprint(work)) })
		if err != nil || src.n != 5 || time.Since(began) != 2*pollInterval+2*recheckInterval {
			t.Errorf("got %v after %d checks and %v", err, src.n, time.Since(began))
		}
		if progress != nil { // settled before the first report
			t.Errorf("got progress %v, want none", progress)
		}
	})
}

// A program that waits for a moment between its writes has no work at checks that find it waiting.
func TestNeedsTimeWithoutActivity(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := &fakeSource{}
		for i := range 10 {
			src.answers = append(src.answers, quietSnapshot(func(s *observe.Snapshot) { s.Process.LastActivity = now.Add(-time.Duration(11+i) * time.Millisecond) }))
		}
		if err := Wait(t.Context(), src, time.Second, nil); err != nil || src.n != 10 {
			t.Errorf("got %v after %d checks, want 10", err, src.n)
		}
	})
}

func TestLongWaitsCheckLessOften(t *testing.T) {
	for waited, want := range map[time.Duration]time.Duration{
		0: pollInterval, 500 * time.Millisecond: pollInterval, 2 * time.Second: 100 * time.Millisecond, time.Minute: maxPollInterval,
	} {
		if got := pauseAfter(waited); got != want {
			t.Errorf("after %v: %v, want %v", waited, got, want)
		}
	}
}

func TestProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := &fakeSource{}
		for range 2 * progressInterval / pollInterval {
			src.answers = append(src.answers, snapshotWithDepth(2))
		}
		src.answers = append(src.answers, quietSnapshot(nil))
		var progress []string
		if err := Wait(t.Context(), src, time.Second, func(work []Work) { progress = append(progress, fmt.Sprint(work)) }); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"[job-controller: queue job has depth 2, 0 in flight]", "[]"}, progress); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// Two controllers that work in turn are not reported twice a second for minutes.
func TestLongWaitsReportLessOften(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		other := quietSnapshot(func(s *observe.Snapshot) {
			s.Process.Quiet, s.Clients = false, []observe.Client{{Name: "op (admin)", Writing: 1}}
		})
		src := &fakeSource{}
		for range 300 {
			src.answers = append(src.answers, snapshotWithDepth(2), other)
		}
		src.answers = append(src.answers, quietSnapshot(nil))
		began, last := time.Now(), time.Now()
		reports := 0
		var pause time.Duration
		if err := Wait(t.Context(), src, time.Second, func([]Work) { reports++; pause, last = time.Since(last), time.Now() }); err != nil {
			t.Fatal(err)
		}
		if waited := time.Since(began); waited < time.Minute || reports > 20 || pause < 10*time.Second {
			t.Errorf("%d reports in %v, the last after %v", reports, waited, pause)
		}
	})
}

func TestDeadlineReportsRemainingWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cause := errors.New("timed out after 1s")
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, cause)
		defer cancel()
		err := Wait(ctx, &fakeSource{answers: []any{snapshotWithDepth(1)}}, time.Second, nil)
		busy, ok := errors.AsType[*BusyError](err)
		if !ok || !errors.Is(err, cause) || err.Error() != "not settled: job-controller: timed out after 1s" {
			t.Fatalf("got %v", err)
		}
		want := []Work{{Where: "job-controller", What: []string{"queue job has depth 1, 0 in flight"}}}
		if diff := cmp.Diff(want, busy.Work); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// Who writes again and again is named, also if no write is in flight when the time is over.
func TestDeadlineBetweenTwoWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		writing := quietSnapshot(func(s *observe.Snapshot) { s.Clients = []observe.Client{{Name: "op (admin)", Writing: 1}} })
		between := quietSnapshot(func(s *observe.Snapshot) { s.Process.Quiet = false })
		behind := quietSnapshot(func(s *observe.Snapshot) {
			s.Controllers[0].Behind = []observe.WatchLag{{Resource: "configmaps", Written: 7}}
		})
		for name, tt := range map[string]struct {
			last observe.Snapshot
			n    int // how often
			want string
		}{
			"between":   {between, 2, "not settled: op (admin): late"},
			"quiet":     {quietSnapshot(nil), 1, "not settled: op (admin): late"},
			"delivered": {behind, 2, "not settled: op (admin), informers: late"},
			"long over": {between, int(recentTime/pollInterval) + 1, "not settled: control plane: late"},
		} {
			src := &fakeSource{answers: []any{writing}}
			for range tt.n {
				src.answers = append(src.answers, tt.last)
			}
			ctx, cancel := context.WithTimeoutCause(t.Context(), time.Duration(tt.n)*pollInterval+time.Millisecond, errors.New("late"))
			if err := Wait(ctx, src, time.Second, nil); err == nil || err.Error() != tt.want {
				t.Errorf("%s: got %v, want %s", name, err, tt.want)
			}
			cancel()
		}
	})
}

func TestDeadlineBeforeSecondCheck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), recheckInterval/2)
		defer cancel()
		err := Wait(ctx, &fakeSource{answers: []any{quietSnapshot(nil)}}, time.Second, nil)
		if want := "not settled: control plane: context deadline exceeded"; err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	})
}

func TestErrorNamesThreePlaces(t *testing.T) {
	err := &BusyError{Work: []Work{{Where: "a"}, {Where: "b"}, {Where: "c"}, {Where: "d"}, {Where: "e"}}, Cause: errors.New("late")}
	if want := "not settled: a, b, c, 2 more: late"; err.Error() != want {
		t.Errorf("got %q, want %q", err, want)
	}
}

func TestSourceErrorIsReturned(t *testing.T) {
	gone := errors.New("stopped")
	if err := Wait(t.Context(), &fakeSource{answers: []any{snapshotWithDepth(1), gone}}, time.Second, nil); !errors.Is(err, gone) {
		t.Errorf("got %v", err)
	}
}

func TestCanceledContext(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	enough := errors.New("enough")
	err := Wait(ctx, &fakeSource{answers: []any{snapshotWithDepth(1)}}, time.Second, func([]Work) { cancel(enough) })
	if !errors.Is(err, enough) {
		t.Errorf("got %v", err)
	}
}

// Held writes never settle: the summary says so, too.
func TestErrorNamesWhatIsPaused(t *testing.T) {
	s := quietSnapshot(nil)
	s.Clients = []observe.Client{{Name: "op (admin)", State: "paused", Held: 1, Writing: 1}, {Name: "reporting (admin)", Held: 1, Writing: 1}}
	s.Controllers = []observe.Controller{{Name: "job-controller", State: "paused", Held: 1, Writing: 1}}
	err := NewBusyError(RemainingWork(s, 0), errors.New("late"))
	if want := "not settled: job-controller (paused), op (admin) (paused), reporting (admin) (paused): late"; err.Error() != want {
		t.Errorf("got %q, want %q", err, want)
	}
	delayed := observe.Interventions{Delay: 10 * time.Second}
	s.Clients = []observe.Client{{Name: "op (admin)", State: "running", Reason: "each call waits 10s", Interventions: delayed, Writing: 1}}
	s.Controllers = []observe.Controller{{Name: "job-controller", State: "running", Reason: "each call waits 10s", Interventions: delayed, Writing: 1}}
	err = NewBusyError(RemainingWork(s, 0), errors.New("late"))
	if want := "not settled: job-controller (delayed), op (admin) (delayed): late"; err.Error() != want {
		t.Errorf("got %q, want %q", err, want)
	}
	s = failingSnapshot(0, 1)
	s.Controllers[0].Failing[0].Error = "retry when the controller is paused"
	err = NewBusyError(RemainingWork(s, 0), errors.New("late"))
	if want := "not settled: job-controller: late"; err.Error() != want {
		t.Errorf("an error of a key: got %q, want %q", err, want)
	}
}

package ui

import (
	"bytes"
	"context"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ctrlplane/ctrlplane/observe"
)

// fakeSource is a source with a process that the test controls.
type fakeSource struct {
	mu          sync.Mutex
	records     []observe.Record
	missed      uint64
	process     observe.Process
	queues      []observe.Queue
	err         error
	recordCalls int // calls of Records
}

func (f *fakeSource) Snapshot(context.Context) (observe.Snapshot, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return observe.Snapshot{Time: time.Now(), Process: f.process, Queues: f.queues}, f.err
}

func (f *fakeSource) Records(_ context.Context, q observe.Query) (observe.Page, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.recordCalls++
	if last := uint64(len(f.records)); last > 0 && q.After > last {
		return observe.Page{}, &apierrors.StatusError{ErrStatus: metav1.Status{Reason: metav1.StatusReasonGone, Message: "the control plane was started again"}}
	}
	page := observe.Page{Next: max(q.After, uint64(len(f.records))), Missed: f.missed}
	f.missed = 0
	for _, r := range f.records {
		if r.Seq > q.After && q.Match(&r) {
			page.Records = append(page.Records, r)
		}
	}
	return page, f.err
}

func (f *fakeSource) change(change func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change()
}

func (f *fakeSource) addRecords(events ...observe.Event) {
	f.change(func() {
		for _, e := range events {
			f.records = append(f.records, observe.Record{Seq: uint64(len(f.records) + 1), Time: time.Now(), Event: e})
		}
	})
}

// writtenLines collects written lines.
type writtenLines struct {
	mu  sync.Mutex
	b   bytes.Buffer
	err error
}

func (l *writtenLines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err != nil {
		return 0, l.err
	}
	return l.b.Write(p)
}

// takeLines returns the lines written since the last call, without the time.
func (l *writtenLines) takeLines() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var result []string
	for line := range strings.Lines(l.b.String()) {
		_, line, _ = strings.Cut(strings.TrimSuffix(line, "\n"), "  ")
		result = append(result, line)
	}
	l.b.Reset()
	return result
}

// newWriter returns a writer of one of the formats.
type newWriter func(io.Writer, observe.Source) EventWriter

func plainFormat(w io.Writer, src observe.Source) EventWriter { return NewPlainWriter(w, src) }

func jsonFormat(w io.Writer, _ observe.Source) EventWriter { return NewJSONWriter(w) }

// testFollow runs a test against a running Follow, in a synctest bubble.
func testFollow(t *testing.T, format newWriter, test func(t *testing.T, src *fakeSource, out *writtenLines, wait func(time.Duration))) {
	synctest.Test(t, func(t *testing.T) {
		src, out := &fakeSource{process: observe.Process{State: observe.Ready, Settled: true, Started: time.Now()}}, &writtenLines{}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- Follow(ctx, src, 0, format(out, src)) }()
		test(t, src, out, func(d time.Duration) {
			t.Helper()
			timer := time.NewTimer(d)
			<-timer.C
			synctest.Wait()
		})
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

func expectLines(t *testing.T, out *writtenLines, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, out.takeLines()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

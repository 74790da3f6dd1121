package recording

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/component-base/metrics"
	"k8s.io/klog/v2"

	"github.com/ctrlplane/ctrlplane/controllers/queues"
	"github.com/ctrlplane/ctrlplane/observe"

	"k8s.io/client-go/util/workqueue"
)

// recordSync runs a sync of the key "default/web", and returns its record.
func recordSync(t *testing.T, work func(logr.Logger, *observe.Recorder)) *observe.Synced {
	t.Helper()
	all := observe.NewQueues()
	o := observe.New(observe.Options{Queues: all})
	defer o.Close()
	by := o.Recorder("c")
	by.Do(func() {
		q := workqueue.NewTypedWithConfig(workqueue.TypedQueueConfig[string]{Name: "q", MetricsProvider: queues.Provider{Queues: all}})
		defer q.ShutDown()
		q.Add("default/web")
		key, _ := q.Get()
		work(NewLogger(slog.DiscardHandler, by), by)
		q.Done(key)
	})
	page, err := o.Records(t.Context(), observe.Query{Kinds: []observe.Kind{observe.KindSynced}})
	if err != nil || len(page.Records) != 1 {
		t.Fatalf("%v, %v", page.Records, err)
	}
	return page.Records[0].Event.(*observe.Synced)
}

// The ways in which upstream's controllers log the key that they sync.
func TestSyncKeyIsReadFromLog(t *testing.T) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"}}
	for name, line := range map[string]func(logr.Logger){
		"deployment": func(l logr.Logger) {
			l.V(4).Info("Started syncing deployment", "deployment", klog.KRef("default", "web"), "startTime", time.Now())
		},
		"replicaset": func(l logr.Logger) {
			l.V(4).Info("Finished syncing", "kind", "ReplicaSet", "key", "default/web", "duration", time.Second)
		},
		"csr": func(l logr.Logger) { l.V(4).Info("Finished syncing certificate request", "csr", "default/web") },
		"pvc": func(l logr.Logger) { l.V(4).Info("Processing PVC", "PVC", klog.KRef("default", "web")) },
		"endpoints": func(l logr.Logger) {
			l.V(4).Info("Finished syncing pod", "PodProjectionKey", types.NamespacedName{Namespace: "default", Name: "web"})
		},
		"object": func(l logr.Logger) { l.V(4).Info("Syncing pod", "pod", pod) },
		"values": func(l logr.Logger) { l.WithValues("key", "default/web").V(2).Info("reconciling") },
	} {
		s := recordSync(t, func(l logr.Logger, _ *observe.Recorder) { line(l) })
		if s.Key != "default/web" || s.KeyBasis != observe.BasisLog || s.Error != "" {
			t.Errorf("%s: %+v", name, s)
		}
	}
	for name, line := range map[string]func(logr.Logger){
		"object of a line that is not about a sync": func(l logr.Logger) { l.V(4).Info("Updating replica set revision", "replicaSet", klog.KObj(pod)) },
		"verbosity that is not recorded":            func(l logr.Logger) { l.V(5).Info("Finished syncing", "key", "default/web") },
		"no object":                                 func(l logr.Logger) { l.V(4).Info("Syncing", "count", 3) },
	} {
		if s := recordSync(t, func(l logr.Logger, _ *observe.Recorder) { line(l) }); s.Key != "" || s.KeyBasis != observe.BasisUnknown {
			t.Errorf("%s: %+v", name, s)
		}
	}
}

// The ways in which upstream's controllers log that a sync has failed.
func TestSyncErrorIsReadFromLog(t *testing.T) {
	no := errors.New("no")
	for name, c := range map[string]struct {
		work func(logr.Logger, *observe.Recorder)
		want string
	}{
		"error":                    {func(l logr.Logger, _ *observe.Recorder) { l.Error(no, "Unhandled Error") }, "no"},
		"error alone":              {func(l logr.Logger, _ *observe.Recorder) { l.Error(nil, "it broke") }, "it broke"},
		"quiet":                    {func(l logr.Logger, _ *observe.Recorder) { l.V(2).Info("Error syncing deployment", "err", no) }, "no"},
		"other line with an error": {func(l logr.Logger, _ *observe.Recorder) { l.V(2).Info("Ignoring", "err", no) }, ""},
		"failed call": {func(_ logr.Logger, r *observe.Recorder) {
			r.RecordCall(&observe.Called{Verb: "get", Status: 404, Error: "none"})
		}, ""},
		"no line": {func(logr.Logger, *observe.Recorder) {}, ""},
	} {
		if s := recordSync(t, c.work); s.Error != c.want {
			t.Errorf("%s: got error %q, want %q", name, s.Error, c.want)
		}
	}
}

// Lines that the log's level excludes are recorded, too, and do not reach the log.
func TestRecordingDoesNotChangeLog(t *testing.T) {
	var log bytes.Buffer
	o := observe.New(observe.Options{})
	defer o.Close()
	l := NewLogger(slog.NewTextHandler(&log, nil), o.Recorder("c")).WithName("x").WithValues("controller", "c", "a", 1)
	l.V(4).Info("quieter, outside of a sync")
	l.V(3).Info("quiet", "list", []*corev1.Pod{{}, {}}, "long", strings.Repeat("x", 1000))
	l.Info("loud", "nothing", (*corev1.Pod)(nil))
	if got := log.String(); strings.Contains(got, "quiet") || !strings.Contains(got, "loud") || !strings.Contains(got, "a=1") {
		t.Errorf("the log has %s", got)
	}
	page, err := o.Records(t.Context(), observe.Query{})
	if err != nil {
		t.Fatal(err)
	}
	var got []observe.Event
	for _, r := range page.Records {
		got = append(got, r.Event)
	}
	want := []observe.Event{
		&observe.Logged{Controller: "c", Level: -3, Message: "quiet", Attrs: []observe.Attr{
			{Key: "a", Value: "1"}, {Key: "list", Value: "2 of *v1.Pod"}, {Key: "long", Value: strings.Repeat("x", maxValueLength) + "…"}}},
		&observe.Logged{Controller: "c", Message: "loud", Attrs: []observe.Attr{{Key: "a", Value: "1"}, {Key: "nothing"}}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func BenchmarkRecordingSink(b *testing.B) {
	o := observe.New(observe.Options{})
	defer o.Close()
	l := NewLogger(slog.NewTextHandler(io.Discard, nil), o.Recorder("c"))
	b.ReportAllocs()
	for b.Loop() {
		l.V(3).Info("Updating replica set revision", "replicaSet", klog.KRef("default", "web"), "newRevision", 1)
	}
}

// expectations change while they are logged, as upstream's do.
type expectations struct{ add atomic.Int64 }

func (e *expectations) MarshalLog() any { return struct{ add int64 }{e.add.Load()} }

// A controller that starts again registers its metrics again; upstream logs that it
// cannot as an error.
func TestSecondRegistrationOfMetricsIsNoError(t *testing.T) {
	registry := metrics.NewKubeRegistry()
	counter := metrics.NewCounter(&metrics.CounterOpts{Name: "test_total"})
	if err := registry.Register(counter); err != nil {
		t.Fatal(err)
	}
	duplicate := registry.Register(counter)
	if duplicate == nil {
		t.Fatal("registered twice")
	}
	o := observe.New(observe.Options{})
	defer o.Close()
	var text bytes.Buffer
	log := NewLogger(slog.NewTextHandler(&text, nil), o.Recorder("c"))
	log.Error(duplicate, "unable to register metrics")
	log.Error(errors.New("another"), "unable to register metrics")
	page, err := o.Records(t.Context(), observe.Query{Kinds: []observe.Kind{observe.KindLogged}})
	if err != nil || len(page.Records) != 1 || page.Records[0].Event.(*observe.Logged).Attrs[0].Value != "another" {
		t.Errorf("recorded %v, %v", page.Records, err)
	}
	if n := strings.Count(text.String(), "level=ERROR"); n != 1 {
		t.Errorf("%d errors in the log: %s", n, &text)
	}
}

func TestLogMarshalersAreFormatted(t *testing.T) {
	var e expectations
	var group sync.WaitGroup
	group.Go(func() { e.add.Store(1) })
	got, _ := formatValue(&e) // while another goroutine writes: for the race detector
	group.Wait()
	if got != "{add:0}" && got != "{add:1}" {
		t.Errorf("got %q", got)
	}
	if got, _ := formatValue((*expectations)(nil)); !strings.Contains(got, "nil") {
		t.Errorf("nil: got %q", got)
	}
}

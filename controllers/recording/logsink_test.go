package recording

import (
	"bytes"
	"errors"
	"go/ast"
	"io"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/record"
	"k8s.io/component-base/metrics"
	endpointsliceutil "k8s.io/endpointslice/util"
	"k8s.io/klog/v2"

	"github.com/ctrlplane/ctrlplane/controllers/queues"
	"github.com/ctrlplane/ctrlplane/internal/testutil"
	"github.com/ctrlplane/ctrlplane/observe"

	"k8s.io/client-go/util/workqueue"
)

// recordedSync is the record of a sync, and how many lines of its log are recorded.
type recordedSync struct {
	*observe.Synced
	Lines int
}

// recordSync runs a sync of the key "default/web", and returns its record.
func recordSync(t *testing.T, work func(logr.Logger, *observe.Recorder)) (s recordedSync) {
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
	page, err := o.Records(t.Context(), observe.Query{Kinds: []observe.Kind{observe.KindSynced, observe.KindLogged}})
	if err != nil || len(page.Records) == 0 {
		t.Fatalf("%v, %v", page.Records, err)
	}
	last := len(page.Records) - 1
	return recordedSync{page.Records[last].Event.(*observe.Synced), last}
}

// line is a log line of upstream's controllers, read from its source, with values for its
// attributes.
type line struct {
	file, text string
	values     map[string]any
}

// log logs the line as upstream does, or fails if upstream has no such line.
func (l line) log(t *testing.T, upstream map[string][]string, log logr.Logger, err error) {
	t.Helper()
	log.Info(l.text, l.attrs(t, upstream, err)...)
}

// attrs returns the attributes of the line.
func (l line) attrs(t *testing.T, upstream map[string][]string, err error) []any {
	t.Helper()
	attrs, ok := upstream[l.file+" "+strconv.Quote(l.text)]
	if !ok {
		t.Fatalf("upstream's %s does not log %q", l.file, l.text)
	}
	var kv []any
	for _, name := range attrs {
		value, ok := l.values[name]
		switch {
		case ok:
		case name == "err":
			value = err
		default:
			value = time.Second // all others are times
		}
		kv = append(kv, name, value)
	}
	return kv
}

// logUnread logs the line, which is none of those that the sink reads, or fails if upstream has
// no such line.
func (l line) logUnread(t *testing.T, log logr.Logger, kv ...any) {
	t.Helper()
	if source := testutil.UpstreamSource(t, "k8s.io/kubernetes", "pkg/controller/"+l.file); !strings.Contains(source, strconv.Quote(l.text)) {
		t.Fatalf("upstream's %s does not log %q", l.file, l.text)
	}
	log.Info(l.text, kv...)
}

// TestUpstreamLogLinesAreUnderstood of the package controllers runs upstream's code for
// the same purpose; here are lines that are rare or take long to come about.
func TestSyncKeyIsReadFromLog(t *testing.T) {
	upstream := parseUpstreamLogTexts(t)
	web := klog.KRef("default", "web")
	for _, l := range []line{
		{"deployment/deployment_controller.go", "Started syncing deployment", map[string]any{"deployment": web}},
		{"daemon/daemon_controller.go", "Finished syncing daemon set", map[string]any{"daemonset": "default/web"}},
		{"certificates/certificate_controller.go", "Finished syncing certificate request", map[string]any{"csr": "default/web"}},
		{"endpointslicemirroring/endpointslicemirroring_controller.go", "syncEndpoints", map[string]any{"key": "default/web"}},
		{"disruption/disruption.go", "Finished syncing PodDisruptionBudget", map[string]any{"key": "default/web"}},
		{"volume/persistentvolume/pv_controller.go", "Synchronizing PersistentVolumeClaim", map[string]any{"PVC": web, "claimStatus": "phase: Pending"}},
		{"cronjob/cronjob_controllerv2.go", "Re-queuing cronjob", map[string]any{"cronjob": web, "requeueAfter": "10s"}},
		{"volume/persistentvolume/pv_controller.go", "Synchronizing PersistentVolume", map[string]any{"volumeName": "default/web", "volumeStatus": "phase: Bound"}},
	} {
		s := recordSync(t, func(log logr.Logger, _ *observe.Recorder) { l.log(t, upstream, log.V(4), nil) })
		if s.Key != "default/web" || s.KeyBasis != observe.BasisLog || s.Error != "" {
			t.Errorf("%s: %+v", l.text, s.Synced)
		}
	}
	for name, do := range map[string]func(logr.Logger){
		"values of the logger": func(log logr.Logger) {
			line{"volume/persistentvolume/pv_controller_base.go", "Resyncing PV controller", nil}.log(t, upstream, log.WithValues("key", "default/web").V(4), nil)
		},
		"an object itself": func(log logr.Logger) {
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"}}
			line{"volume/selinuxwarning/selinux_warning_controller.go", "Syncing pod", map[string]any{"pod": pod}}.log(t, upstream, log.V(4), nil)
		},
	} {
		if s := recordSync(t, func(l logr.Logger, _ *observe.Recorder) { do(l) }); s.Key != "default/web" || s.KeyBasis != observe.BasisLog {
			t.Errorf("%s: %+v", name, s.Synced)
		}
	}
	for name, do := range map[string]func(logr.Logger){
		"object of a line that is not about a sync": func(log logr.Logger) {
			line{file: "deployment/util/deployment_util.go", text: "Updating replica set revision"}.logUnread(t, log.V(4), "replicaSet", web)
		},
		"verbosity that is not recorded": func(log logr.Logger) {
			line{"garbagecollector/garbagecollector.go", "error syncing item", map[string]any{"item": "default/web"}}.log(t, upstream, log.V(5), nil)
		},
		"key that names no object": func(log logr.Logger) {
			key := endpointsliceutil.PodProjectionKey{Namespace: "default", Labels: labels.Set{"app": "web"}}
			line{"endpointslice/endpointslice_controller.go", "Finished syncing pod", map[string]any{"PodProjectionKey": key}}.log(t, upstream, log.V(4), nil)
		},
		"no object": func(log logr.Logger) {
			line{"volume/persistentvolume/pv_controller_base.go", "Resyncing PV controller", nil}.log(t, upstream, log.V(4), nil)
		},
	} {
		if s := recordSync(t, func(l logr.Logger, _ *observe.Recorder) { do(l) }); s.Key != "" || s.KeyBasis != observe.BasisUnknown {
			t.Errorf("%s: %+v", name, s.Synced)
		}
	}
}

// A list of objects is named, not printed.
func TestObjectsInLogLinesAreNamed(t *testing.T) {
	list := []*corev1.Pod{{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a"}}, {ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "b"}}}
	if text, _ := formatValue(klog.KObjSlice(list)); text != "default/a,default/b" {
		t.Errorf("%q", text)
	}
	owner := struct { // as the garbage collector's, whose queue has keys of all kinds
		metav1.OwnerReference
		Namespace string
	}{metav1.OwnerReference{Kind: "Foo", Name: "keep"}, "default"}
	if text, key := formatValue(owner); text != "Foo default/keep" || key != "default/keep" {
		t.Errorf("%q, key %q", text, key)
	}
}

// The record of a sync has its key and how long it took: lines that say so are not recorded, but
// reach the log.
func TestSyncLinesAreNoRecords(t *testing.T) {
	var log bytes.Buffer
	upstream := parseUpstreamLogTexts(t)
	s := recordSync(t, func(_ logr.Logger, by *observe.Recorder) {
		l := NewLogger(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.Level(-4)}), by)
		line{"daemon/daemon_controller.go", "Finished syncing daemon set", map[string]any{"daemonset": "default/web"}}.log(t, upstream, l.V(4), nil)
		line{file: "deployment/util/deployment_util.go", text: "Updating replica set revision"}.logUnread(t, l.V(4))
	})
	if s.Key != "default/web" || s.Lines != 1 || strings.Count(log.String(), "\n") != 2 {
		t.Errorf("%+v, %d lines recorded, log:\n%s", s.Synced, s.Lines, &log)
	}
}

// The ways in which upstream's controllers log that a sync has failed.
func TestSyncErrorIsReadFromLog(t *testing.T) {
	upstream := parseUpstreamLogTexts(t)
	no := errors.New("no")
	for _, l := range []line{
		{"deployment/deployment_controller.go", "Error syncing deployment", map[string]any{"deployment": klog.KRef("default", "web")}},
		{"endpoint/endpoints_controller.go", "Error syncing endpoints, retrying", map[string]any{"service": klog.KRef("default", "web")}},
		{"endpointslicemirroring/endpointslicemirroring_controller.go", "Error mirroring EndpointSlices for Endpoints, retrying", map[string]any{"key": "default/web"}},
		{"garbagecollector/garbagecollector.go", "error syncing item", map[string]any{"item": "default/web"}},
		{"cronjob/cronjob_controllerv2.go", "Error reconciling cronjob", map[string]any{"cronjob": klog.KRef("default", "web")}},
		{"cronjob/cronjob_controllerv2.go", "Unable to update status for cronjob", map[string]any{"cronjob": klog.KRef("default", "web")}},
	} {
		s := recordSync(t, func(log logr.Logger, _ *observe.Recorder) { l.log(t, upstream, log.V(2), no) })
		if s.Error != "no" {
			t.Errorf("%s: got error %q", l.text, s.Error)
		}
	}
	for _, l := range []line{
		{"deployment/deployment_controller.go", "Dropping deployment out of the queue", map[string]any{"deployment": klog.KRef("default", "web")}},
		{"endpointslice/endpointslice_controller.go", "Retry budget exceeded, dropping service out of the queue", map[string]any{"key": "default/web"}},
	} {
		s := recordSync(t, func(log logr.Logger, _ *observe.Recorder) { l.log(t, upstream, log.V(2), no) })
		if s.Error != "dropped out of the queue: no" {
			t.Errorf("%s: got %+v", l.text, s.Synced)
		}
	}
	for name, c := range map[string]struct {
		work func(logr.Logger, *observe.Recorder)
		want string
	}{
		"error": {func(log logr.Logger, _ *observe.Recorder) {
			l := line{"statefulset/stateful_set.go", "Error syncing StatefulSet, requeuing", map[string]any{"key": "default/web"}}
			utilruntime.HandleErrorWithContext(klog.NewContext(t.Context(), log), no, l.text, l.attrs(t, upstream, no)...)
		}, "no"},
		"error alone": {func(log logr.Logger, _ *observe.Recorder) { log.Error(nil, "it broke") }, "it broke"}, // whatever the text
		"other line with an error": {func(log logr.Logger, _ *observe.Recorder) {
			line{file: "cronjob/cronjob_controllerv2.go", text: "CronJob not found, may be it is deleted"}.logUnread(t, log.V(4), "cronjob", "default/web", "err", no)
		}, ""},
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

// The error of a sync is that of its call, also if it is long: package trace compares them. Neither has an object that it quotes.
func TestLongSyncErrorIsThatOfTheCall(t *testing.T) {
	upstream := parseUpstreamLogTexts(t)
	l := line{"deployment/deployment_controller.go", "Error syncing deployment", map[string]any{"deployment": klog.KRef("default", "web")}}
	for name, text := range map[string]string{
		"more than an attribute": strings.Repeat("é", maxValueLength),
		"more than a refusal":    "x" + strings.Repeat("é", MaxRefusal),
		"an object":              `spec.template: Invalid value: {"password":"hunter2"}: field is immutable`,
	} {
		refusal := ResponseSummary{Kind: "Status", Message: text}.Refusal(&observe.Called{Status: 422})
		s := recordSync(t, func(log logr.Logger, _ *observe.Recorder) { l.log(t, upstream, log.V(2), errors.New(text)) })
		if s.Error != refusal || !utf8.ValidString(s.Error) || strings.Contains(s.Error, "hunter2") {
			t.Errorf("%s: got %q, want %q", name, s.Error, refusal)
		}
	}
	if a := attribute("long", "x"+strings.Repeat("é", maxValueLength)); !utf8.ValidString(a.Value) || len(a.Value) > maxValueLength {
		t.Errorf("got %q", a.Value)
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
			{Key: "a", Value: "1"}, {Key: "list", Value: "2 of *v1.Pod"}, {Key: "long", Value: strings.Repeat("x", maxValueLength-len("…")) + "…"}}},
		&observe.Logged{Controller: "c", Message: "loud", Attrs: []observe.Attr{{Key: "a", Value: "1"}, {Key: "nothing"}}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// client-go logs each Event that a controller sends. Of a normal one, the call is recorded already.
func TestNormalEventsAreNoLines(t *testing.T) {
	o := observe.New(observe.Options{})
	defer o.Close()
	ctx := klog.NewContext(t.Context(), NewLogger(slog.DiscardHandler, o.Recorder("c")))
	events := record.NewBroadcaster(record.WithContext(ctx))
	defer events.Shutdown()
	events.StartStructuredLogging(recordedVerbosity)
	send := events.NewRecorder(scheme.Scheme, corev1.EventSource{Component: "c"})
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web"}}
	send.Event(pod, corev1.EventTypeNormal, "Started", "it started")
	send.Event(pod, corev1.EventTypeWarning, "Failed", "it failed")
	if err := o.Wait(ctx, 0); err != nil {
		t.Fatal(err)
	}
	page, err := o.Records(ctx, observe.Query{})
	if err != nil {
		t.Fatal(err)
	}
	first := page.Records[0].Event.(*observe.Logged)
	if first.Message != eventOccurred || !slices.Contains(first.Attrs, observe.Attr{Key: "reason", Value: "Failed"}) {
		t.Errorf("the first line is %+v", first)
	}
}

// What the call or the sync says is recorded once.
func TestRepetitionsAreNoLines(t *testing.T) {
	o := observe.New(observe.Options{})
	defer o.Close()
	log, pod, deployment := NewLogger(slog.DiscardHandler, o.Recorder("c")), klog.KRef("ns", "web-1"), klog.KRef("ns", "web")
	log.V(recordedVerbosity).Info(podCreated, "controller", "web", "pod", pod)
	log.V(recordedVerbosity).Info(progressDelayed, "deployment", deployment, "queueAfter", 600)
	log.V(recordedVerbosity).Info(progressTimedOut, "deployment", deployment, "timeout", false)
	log.V(recordedVerbosity).Info(progressTimedOut, "deployment", deployment, "timeout", true)
	page, err := o.Records(t.Context(), observe.Query{})
	if err != nil || len(page.Records) != 1 {
		t.Fatalf("got %v, %v, want that the deadline has passed", page.Records, err)
	}
	if l := page.Records[0].Event.(*observe.Logged); l.Message != progressTimedOut {
		t.Errorf("recorded %+v", l)
	}
}

// If upstream changes these lines, they are recorded again.
func TestRepetitionsOfUpstream(t *testing.T) {
	found := map[string][]string{}
	for _, f := range upstreamFiles(t) {
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok {
				if text, attrs, ok := logLine(call); ok && slices.Contains([]string{podCreated, progressDelayed, progressTimedOut}, text) {
					found[text] = attrs
				}
			}
			return true
		})
	}
	if want := map[string][]string{
		podCreated: {"controller", "pod"}, progressDelayed: {"deployment", "queueAfter"}, progressTimedOut: {"deployment", "timeout", "from", "now"},
	}; !maps.EqualFunc(found, want, slices.Equal) {
		t.Errorf("upstream logs %v, want %v", found, want)
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
	if got, _ := formatValue(klog.KObj((*corev1.Pod)(nil))); got != "" {
		t.Errorf("no object: got %q", got)
	}
}

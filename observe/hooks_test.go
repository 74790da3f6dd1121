package observe

import (
	"errors"
	"reflect"
	"runtime/pprof"
	"strings"
	"testing"
	"time"
	"unsafe"
)

// The runtime and this package read each other's label sets. This fails if a
// release of Go changes their layout.
func TestLabelsHaveTheLayoutOfTheRuntime(t *testing.T) {
	set := reflect.TypeFor[pprof.LabelSet]()
	if set.Kind() != reflect.Struct || set.NumField() != 1 || set.Field(0).Type.Kind() != reflect.Slice {
		t.Fatalf("pprof.LabelSet is %v with %d fields, want a struct of one slice", set.Kind(), set.NumField())
	}
	theirs, ours := set.Field(0).Type.Elem(), reflect.TypeFor[label]()
	if theirs.Kind() != reflect.Struct || theirs.NumField() != ours.NumField() || theirs.Size() != ours.Size() {
		t.Fatalf("a label is %v of %d bytes, want a struct like %v", theirs, theirs.Size(), ours)
	}
	for i := range ours.NumField() {
		if a, b := theirs.Field(i), ours.Field(i); !strings.EqualFold(a.Name, b.Name) || a.Type != b.Type || a.Offset != b.Offset {
			t.Errorf("field %d of a label is %s %v at %d, want %s %v at %d", i, a.Name, a.Type, a.Offset, b.Name, b.Type, b.Offset)
		}
	}
	if offset := unsafe.Offsetof(scope{}.labels); offset != 0 {
		t.Errorf("labels are at offset %d of a scope, want 0", offset)
	}
}

// This fails if a release of Go renames a metric or changes its kind.
func TestRuntimeHasTheMetricsOfIdle(t *testing.T) {
	if unknown := unknownMetrics(idleMetrics); unknown != nil {
		t.Errorf("runtime/metrics has no counters %v", unknown)
	}
}

func TestUnknownMetricsAreFound(t *testing.T) {
	names := []string{"/sched/gomaxprocs:threads", "/no/such:goroutines", "/sched/latencies:seconds"}
	if got := unknownMetrics(names); len(got) != 2 || got[0] != names[1] || got[1] != names[2] {
		t.Errorf("got %v, want the last two", got)
	}
}

func TestParseDelay(t *testing.T) {
	const frame = "goroutine 7 [running]:\nk8s.io/client-go/util/workqueue.(*delayingType[...]).AddAfter("
	for name, c := range map[string]struct {
		trace string
		delay time.Duration
		known bool
		err   error
	}{
		"string key":     {frame + "0x1400, {0x1, 0xb}, 0x3b9aca00)\n\t/x.go:1", time.Second, true, nil},
		"stale argument": {frame + "0x1400, {0x1, 0xb}, 0x3b9aca00?)\n\t/x.go:1", 0, false, nil},
		"inlined":        {frame + "...)\n\t/x.go:1", 0, false, errNoAddAfter},
		"renamed":        {strings.Replace(frame, "AddAfter", "AddLater", 1) + "0x1, 0x2)\n", 0, false, errNoAddAfter},
		"other function": {"goroutine 7 [running]:\nmain.main()\n", 0, false, errNoAddAfter},
	} {
		d, known, err := parseDelay([]byte(c.trace))
		if known != c.known || known && d != c.delay || !errors.Is(err, c.err) {
			t.Errorf("%s: got %v, %v, %v; want %v, %v, %v", name, d, known, err, c.delay, c.known, c.err)
		}
	}
}

// If AddAfter cannot be found on the stack, the observer says so once.
func TestUnreadableStackIsReported(t *testing.T) {
	o := newTestObserver(t, Options{})
	o.Recorder("c").Do(func() {
		q := o.queues.Open("q")
		q.Retries().Inc()
		q.Retries().Inc()
	})
	p, err := o.Records(t.Context(), Query{Notable: true})
	if err != nil || len(p.Records) != 1 {
		t.Fatalf("got %v, %v, want one record", p.Records, err)
	}
	if l, ok := p.Records[0].Event.(*Logged); !ok || l.Level != 8 || !strings.Contains(l.Message, "AddAfter") {
		t.Errorf("got %+v, want an error about AddAfter", p.Records[0].Event)
	}
}

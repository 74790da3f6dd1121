package ui

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ctrlplane/ctrlplane/observe"
)

func pod(name string) observe.Object {
	return observe.Object{Resource: "pods", Kind: "Pod", Namespace: "default", Name: name}
}

func TestFollowWritesNotableEvents(t *testing.T) {
	testFollow(t, plainFormat, func(t *testing.T, src *fakeSource, out *writtenLines, wait func(time.Duration)) {
		wait(100 * time.Millisecond)
		expectLines(t, out, "settled")
		write := &observe.Called{Controller: "replicaset-controller", Verb: "create", Object: pod("web-1"), Status: 201, Took: 3 * time.Millisecond}
		src.addRecords(
			&observe.BootStep{Step: "etcd"},
			write,
			&observe.Called{Controller: "replicaset-controller", Verb: "get", Object: pod("web-1"), Status: 200},
			&observe.Called{Controller: "replicaset-controller", Verb: "get", Object: pod("web-2"), Status: 404},
			&observe.Called{Controller: "replicaset-controller", Verb: "list", Object: observe.Object{Resource: "pods"}, Status: 403},
			&observe.Called{Controller: "garbage-collector-controller", Verb: "update", Object: observe.Object{Group: "coordination.k8s.io", Resource: "leases", Name: "x"}, Status: 200},
			&observe.Called{Controller: "replicaset-controller", Verb: "create", Object: observe.Object{Resource: "events", Name: "x"}, Status: 201},
			&observe.Delivered{Controller: "replicaset-controller", Change: observe.Added, Object: pod("web-1")},
			&observe.QueueChanged{Queue: "replicaset"},
			&observe.Synced{Controller: "replicaset-controller", Queue: "replicaset", Key: "default/web", Took: 5 * time.Millisecond, Writes: 1},
			&observe.Synced{Controller: "replicaset-controller", Queue: "replicaset", Key: "default/bad", Took: 5 * time.Millisecond, Error: "no quota", Retried: true},
			&observe.ControllerChanged{Controller: "job-controller", State: "failed", Reason: "no RBAC"},
			&observe.Logged{Controller: "job-controller", Level: 0, Message: "Starting"},
			&observe.Logged{Controller: "job-controller", Level: 4, Message: "Slow"},
			&observe.Logged{Controller: "job-controller", Level: 8, Message: "Unhandled", Sync: 4},
			&observe.Logged{Controller: "job-controller", Level: 8, Message: "Alone"},
			&observe.Logged{Controller: observe.Own, Level: 0, Message: "a snapshot was restored: 2 objects changed"},
		)
		wait(pollInterval)
		expectLines(t, out,
			"replicaset-controller  create  Pod default/web-1  201  3ms",
			"replicaset-controller  list  pods  403  <1ms",
			"replicaset-controller  sync  replicaset: default/bad  failed, will retry  5ms  no quota",
			"job-controller  is failed  no RBAC",
			"job-controller  warning  Slow",
			"job-controller  error  Alone",
			"ctrlplane  info  a snapshot was restored: 2 objects changed")
		wait(time.Second)
		expectLines(t, out, "settled")
		wait(time.Minute)
		expectLines(t, out)
		src.addRecords(write)
		wait(snapshotInterval)
		expectLines(t, out, "replicaset-controller  create  Pod default/web-1  201  3ms", "settled")
	})
}

// A hot loop has a line of its own when it is found, and not again while it goes on.
func TestFollowWritesHotLoops(t *testing.T) {
	object := observe.Object{Resource: "configmaps", Kind: "ConfigMap", Namespace: "default", Name: "c"}
	repeat := func(src *fakeSource, rounds int, wait func(time.Duration)) {
		for range rounds {
			version := strconv.Itoa(len(src.records))
			src.addRecords(
				&observe.Called{
					Controller: "shop (me)", Client: &observe.Caller{User: "me"}, Verb: "patch", Object: object, Status: 200, ResourceVersion: version, Cause: uint64(len(src.records)),
					Wrote: []observe.Written{{Resource: "configmaps", Namespace: "default", Name: "c", ResourceVersion: version}},
				},
				&observe.Delivered{Controller: "shop (me)", Change: observe.Updated, Object: object, ResourceVersion: version})
			wait(100 * time.Millisecond)
		}
	}
	for name, tc := range map[string]struct {
		format newWriter
		want   int
	}{"plain": {plainFormat, 1}, "JSON": {jsonFormat, 0}} {
		t.Run(name, func(t *testing.T) {
			testFollow(t, tc.format, func(t *testing.T, src *fakeSource, out *writtenLines, wait func(time.Duration)) {
				expect := func(when string, want int) {
					t.Helper()
					lines := slices.DeleteFunc(out.takeLines(), func(line string) bool { return !strings.HasPrefix(line, "hot loop: ") })
					if len(lines) != want || want > 0 && !strings.HasPrefix(lines[0], "hot loop: shop (me): patch of ConfigMap default/c repeats itself: ") {
						t.Errorf("%s: %q, want %d", when, lines, want)
					}
				}
				src.change(func() { src.process.Settled, src.queues = false, []observe.Queue{{Name: "shop", AddRate: 10}} })
				repeat(src, 250, wait)
				expect("a loop of 25 s", tc.want)
				wait(2 * loopMemory)
				repeat(src, 250, wait)
				expect("the loop began again", tc.want)
				src.change(func() { src.process.Started, src.records = time.Now(), nil })
				repeat(src, 250, wait)
				expect("another control plane", tc.want)
			})
		})
	}
}

func TestFollowStartsAfterSeq(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src, out := &fakeSource{}, &writtenLines{}
		for _, name := range []string{"a", "b", "c"} {
			src.addRecords(&observe.ControllerChanged{Controller: name, State: "running"})
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := Follow(ctx, src, 2, NewPlainWriter(out, src)); err != nil {
			t.Error(err)
		}
		expectLines(t, out) // no output after the context has ended
		ctx, cancel = context.WithTimeout(t.Context(), pollInterval/2)
		defer cancel()
		src.process.Settled = true
		if err := Follow(ctx, src, 2, NewPlainWriter(out, src)); err != nil {
			t.Error(err)
		}
		expectLines(t, out, "c  is running", "settled")
	})
}

func TestFollowSummarizesWhileBusy(t *testing.T) {
	testFollow(t, plainFormat, func(t *testing.T, src *fakeSource, out *writtenLines, wait func(time.Duration)) {
		wait(100 * time.Millisecond)
		expectLines(t, out, "settled")
		src.change(func() {
			src.process.Settled, src.process.RequestRate = false, 85.4
			src.queues = []observe.Queue{{Name: "deployment", Depth: 2}, {Name: "job"}, {Name: "replicaset", Depth: 30, InFlight: 5}, {Name: "namespace", InFlight: 1}, {Name: "daemonset", Depth: 1}}
		})
		wait(4 * time.Second)
		expectLines(t, out)
		wait(11 * time.Second)
		busy := "busy: replicaset (depth 30, 5 in flight), deployment (depth 2, 0 in flight), daemonset (depth 1, 0 in flight) and 1 more; 85 requests/s"
		expectLines(t, out, busy, busy, busy)
		src.change(func() {
			src.queues, src.process.RequestRate = nil, 0
			src.process.Busy = []string{"garbage-collector-controller"}
		})
		wait(5 * time.Second)
		expectLines(t, out, "busy: garbage-collector-controller")
		src.change(func() { src.process.Settled = true })
		wait(time.Second)
		expectLines(t, out, "settled")
		src.change(func() { src.process.Settled = false })
		wait(snapshotInterval)
		src.change(func() { src.process.Settled = true })
		wait(snapshotInterval)
		expectLines(t, out) // it would repeat the last line
	})
}

func TestFollowReportsMissedRecords(t *testing.T) {
	testFollow(t, plainFormat, func(t *testing.T, src *fakeSource, out *writtenLines, wait func(time.Duration)) {
		wait(100 * time.Millisecond)
		out.takeLines()
		src.change(func() { src.missed = 12 })
		wait(pollInterval)
		expectLines(t, out, "missed 12 records: dropped before they could be read")
	})
}

func TestFollowRetriesAfterSourceError(t *testing.T) {
	testFollow(t, plainFormat, func(t *testing.T, src *fakeSource, out *writtenLines, wait func(time.Duration)) {
		wait(100 * time.Millisecond)
		out.takeLines()
		src.addRecords(&observe.ControllerChanged{Controller: "a", State: "running"})
		wait(pollInterval)
		out.takeLines()
		var before, after int
		src.change(func() { src.err, before = errors.New("connection\nrefused"), src.recordCalls })
		wait(time.Minute)
		src.change(func() { after = src.recordCalls })
		expectLines(t, out, "no response from the control plane, retrying: connection refused")
		if after == before {
			t.Error("Follow does not retry")
		}
		src.change(func() { src.err = nil })
		wait(pollInterval)
		expectLines(t, out, "connected again", "settled")

		src.change(func() { src.err = errors.New("gone") })
		wait(pollInterval)
		src.change(func() {
			src.err, src.records, src.process.Started = nil, nil, time.Now()
		})
		src.addRecords(&observe.ControllerChanged{Controller: "b", State: "running"})
		wait(2 * time.Second)
		expectLines(t, out, "no response from the control plane, retrying: gone", "connected again", "the control plane was restarted", "b  is running", "settled")
	})
}

// A follower that was suspended during a restart has not lost the connection.
func TestFollowAfterAnUnseenRestart(t *testing.T) {
	testFollow(t, plainFormat, func(t *testing.T, src *fakeSource, out *writtenLines, wait func(time.Duration)) {
		running := &observe.ControllerChanged{Controller: "a", State: "running"}
		src.addRecords(running, running, running)
		wait(2 * time.Second)
		out.takeLines()
		src.change(func() { src.records, src.process.Started = nil, time.Now() })
		src.addRecords(&observe.ControllerChanged{Controller: "b", State: "running"})
		wait(2 * time.Second)
		expectLines(t, out, "the control plane was restarted", "b  is running", "settled")
	})
}

func TestFollowReturnsWriteError(t *testing.T) {
	for _, format := range []newWriter{plainFormat, jsonFormat} {
		synctest.Test(t, func(t *testing.T) {
			full := errors.New("no space left")
			src := &fakeSource{process: observe.Process{Settled: true}}
			if err := Follow(t.Context(), src, 0, format(&writtenLines{err: full}, src)); !errors.Is(err, full) {
				t.Errorf("Follow = %v, want the write error", err)
			}
		})
	}
}

func TestFollowJSON(t *testing.T) {
	testFollow(t, jsonFormat, func(t *testing.T, src *fakeSource, out *writtenLines, wait func(time.Duration)) {
		kinds := func(want ...string) {
			t.Helper()
			out.mu.Lock()
			defer out.mu.Unlock()
			var got []string
			for line := range strings.Lines(out.b.String()) {
				var o struct{ Kind string }
				if err := json.Unmarshal([]byte(line), &o); err != nil {
					t.Errorf("%s: %v", line, err)
				}
				got = append(got, o.Kind)
			}
			out.b.Reset()
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		}
		wait(100 * time.Millisecond)
		kinds("ctrlplane", "snapshot")
		wait(time.Minute)
		kinds()
		src.addRecords(&observe.Called{Verb: "get", Object: pod("a"), Status: 200}, &observe.Delivered{}, &observe.Logged{Level: -4})
		src.change(func() {
			src.queues = []observe.Queue{{Name: "deployment", Adds: 1, History: []observe.Sample{{Adds: 1}}}}
		})
		wait(snapshotInterval)
		kinds("called", "delivered", "logged", "snapshot")
		src.change(func() { src.process.MemoryBytes++; src.process.Requests++ })
		wait(snapshotInterval)
		kinds()
		src.change(func() { src.queues = []observe.Queue{{Name: "deployment", Adds: 2}}; src.missed = 3 })
		wait(3 * time.Second)
		kinds("missed", "snapshot")
		src.change(func() { src.err = errors.New("gone") })
		wait(snapshotInterval)
		src.change(func() { src.err = nil; src.process.Started = src.process.Started.Add(time.Hour) })
		wait(pollInterval)
		kinds("disconnected", "connected", "restarted", "snapshot", "called", "delivered", "logged")
	})
}

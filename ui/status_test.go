package ui

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/ctrlplane/ctrlplane/control"
	"github.com/ctrlplane/ctrlplane/internal/testutil"
	"github.com/ctrlplane/ctrlplane/observe"
)

func testDurations(count int64, p50, p99, longest time.Duration) observe.Durations {
	return observe.Durations{Total: observe.Quantiles{Count: count, Sum: p50 * time.Duration(count), P50: p50, P99: p99, Max: longest}}
}

// busySnapshot is a control plane with work, failures, and a queue of each kind.
func busySnapshot() observe.Snapshot {
	now := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	return observe.Snapshot{
		Time: now,
		Process: observe.Process{
			Name: "default", Version: "v0.3.0", Kubernetes: "v1.37.1", URL: "https://127.0.0.1:6443", PID: 4711,
			State: observe.Ready, Started: now.Add(-125 * time.Second), Busy: []string{"deployment-controller", "replicaset-controller"},
			Requests: 9120, RequestRate: 85.4, EtcdRevision: 812, EtcdBytes: 4 << 20, MemoryBytes: 312 << 20, CPU: 3 * time.Second, CPUPercent: 41.5,
		},
		Controllers: []observe.Controller{
			{Name: "bootstrap-signer-controller", State: "off", Reason: "off by default"},
			{Name: "deployment-controller", State: "running", Syncs: 31},
			{Name: "job-controller", State: "failed", Reason: "cannot list jobs: forbidden\nreally"},
			{Name: "kube-apiserver"},
			{Name: "replicaset-controller", State: "running", Failures: 9, Failing: []observe.FailingKey{
				{Queue: "replicaset", Key: "default/web", KeyBasis: observe.BasisLog, Error: "exceeded quota: compute", Times: 4, Last: now},
				{Queue: "replicaset", Key: "default/api", KeyBasis: observe.BasisCall, Times: 1, Last: now},
				{Queue: "replicaset", Times: 2, Error: "gone", Last: now},
				{Queue: "replicaset", Key: "default/d", Times: 1, Last: now},
				{Queue: "replicaset", Key: "default/e", Times: 1, Last: now},
			}},
		},
		Queues: []observe.Queue{
			{Name: "orphan", Delayed: -1},
			{Controller: "deployment-controller", Name: "deployment", Depth: 2, InFlight: 1, Workers: 5, Adds: 34, Gets: 32, Done: 31, Retries: 3, Delayed: 1,
				AddRate: 4.2, DoneRate: 3.96, Wait: testDurations(32, 46*time.Microsecond, 946*time.Microsecond, time.Millisecond), Work: testDurations(31, 4200*time.Microsecond, 96*time.Millisecond, 1200*time.Millisecond),
				Unfinished: 40 * time.Millisecond, Longest: 40 * time.Millisecond, History: []observe.Sample{{MaxDepth: 2, Adds: 4, Done: 4}}},
			{Controller: "job-controller", Name: "job"},
			{Controller: "namespace-controller", Name: "namespace", Adds: 6, Gets: 6, Done: 6, Wait: testDurations(6, 900, 9*time.Microsecond, 9*time.Microsecond), Work: testDurations(6, time.Millisecond, 2*time.Minute, 2*time.Minute)},
			{Controller: "replicaset-controller", Name: "replicaset", Depth: 340, InFlight: 5, Workers: 5, Adds: 900, Gets: 560, Done: 555},
		},
	}
}

func idleSnapshot() observe.Snapshot {
	s := busySnapshot()
	s.Process.Settled, s.Process.Busy, s.Process.RequestRate = true, nil, 0
	s.Controllers, s.Queues = s.Controllers[1:2], s.Queues[:1]
	return s
}

// intervenedSnapshot is idle, with interventions on its controllers, as an earlier version has recorded them: without values.
func intervenedSnapshot() observe.Snapshot {
	s := idleSnapshot()
	s.Controllers = []observe.Controller{
		{Name: "bootstrap-signer-controller", State: "off", Reason: "off by default"},
		{Name: "deployment-controller", State: "running", Reason: "each call waits 2s, 30% of its update calls fail: 409"},
		{Name: "job-controller", State: "off", Reason: "stopped"},
		{Name: "namespace-controller", State: "running"},
		{Name: "replicaset-controller", State: "paused", Reason: "its writes are held", Held: 3},
		{Name: "statefulset-controller", State: "running", Reason: "2 workers in place of 5"},
	}
	return s
}

func TestInterventions(t *testing.T) {
	var got []string
	for _, h := range Interventions(intervenedSnapshot()) {
		got = append(got, h.String())
	}
	want := []string{
		"deployment-controller has an intervention: each call waits 2s, 30% of its update calls fail: 409", "job-controller is stopped",
		"replicaset-controller is paused: 3 writes are held", "statefulset-controller has an intervention: 2 workers in place of 5",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	stopping := intervenedSnapshot()
	stopping.Process.State = observe.Stopping
	for _, i := range Interventions(stopping) {
		if i.State == "stopped" {
			t.Errorf("the end of the control plane is taken for an intervention: %s", i)
		}
	}
	if got := Interventions(busySnapshot()); got != nil {
		t.Errorf("interventions without any in the snapshot: %v", got)
	}
}

func TestStatus(t *testing.T) {
	starting := idleSnapshot()
	starting.Process = observe.Process{Name: "default", State: observe.Starting}
	scraped := observe.Snapshot{
		Time:    busySnapshot().Time,
		Process: observe.Process{Name: "127.0.0.1:8080", Settled: true, Started: busySnapshot().Time.Add(-75 * time.Hour), MemoryBytes: 40 << 20},
		Queues:  []observe.Queue{{Controller: "cronjob", Name: "cronjob", Adds: 3, Gets: 3, Done: 3, Delayed: -1}},
	}
	for _, tt := range []struct {
		name     string
		snapshot observe.Snapshot
		formats  []string
	}{
		{"working", busySnapshot(), []string{"", "wide"}},
		{"idle", idleSnapshot(), []string{"", "wide"}},
		{"interventions", intervenedSnapshot(), []string{"", "wide"}},
		{"starting", starting, []string{""}},
		{"scraped", scraped, []string{"", "wide"}},
	} {
		for _, format := range tt.formats {
			t.Run(tt.name+"/"+format, func(t *testing.T) {
				var b bytes.Buffer
				if err := WriteStatus(&b, tt.snapshot, "", format == "wide", maxStatusWidth); err != nil {
					t.Fatal(err)
				}
				testutil.Golden(t, "testdata/status/"+strings.TrimSuffix(tt.name+"-"+format, "-")+".golden", b.Bytes())
			})
		}
	}
}

// What fails comes before the queues, and controllers that are off by design come last.
func TestStatusBeginsWithWhatFails(t *testing.T) {
	for _, wide := range []bool{false, true} {
		var b bytes.Buffer
		if err := WriteStatus(&b, busySnapshot(), "\nDeployment shop/late\n", wide, maxStatusWidth); err != nil {
			t.Fatal(err)
		}
		at := 0
		for _, text := range []string{"default is ready", "cannot list jobs", "exceeded quota", "shop/late", "IN FLIGHT", "off by default"} {
			i := strings.Index(b.String()[at:], text)
			if i < 0 {
				t.Fatalf("wide %t: %q is missing, or too early:\n%s", wide, text, &b)
			}
			at += i
		}
	}
}

// TestStatusNamesTheLeader has a control plane on standby not look settled or busy.
// Tables are in the order of the names that they show, and clients are not listed as controllers.
func TestStatusIsSortedByWhatItShows(t *testing.T) {
	s := idleSnapshot()
	s.Clients = []observe.Client{{Name: "kubectl (admin)", State: observe.StatePaused, Reason: "its writes are held", Held: 1}}
	for _, name := range []string{"certificatesigningrequest-signing-controller", "cloud-node-controller", "deployment-controller"} {
		s.Controllers = append(s.Controllers, observe.Controller{Name: name, State: observe.StatePaused, Reason: "its writes are held"})
		s.Queues = append(s.Queues, observe.Queue{Controller: name, Name: name, Adds: 1})
	}
	var out strings.Builder
	if err := WriteStatus(&out, s, "", false, 100); err != nil {
		t.Fatal(err)
	}
	got := out.String()
	for _, want := range []string{"CLIENT   STATE   WHY\nkubectl  paused  1 write is held\n\nCONTROLLER   STATE   WHY\ncloud-node   paused", "\ncsr-signing  paused", "\ncloud-node   0 ", "\ncsr-signing  0 "} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	if strings.Index(got, "\ncsr-signing  0") < strings.Index(got, "\ncloud-node   0") {
		t.Errorf("queues are not sorted:\n%s", got)
	}
}

func TestStatusNamesTheLeader(t *testing.T) {
	for want, p := range map[string]observe.Process{
		"b is ready and on standby: the controllers run in host_a_1, which holds the lease\n": {Name: "b", State: observe.Ready, Leader: observe.LeaderOther, LeaseHolder: "host_a_1"},
		"b is ready and on standby: no process holds the lease of the controllers\n":          {Name: "b", State: observe.Ready, Leader: observe.LeaderNone},
		"b is ready and settled\n": {Name: "b", State: observe.Ready, Settled: true, Leader: observe.LeaderOwn, LeaseHolder: "host_b_1"},
	} {
		if got := formatHeadline(observe.Snapshot{Process: p}, maxStatusWidth); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// TestBusyNamesSomebody checks that a control plane that is busy without queued keys says
// why, and which controllers were at work.
func TestBusyNamesSomebody(t *testing.T) {
	s := idleSnapshot()
	s.Process.Settled, s.Process.Busy = false, nil
	s.Queues = []observe.Queue{{Name: "job", Controller: "job-controller"}, {Name: "pods", Controller: "replicaset-controller", DoneRate: 0.2}}
	want := "busy: the last write, delivery or sync was only a moment ago (at work lately: replicaset-controller)"
	if got := strings.Join(strings.Fields(formatHeadline(s, maxStatusWidth)), " "); !strings.Contains(got, want) {
		t.Errorf("no %q in %q", want, got)
	}
	s.Queues = s.Queues[:1]
	if got := formatHeadline(s, maxStatusWidth); !strings.Contains(got, "a moment ago") || strings.Contains(got, "lately") {
		t.Errorf("no worker was busy: %q", got)
	}
	s.Process.LastActive = "node-lifecycle-controller"
	if got := formatHeadline(s, maxStatusWidth); !strings.Contains(got, "busy: node-lifecycle: the last write, delivery or sync was only a moment ago") {
		t.Errorf("who was active is not named: %q", got)
	}
}

// The status fits 100 columns, whatever it has to say.
func TestStatusFitsAHundredColumns(t *testing.T) {
	s := intervenedSnapshot()
	s.Process.Settled, s.Process.Speed = false, observe.SpeedTenth
	for _, queue := range []string{"attempt_to_delete", "graph_changes"} {
		s.Queues = append(s.Queues, observe.Queue{Controller: "garbage-collector-controller", Name: "garbage_collector_" + queue, Adds: 9})
	}
	for i := range 9 {
		name := fmt.Sprintf("certificatesigningrequest-approving-%d-controller", i)
		s.Process.Busy = append(s.Process.Busy, name)
		s.Queues = append(s.Queues, observe.Queue{Controller: name, Name: "certificate", Depth: 12345, InFlight: 20, Adds: 123456, Done: 122222})
		s.Controllers = append(s.Controllers, observe.Controller{Name: name, State: "running", Failing: []observe.FailingKey{
			{Queue: "certificate", Key: "default/web", Times: 3, Error: strings.Repeat("Operation cannot be fulfilled ", 9)}}})
	}
	var b bytes.Buffer
	if err := WriteStatus(&b, s, "", false, maxStatusWidth); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), "\ngarbage-collector attempt_to_delete  ") {
		t.Errorf("the name of a queue is cut:\n%s", &b)
	}
	for line := range strings.Lines(b.String()) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 100 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	if !strings.Contains(b.String(), "speed 1/10×") {
		t.Error("the speed is not in the status")
	}
}

// A program reports its own numbers: they may be wider than the table.
func TestStatusWithHugeNumbers(t *testing.T) {
	s := intervenedSnapshot()
	const huge = math.MaxInt64
	s.Queues = []observe.Queue{{Controller: "certificatesigningrequest-approving-controller", Name: "certificate",
		Depth: huge, InFlight: huge, Adds: huge, Done: huge, Retries: huge, ErrorRetries: huge}}
	var b bytes.Buffer
	if err := WriteStatus(&b, s, "", false, maxStatusWidth); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), "\ncsr-approving  ") || !strings.Contains(b.String(), strconv.Itoa(huge)) {
		t.Errorf("neither name nor numbers:\n%s", &b)
	}
}

func TestStatusErrors(t *testing.T) {
	full := errors.New("no space left")
	for _, wide := range []bool{false, true} {
		if err := WriteStatus(&writtenLines{err: full}, idleSnapshot(), "", wide, maxStatusWidth); !errors.Is(err, full) {
			t.Errorf("wide %v: %v, want the write error", wide, err)
		}
	}
}

func TestFormatUptime(t *testing.T) {
	for d, want := range map[time.Duration]string{
		3 * time.Second:              "3.0 s",
		59 * time.Minute:             "59 m 00 s",
		25*time.Hour + 3*time.Minute: "25 h 03 m",
		75 * time.Hour:               "3 days",

		59*time.Minute + 59*time.Second + 400*time.Millisecond: "59 m 59 s",
		59*time.Minute + 59*time.Second + 800*time.Millisecond: "1 h 00 m",
		48*time.Hour - 200*time.Millisecond:                    "2 days",
	} {
		if got := formatUptime(d); got != want {
			t.Errorf("formatUptime(%s) = %q, want %q", d, got, want)
		}
	}
}

// TestFormatQuantile: the unit is that of the rounded number.
func TestFormatQuantile(t *testing.T) {
	for d, want := range map[time.Duration]string{
		300 * time.Nanosecond:     "1µs",
		999499 * time.Nanosecond:  "999µs",
		999700 * time.Nanosecond:  "1.0ms",
		9949 * time.Microsecond:   "9.9ms",
		9970 * time.Microsecond:   "10ms",
		999700 * time.Microsecond: "1.0s",
	} {
		if got := formatQuantile(1, d); got != want {
			t.Errorf("formatQuantile(%s) = %q, want %q", d, got, want)
		}
	}
}

// TestPendingNamesTheController checks that a queue whose own name says little is shown
// with its controller.
func TestPendingNamesTheController(t *testing.T) {
	for want, q := range map[string]observe.Queue{
		"scheduler active (depth 3, 1 in flight)":       {Controller: "kube-scheduler", Name: "active", Depth: 3, InFlight: 1},
		"replicaset (depth 3)":                          {Controller: "replicaset-controller", Name: "replicaset", Depth: 3, InFlight: -1},
		"root_ca_cert_publisher (depth 0, 1 in flight)": {Name: "root_ca_cert_publisher", InFlight: 1},
	} {
		if got := describePending(q); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// TestDelayedKeysAreAnUpperBound: a queue holds a delayed key once, and does not report that it merges two.
func TestDelayedKeysAreAnUpperBound(t *testing.T) {
	s := idleSnapshot()
	s.Queues = []observe.Queue{{Name: "deployment", Controller: "deployment-controller", Delayed: 6}, {Name: "job", Controller: "job-controller"}}
	var b bytes.Buffer
	if err := WriteStatus(&b, s, "", true, maxStatusWidth); err != nil {
		t.Fatal(err)
	}
	if text := b.String(); !strings.Contains(text, "≤6 ") || strings.Contains(text, "≤0") {
		t.Errorf("DELAYED is not shown as an upper bound:\n%s", text)
	}
}

// TestRetriesAreErrors checks that RETRIES means the same with and without -o wide.
func TestRetriesAreErrors(t *testing.T) {
	s := idleSnapshot()
	s.Queues = []observe.Queue{
		{Name: "known", Controller: "known", Adds: 9, Retries: 7, ErrorRetries: 2},
		{Name: "scraped", Controller: "scraped", Adds: 9, Retries: 5, ErrorRetries: -1},
	}
	for format, want := range map[string][]string{
		"":     {"known       0      0          9     0     2 ", "scraped     0      0          9     0     ≤5 "},
		"wide": {"RETRIES  REQUEUES", " 2        5         0.0", " ≤5       ≤5        0.0"},
	} {
		var b bytes.Buffer
		if err := WriteStatus(&b, s, "", format == "wide", maxStatusWidth); err != nil {
			t.Fatal(err)
		}
		for _, text := range want {
			if !strings.Contains(b.String(), text) {
				t.Errorf("%q: no %q in\n%s", format, text, &b)
			}
		}
	}
}

// An operator whose process has ended says so, and since when.
func TestEndedOperator(t *testing.T) {
	s := idleSnapshot()
	s.Controllers = []observe.Controller{{Name: "shop/site", State: "off", Reason: "its process has ended", Since: s.Time.Add(-95 * time.Second)}}
	var b bytes.Buffer
	if err := WriteStatus(&b, s, "", false, maxStatusWidth); err != nil {
		t.Fatal(err)
	}
	if want := "shop/site   off    its process has ended, 1 m 35 s ago"; !strings.Contains(b.String(), want) {
		t.Errorf("no %q in\n%s", want, &b)
	}
}

// TestStatusFitsANarrowTerminal has names, numbers and reasons that need more than 80 columns.
func TestStatusFitsANarrowTerminal(t *testing.T) {
	s := busySnapshot()
	s.Queues = append(s.Queues, observe.Queue{Controller: "taint-eviction-controller", Name: "noexec_taint_node", Adds: 12345, Gets: 12345, Done: 12345, Retries: 1234,
		Wait: testDurations(12345, time.Millisecond, 300*time.Millisecond, time.Second), Work: testDurations(12345, time.Millisecond, 300*time.Millisecond, time.Second)},
		observe.Queue{Controller: "taint-eviction-controller", Name: "noexec_taint_pod", Adds: 1})
	s.Clients = []observe.Client{{Name: "ctrlplane (kubernetes-admin)", RequestRate: 13.6,
		Last: &observe.Called{Verb: "get", Status: 404, Object: observe.Object{Group: "apps", Resource: "deployments", Namespace: "lesson-1", Name: "web"}}}}
	for _, c := range []struct{ terminal, width int }{{0, 100}, {40, 80}, {80, 80}, {92, 92}, {200, 100}} {
		width := Mode{Width: func() int { return c.terminal }}.StatusWidth()
		var b bytes.Buffer
		if err := WriteStatus(&b, s, "", false, width); err != nil || width != c.width {
			t.Fatalf("%d columns of %d, %v", width, c.terminal, err)
		}
		for l := range strings.Lines(b.String()) {
			if n := utf8.RuneCountInString(strings.TrimRight(l, " \n")); n > width {
				t.Errorf("%d columns of %d: %s", n, width, l)
				break // those below it are too long for the same reason
			}
		}
	}
}

func TestUnhealthyObjects(t *testing.T) {
	var b bytes.Buffer
	now := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	if err := WriteUnhealthy(&b, nil, now, maxStatusWidth); err != nil || b.Len() > 0 {
		t.Errorf("%q, %v", &b, err)
	}
	err := WriteUnhealthy(&b, []control.UnhealthyObject{
		{Object: observe.Object{Kind: "Namespace", Name: "gone"}, State: "Terminating", Since: now.Add(-95 * time.Second), Reason: "being deleted: Some resources are remaining: configmaps. has 1 resource instances; Some content in the namespace has finalizers remaining: example.com/wait in 1 resource instances"},
		{Object: observe.Object{Kind: "Deployment", Namespace: "shop", Name: "late"}, State: "Failed", Reason: "ReplicaSet late-1: FailedCreate:\nexceeded quota: none"},
		{Object: observe.Object{Kind: "APIService", Name: "v1.a.example.com"}, State: "InProgress", Since: now.Add(-5 * time.Second), Reason: "not available: ServiceNotFound"},
		{Object: observe.Object{Kind: "Pod", Namespace: "shop", Name: "web"}, State: "Current", Reason: "its node n does not exist"},
	}, now, maxStatusWidth)
	const want = `
OBJECT                       STATE        WHY
Namespace gone               terminating  for 1 m 35 s: being deleted: Some resources are remaining:
                                          configmaps. has 1 resource instances; Some content in the
                                          namespace has finalizers remaining: example.com/wait in 1
                                          resource instances
Deployment shop/late         failed       ReplicaSet late-1: FailedCreate: exceeded quota: none
APIService v1.a.example.com  not ready    for 5.0 s: not available: ServiceNotFound
Pod shop/web                 ready        its node n does not exist
`
	if diff := cmp.Diff(want, b.String()); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

// Objects of one owner with the same reason have one row.
func TestUnhealthySiblings(t *testing.T) {
	pod := func(name, owner, reason string) control.UnhealthyObject {
		o := control.UnhealthyObject{Object: observe.Object{Kind: "Pod", Namespace: "shop", Name: name}, State: "InProgress", Reason: reason}
		if owner != "" {
			o.Owner = observe.Object{Group: "batch", Kind: "Job", Namespace: "shop", Name: owner}
		}
		return o
	}
	var b bytes.Buffer
	err := WriteUnhealthy(&b, []control.UnhealthyObject{
		pod("a-1", "a", "no ConfigMap"), pod("b-1", "b", "no ConfigMap"), pod("a-2", "a", "no ConfigMap"), pod("a-3", "a", "no Secret"), pod("a-4", "a", "no ConfigMap"),
		pod("c", "", "no ConfigMap"), pod("d", "", "no ConfigMap"),
		pod("e-1", "e", "restarting pod=e-1_shop(89d93d2d-018f-42eb-94d6-b1f6ae61f36d)"), pod("e-2", "e", "restarting pod=e-2_shop(202820a4-295e-41ef-b0dc-c479d76f7d70)"),
	}, time.Now(), maxStatusWidth)
	const want = `
OBJECT        STATE      WHY
Pod shop/a-1  not ready  no ConfigMap (and 2 other Pods of Job a)
Pod shop/b-1  not ready  no ConfigMap
Pod shop/a-3  not ready  no Secret
Pod shop/c    not ready  no ConfigMap
Pod shop/d    not ready  no ConfigMap
Pod shop/e-1  not ready  restarting pod=e-1_shop(89d93d2d-018f-42eb-94d6-b1f6ae61f36d) (and 1 other
                         Pod of Job e)
`
	if diff := cmp.Diff(want, b.String()); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

func TestUndo(t *testing.T) {
	for _, tt := range []struct {
		state string
		set   observe.Interventions
		want  string
		count int
	}{
		{"paused", observe.Interventions{Paused: true}, "[[resume ]]", 1},
		{"stopped", observe.Interventions{}, "[[start ]]", 1},
		{"running", observe.Interventions{Fault: observe.Fault{Rate: 0.5, Code: "500"}}, "[[clear ]]", 1},
		{"running", observe.Interventions{Workers: 1, ConfiguredWorkers: 5}, "[[scale  --workers 5]]", 1},
		{"running", observe.Interventions{Delay: time.Second, Workers: 2, ConfiguredWorkers: 5}, "[[clear ] [scale  --workers 5]]", 2},
		{"paused", observe.Interventions{Paused: true, Delay: time.Second}, "[[clear ] [resume ]]", 2},
		{"running", observe.Interventions{}, "[[clear ]]", 1}, // an earlier version
		{"paused", observe.Interventions{Paused: true, Workers: 2, ConfiguredWorkers: 5}, "[[resume ] [scale  --workers 5]]", 2},
	} {
		i := Intervention{State: tt.state, Set: tt.set}
		if got := fmt.Sprint(i.Undo()); got != tt.want || i.Count() != tt.count {
			t.Errorf("%s: %s: got %s, %d, want %s, %d", tt.state, tt.set, got, i.Count(), tt.want, tt.count)
		}
	}
}

package live

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/ctrlplane/ctrlplane/observe"
)

// startTime is the start of the control planes in tests; testNow is two minutes
// later.
var (
	startTime = time.Date(2026, 3, 1, 11, 58, 0, 0, time.UTC)
	testNow   = startTime.Add(125 * time.Second)
)

// fixedSource is a source with constant data.
type fixedSource struct {
	snapshot observe.Snapshot
	records  []observe.Record
	missed   uint64
	err      error
}

func (f *fixedSource) Snapshot(context.Context) (observe.Snapshot, error) { return f.snapshot, f.err }

func (f *fixedSource) Records(_ context.Context, q observe.Query) (observe.Page, error) {
	p := observe.Page{Next: q.After}
	if q.After == 0 {
		p.Missed = f.missed
	}
	for i := range f.records {
		if r := &f.records[i]; r.Seq > q.After && q.Match(r) {
			p.Records = append(p.Records, *r)
		}
	}
	if n := len(f.records); n > 0 {
		p.Next = max(p.Next, f.records[n-1].Seq)
	}
	if q.Limit > 0 && len(p.Records) > q.Limit {
		p.LeftOut = uint64(len(p.Records) - q.Limit)
		p.Records = p.Records[p.LeftOut:]
	}
	return p, f.err
}

// inspectableSource is a fixedSource that has objects.
type inspectableSource struct {
	*fixedSource
	found observe.Inspection
}

func (i *inspectableSource) Inspect(_ context.Context, o observe.Object) (observe.Inspection, error) {
	found := i.found
	found.Object = o
	return found, i.err
}

// newTestModel returns a model of the given size that has pulled once.
func newTestModel(t *testing.T, o Options, w, h int) model {
	t.Helper()
	return pullFirst(t, newModel(t.Context(), o), w, h)
}

// newPlainModel is newTestModel on a terminal without colors.
func newPlainModel(t *testing.T, o Options, w, h int) model {
	t.Helper()
	return pullFirst(t, newModel(t.Context(), o).withColor(false), w, h)
}

func (m model) withColor(color bool) model {
	return m.withPalette(func(p *palette) { p.color = color })
}

func pullFirst(t *testing.T, m model, w, h int) model {
	t.Helper()
	m.zone = time.UTC
	m = sendMsgs(t, m, tea.WindowSizeMsg{Width: w, Height: h})
	m.now, m.pullStarted = testNow, testNow
	return pullOnce(t, m)
}

// pullOnce makes the model pull, and inspect the current object if necessary.
func pullOnce(t *testing.T, m model) model {
	t.Helper()
	m = sendMsgs(t, m, m.pullCmd(m.neededPull())())
	if m.needsInspection() {
		m = sendMsgs(t, m, m.inspectCmd(m.currentScreen().object)())
	}
	return m
}

func sendMsgs(t *testing.T, m model, msgs ...tea.Msg) model {
	t.Helper()
	for _, msg := range msgs {
		next, _ := m.Update(msg)
		m = next.(model)
	}
	return m
}

// pressKeys sends keys by their names in the key bindings.
func pressKeys(t *testing.T, m model, keys ...string) model {
	t.Helper()
	for _, k := range keys {
		m = sendMsgs(t, m, keyMsg(k))
	}
	return m
}

func keyMsg(name string) tea.KeyPressMsg {
	special := map[string]tea.Key{
		"enter": {Code: tea.KeyEnter}, "esc": {Code: tea.KeyEscape}, "tab": {Code: tea.KeyTab},
		"space": {Code: tea.KeySpace, Text: " "}, "backspace": {Code: tea.KeyBackspace},
		"up": {Code: tea.KeyUp}, "down": {Code: tea.KeyDown}, "pgup": {Code: tea.KeyPgUp}, "pgdown": {Code: tea.KeyPgDown},
		"home": {Code: tea.KeyHome}, "end": {Code: tea.KeyEnd},
	}
	if k, ok := special[name]; ok {
		return tea.KeyPressMsg(k)
	}
	if len(name) == len("ctrl+x") && name[:5] == "ctrl+" {
		return tea.KeyPressMsg{Code: rune(name[5]), Mod: tea.ModCtrl}
	}
	return tea.KeyPressMsg{Code: []rune(name)[0], Text: name}
}

var (
	webDeployment = observe.Object{Group: "apps", Resource: "deployments", Kind: "Deployment", Namespace: "default", Name: "web"}
	webReplicaSet = observe.Object{Group: "apps", Resource: "replicasets", Kind: "ReplicaSet", Namespace: "default", Name: "web-7d4b9c"}
	webPod        = observe.Object{Resource: "pods", Kind: "Pod", Namespace: "default", Name: "web-7d4b9c-x2x9p"}
	brokenJob     = observe.Object{Group: "batch", Resource: "jobs", Kind: "Job", Namespace: "default", Name: "broken"}
)

// sampleRecords returns records with every kind of line.
func sampleRecords() []observe.Record {
	const deployment, replicaset, jobs = "deployment-controller", "replicaset-controller", "job-controller"
	return recordsOf(
		&observe.BootStep{Step: "etcd", Took: 82 * time.Millisecond},
		&observe.ControllerChanged{Controller: deployment, State: stateRunning},
		&observe.Delivered{Controller: deployment, Change: observe.Added, Object: webDeployment, Queues: []string{"deployment"}, Took: 12 * time.Microsecond},
		&observe.Called{Controller: deployment, Verb: "create", Object: webReplicaSet, Status: 201, Took: 3 * time.Millisecond, Sync: 7},
		&observe.Called{Controller: deployment, Verb: "list", Object: observe.Object{Group: "apps", Resource: "replicasets"}, Status: 200, Took: time.Millisecond},
		&observe.Called{Controller: deployment, Verb: "update", Object: webDeployment, Subresource: "status", Status: 409, Conflict: true, Took: 4 * time.Millisecond, Sync: 7,
			Error: `Operation cannot be fulfilled on deployments.apps "web": the object has been modified; please apply your changes to the latest version`},
		&observe.Synced{Controller: deployment, Queue: "deployment", ID: 7, Key: "default/web", KeyBasis: observe.BasisLog, Waited: 20 * time.Microsecond, Took: 9 * time.Millisecond, Retried: true, Reads: 1, Writes: 2},
		&observe.Logged{Controller: replicaset, Level: 0, Message: "Too few replicas", Attrs: []observe.Attr{{Key: "need", Value: "3"}, {Key: "creating", Value: "3"}}},
		&observe.Delivered{Controller: replicaset, Change: observe.Resynced, Object: webReplicaSet},
		&observe.Called{Controller: replicaset, Verb: "create", Object: webPod, Status: 201, Took: 2400 * time.Microsecond},
		&observe.Called{Controller: "garbage-collector-controller", Verb: "delete", Object: webPod, Status: 200, Took: 1900 * time.Microsecond},
		&observe.Delivered{Controller: jobs, Change: observe.Updated, Object: brokenJob, Queues: []string{"job", "job"}, Took: 30 * time.Microsecond},
		&observe.Called{Controller: jobs, Verb: "create", Object: observe.Object{Resource: "pods", Kind: "Pod", Namespace: "default"}, Status: 403, Took: 2 * time.Millisecond, Sync: 12,
			Error: `pods "broken-" is forbidden: exceeded quota: small, requested: pods=1, used: pods=10, limited: pods=10`},
		&observe.Synced{Controller: jobs, Queue: "job", ID: 12, Key: "default/broken", KeyBasis: observe.BasisCall, Waited: 31 * time.Microsecond, Took: 3 * time.Millisecond,
			Retried: true, Error: "pods \"broken-\" is forbidden:\n\texceeded quota: small"},
		&observe.Logged{Controller: jobs, Level: int(slog.LevelError), Message: "syncing job\x1b[31m", Attrs: []observe.Attr{{Key: "job", Value: "default/broken"}}},
		&observe.ControllerChanged{Controller: "namespace-controller", State: stateFailed, Reason: "cannot list namespaces: connection refused"},
		&observe.Synced{Controller: jobs, Queue: "job", ID: 13, Took: 120 * time.Microsecond, Waited: 8 * time.Microsecond},
	)
}

func recordsOf(events ...observe.Event) []observe.Record {
	var records []observe.Record
	for i, e := range events {
		at := testNow.Add(time.Duration(i-len(events)) * 1234 * time.Millisecond)
		records = append(records, observe.Record{Seq: uint64(i + 1), Time: at, Event: e})
	}
	return records
}

// podCreations returns n records of created Pods, starting at seq.
func podCreations(seq uint64, n int) []observe.Record {
	records := make([]observe.Record, n)
	for i := range records {
		pod := webPod
		pod.Name = fmt.Sprintf("web-%d", i)
		records[i] = observe.Record{Seq: seq + uint64(i), Time: testNow, Event: &observe.Called{
			Controller: "replicaset-controller", Verb: "create", Object: pod, Status: 201, Took: time.Millisecond}}
	}
	return records
}

func testPurpose(string) string {
	return "Runs the Pods of Jobs until enough of them have succeeded. A finalizer makes sure that it counts every finished Pod once."
}

// newTheme returns a theme for a dark or light background. Without color it uses
// no escapes.
func newTheme(color, dark, ascii bool) *theme {
	return themeOptions{color: color, dark: dark, ascii: ascii}.build()
}

func (m model) withTheme(t *theme) model {
	m.theme = t
	return m
}

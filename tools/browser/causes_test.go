package browser_test

import (
	"fmt"
	"testing"

	"github.com/ctrlplane/ctrlplane/observe"
)

// awaitRead waits until the page has read all records.
func (p *classPage) awaitRead() {
	p.t.Helper()
	var last int
	p.class.change(func() { last = len(p.class.records) })
	p.await(fmt.Sprintf(`picture.model.lastSeq >= %d`, last))
}

// watchDots keeps all moves of the picture as they begin.
const watchDots = `globalThis.seen = []; picture.dots.each((when, m) => { if (when === "begin") seen.push(m); })`

// openWatchedClass opens the page, and notes its dots from now on.
func openWatchedClass(t *testing.T) *classPage {
	t.Helper()
	p := openClass(t, 1280, 720, nil)
	p.await(`!picture.session.fresh`)
	p.do(runScript(watchDots))
	return p
}

// beginAndEnd returns when the dots of a type begin and end, first to last.
func (p *classPage) beginAndEnd(kind string, count int) (times [][2]float64) {
	p.t.Helper()
	p.await(fmt.Sprintf(`seen.filter((m) => m.type === %q).length >= %d`, kind, count))
	return evaluate[[][2]float64](p.browser, fmt.Sprintf(`seen.filter((m) => m.type === %q).map((m) => [m.start, m.end])`, kind))
}

// TestWebPageEventFollowsItsWrite has a write that is recorded after the event that it
// causes, as the real ones are, and is read later than the event.
func TestWebPageEventFollowsItsWrite(t *testing.T) {
	t.Parallel()
	p := openWatchedClass(t)
	p.do(runScript(`picture.session.patience = 60000`)) // longer than reading the write takes on a slow machine
	about := observe.Object{Group: "apps", Resource: "deployments", Kind: "Deployment", Namespace: "default", Name: "web"}
	p.class.change(func() {
		p.class.append(&observe.Delivered{Controller: "deployment-controller", Change: observe.Added, Object: about, ResourceVersion: "7", Queues: []string{"deployment"}, Adds: []uint64{1}})
	})
	p.awaitRead()
	p.await(`(globalThis.readAt ??= performance.now()) + 300 < performance.now()`)
	p.class.change(func() {
		p.class.append(&observe.Called{Controller: "kubectl (kubernetes-admin)", Client: &observe.Caller{}, Verb: "create", Object: about, Status: 201, ResourceVersion: "7"})
	})
	write, event := p.beginAndEnd("write", 1)[0], p.beginAndEnd("event", 1)[0]
	if event[0] < write[1] {
		t.Errorf("the event begins %.0f ms before its write arrives", write[1]-event[0])
	}
}

// TestWebPageFirstWriteOfAClient has a client that the status does not have yet.
func TestWebPageFirstWriteOfAClient(t *testing.T) {
	t.Parallel()
	p := openWatchedClass(t)
	about := observe.Object{Group: "apps", Resource: "deployments", Kind: "Deployment", Namespace: "default", Name: "web"}
	p.class.change(func() {
		p.class.append(&observe.Called{Controller: "helm (kubernetes-admin)", Client: &observe.Caller{User: "kubernetes-admin"}, Verb: "create", Object: about, Status: 201, ResourceVersion: "7"})
	})
	p.beginAndEnd("write", 1)
	p.await(`document.querySelector('[data-id="kind:deployments.apps"] small').innerText === "web"`)
}

// TestWebPageWriteFollowsItsEvent has a write of a sync that has not ended, as with a
// control plane that is slowed down.
func TestWebPageWriteFollowsItsEvent(t *testing.T) {
	t.Parallel()
	p := openWatchedClass(t)
	deployment := observe.Object{Group: "apps", Resource: "deployments", Kind: "Deployment", Namespace: "default", Name: "web"}
	replicaSet := observe.Object{Group: "apps", Resource: "replicasets", Kind: "ReplicaSet", Namespace: "default", Name: "web-1"}
	p.class.change(func() {
		p.class.append(
			&observe.Called{Controller: "kubectl (kubernetes-admin)", Client: &observe.Caller{}, Verb: "create", Object: deployment, Status: 201, ResourceVersion: "7"},
			&observe.Delivered{Controller: "deployment-controller", Change: observe.Added, Object: deployment, ResourceVersion: "7", Queues: []string{"deployment"}, Adds: []uint64{1}},
			&observe.Called{Controller: "deployment-controller", Verb: "create", Object: replicaSet, Status: 201, ResourceVersion: "8", Sync: 1})
	})
	writes, event := p.beginAndEnd("write", 2), p.beginAndEnd("event", 1)[0]
	if event[0] < writes[0][1] {
		t.Errorf("the event begins %.0f ms before its write arrives", writes[0][1]-event[0])
	}
	if writes[1][0] < event[1] {
		t.Errorf("the write begins %.0f ms before the event that led to it arrives", event[1]-writes[1][0])
	}
}

// planChains plans chains of causes without an end: each write is the cause of an event, that
// of a sync, and that of the next write. It returns what comes before its cause, and how far
// the picture is behind at most, in ms.
const planChains = `((chains, interval, seconds) => {
	const plan = new picture.plan.constructor(), all = [];
	const began = Date.parse("2026-03-01T12:00:00Z");
	let seq = 0, sync = 0, now = 1000;
	const versions = Array(chains).fill(0);
	for (let at = 0; at < seconds * 1000; at += 250, now += 250) {
		const batch = [];
		for (let t = at; t < at + 250; t += interval) {
			const time = new Date(began + t).toISOString();
			for (let c = 0; c < chains; c++) {
				const object = { group: "apps", resource: "deployments", namespace: "default", name: "web-" + c };
				const event = { kind: "delivered", seq: ++seq, time, controller: "c" + c, change: "updated", object, resourceVersion: String(versions[c]), queues: ["q"] };
				const synced = { kind: "synced", id: ++sync, time, controller: "c" + c, queue: "q", key: "k", cause: event.seq, tookNanos: 1e6, writes: 1 };
				versions[c]++;
				const write = { kind: "called", seq: ++seq, time, controller: "c" + c, verb: "update", object, status: 200, resourceVersion: String(versions[c]), sync, listed: true };
				synced.seq = ++seq;
				batch.push(event, write, synced);
				all.push({ chain: c, event, synced, write, at: 1000 + t });
			}
		}
		for (const r of batch) plan.index(r);
		plan.moves(batch, now, 1);
	}
	const wrong = [], last = [];
	let behind = 0;
	for (const { chain, event, synced, write, at } of all) {
		const [e, s, w] = [event, synced, write].map((r) => plan.times.get(r));
		const before = last[chain];
		if (before && e.start < before.end - 0.001) wrong.push("an event at " + at);
		if (s.start < e.end - 0.001) wrong.push("a sync at " + at);
		if (w.start < s.start - 0.001) wrong.push("a write at " + at);
		last[chain] = w;
		behind = Math.max(behind, w.start - at);
	}
	return { wrong: wrong.slice(0, 5), behind };
})`

// TestWebPagePlanKeepsOrder plans more than can be shown: effects come after their causes
// nevertheless, and the picture is not behind without bounds.
func TestWebPagePlanKeepsOrder(t *testing.T) {
	t.Parallel()
	p := openClass(t, 1280, 720, nil)
	for _, load := range []struct{ chains, interval, seconds int }{{1, 2000, 10}, {4, 100, 30}, {10, 5, 20}} {
		got := evaluate[struct {
			Wrong  []string `json:"wrong"`
			Behind float64  `json:"behind"`
		}](p.browser, fmt.Sprintf(planChains+`(%d, %d, %d)`, load.chains, load.interval, load.seconds))
		if len(got.Wrong) > 0 || got.Behind > 16000 {
			t.Errorf("%+v: before its cause: %q; %.0f ms behind", load, got.Wrong, got.Behind)
		}
	}
}

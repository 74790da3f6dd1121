package browser_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/ctrlplane/ctrlplane/observe"
	"github.com/ctrlplane/ctrlplane/ui/web"
)

// awaitRefresh waits until the panel was drawn again with what has changed.
func (p *classPage) awaitRefresh() {
	p.t.Helper()
	p.class.change(func() { p.class.states["job-controller"] = "paused" })
	p.await(`picture.model.controllers.get("job-controller").state === "paused"`)
	p.class.change(func() { p.class.states["job-controller"] = "running" })
	p.await(`picture.model.controllers.get("job-controller").state === "running"`)
}

// TestWebPagePanelKeepsTheFocus has the focus on a link of the panel, and on a button that disappears.
func TestWebPagePanelKeepsTheFocus(t *testing.T) {
	t.Parallel()
	p := openClass(t, 1280, 720, nil)
	p.await(`!picture.session.fresh`)
	p.click("actor:replicaset-controller")
	p.await(`document.querySelector("#panel .link")`)
	p.do(runScript(`globalThis.link = document.querySelector("#panel .link"); link.focus()`))
	p.awaitRefresh()
	if !evaluate[bool](p.browser, `link.isConnected && document.activeElement === link`) {
		t.Error("the link has lost the focus when the panel was drawn again")
	}
	p.do(runScript(`[...document.querySelectorAll("#panel button")].find((b) => b.textContent === "Pause").focus()`), chromedp.KeyEvent(kb.Enter))
	p.await(`["Step", "Resume"].includes(document.activeElement.textContent)`)
}

// TestWebPagePanelByKeyboard goes to the panel, through its tabs and back by keys.
func TestWebPagePanelByKeyboard(t *testing.T) {
	t.Parallel()
	p := openClass(t, 1280, 720, nil)
	p.await(`!picture.session.fresh`)
	p.do(runScript(`document.querySelector('[data-id="actor:replicaset-controller"]').focus()`), chromedp.KeyEvent(kb.Enter))
	p.await(`document.activeElement.id === "panel"`)
	p.do(chromedp.KeyEvent(kb.Tab), chromedp.KeyEvent(kb.Tab))
	p.await(`document.activeElement.textContent === "Now" && document.activeElement.getAttribute("aria-selected") === "true"`)
	p.do(chromedp.KeyEvent(kb.ArrowRight))
	p.await(`document.activeElement.textContent === "Explain" && document.querySelector("#panel .explain")`)
	if wrong := evaluate[string](p.browser, `[...document.querySelectorAll("[role=tab]")].filter((tab) => {
		const chosen = tab === document.activeElement, panel = document.getElementById(tab.getAttribute("aria-controls"));
		return tab.getAttribute("aria-selected") !== String(chosen) || tab.tabIndex !== (chosen ? 0 : -1) || panel?.role !== "tabpanel" || chosen && panel.getAttribute("aria-labelledby") !== tab.id;
	}).map((tab) => tab.outerHTML).join()`); wrong != "" {
		t.Errorf("tabs: %s", wrong)
	}
	p.do(chromedp.KeyEvent(kb.ArrowRight))
	p.await(`document.activeElement.textContent === "Now"`)
	p.do(chromedp.KeyEvent(kb.Escape))
	p.await(`document.activeElement.dataset.id === "actor:replicaset-controller" && document.getElementById("panel").hidden`)
}

// slowRecords answers requests for all records when they are canceled.
type slowRecords struct {
	*class
	asked, canceled atomic.Int32
	slow            atomic.Bool
}

func (s *slowRecords) Records(ctx context.Context, q observe.Query) (observe.Page, error) {
	if !s.slow.Load() || q.After != 0 {
		return s.class.Records(ctx, q)
	}
	s.asked.Add(1)
	<-ctx.Done()
	s.canceled.Add(1)
	return observe.Page{}, ctx.Err()
}

// TestWebPageAbortsRequests chooses another tab, and closes the panel, before the answer.
func TestWebPageAbortsRequests(t *testing.T) {
	t.Parallel()
	src := &slowRecords{}
	p := openClass(t, 1280, 720, func(o *web.Options) {
		src.class = o.Source.(*class)
		o.Source = src
	})
	p.await(`!picture.session.fresh`)
	p.class.rollOut("web")
	p.await(feedText + `.includes("creates Pod")`)
	src.slow.Store(true)
	p.do(runScript(`[...document.querySelectorAll("#lines button")].find((b) => b.innerText.includes("replicaset creates Pod")).click()`))
	await := func(what string, n *atomic.Int32, want int32) {
		t.Helper()
		for n.Load() < want {
			if p.Err() != nil {
				t.Fatalf("%s: %d, want %d", what, n.Load(), want)
			}
			p.do(runScript(framesDrawn))
		}
	}
	await("requests", &src.asked, 1)
	p.press("Trace")
	await("canceled", &src.canceled, 1)
	await("requests", &src.asked, 2)
	p.press("✕")
	await("canceled", &src.canceled, 2)
}

// traceOf returns what the panel shows of a trace: of a chain of some depth, and of a node with as many children.
const traceOf = `(async (depth) => {
	const { causesView } = await import("/js/causes.js");
	const node = (children) => ({ kind: "called", verb: "update", controller: "c", afterNanos: 0, object: { resource: "pods", name: "x" }, children });
	let chain = node([]);
	for (let i = 1; i < depth; i++) chain = node([chain]);
	const wide = node(Array.from({ length: depth - 1 }, () => node([])));
	return [chain, wide].map((root) => {
		const view = causesView({ roots: [root], tookNanos: 0 }, () => {});
		return view.querySelectorAll("li").length + " shown, " + (view.querySelector(":scope > p:last-child:not(:first-child)")?.innerText ?? "all");
	}).join("; ");
})`

// TestWebPageTraceOfAHotLoop shows a trace in which each effect is the cause of the next: what is not shown is
// counted, however deep it is.
func TestWebPageTraceOfAHotLoop(t *testing.T) {
	t.Parallel()
	p := openClass(t, 1280, 720, nil)
	for depth, rest := range map[int]string{
		400: "all", 401: `1 more entry: "ctrlplane trace" prints all`, 20000: `19600 more entries: "ctrlplane trace" prints all`,
	} {
		want := "400 shown, " + rest + "; 400 shown, " + rest
		if got := evaluate[string](p.browser, fmt.Sprintf(traceOf+`(%d)`, depth)); got != want {
			t.Errorf("%d: %s, want %s", depth, got, want)
		}
	}
}

// TestWebPageTraceSaysWhatAPodHasBecome in place of "updated", as "ctrlplane trace" does.
func TestWebPageTraceSaysWhatAPodHasBecome(t *testing.T) {
	t.Parallel()
	p := openClass(t, 1280, 720, nil)
	for event, want := range map[string]string{
		`{change: "updated"}`:                     "Pod web-1 was updated",
		`{change: "updated", became: "Ready"}`:    "Pod web-1 became Ready",
		`{change: "updated", became: "NotReady"}`: "Pod web-1 became not Ready",
		`{change: "updated", became: "Failed"}`:   "Pod web-1 failed",
		`{change: "updated", became: "Later"}`:    "Pod web-1 was updated",
	} {
		script := `import("/js/causes.js").then((m) => m.causesView({ roots: [{ kind: "event", controller: "c", afterNanos: 0, object: { resource: "pods", kind: "Pod", name: "web-1" }, ...` + event + ` }], tookNanos: 0 }, () => {}).querySelector("li").textContent)`
		if got := evaluate[string](p.browser, script); !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", event, got, want)
		}
	}
}

// TestWebPageChangesOfRecords: a Kubernetes Event, which is shown as a line about another object, and a dry run are no change.
func TestWebPageChangesOfRecords(t *testing.T) {
	t.Parallel()
	p := openClass(t, 1280, 720, nil)
	for record, want := range map[string]string{
		`{verb: "create", status: 201}`:                               "created",
		`{verb: "create", status: 201, event: {reason: "Scheduled"}}`: "undefined",
		`{verb: "patch", status: 200}`:                                "changed",
		`{verb: "patch", status: 200, dryRun: true}`:                  "undefined",
		`{verb: "create", status: 201, subresource: "eviction"}`:      "deleted",
		`{verb: "delete", status: 409}`:                               "undefined",
	} {
		if got := evaluate[string](p.browser, `import("/js/causes.js").then((m) => String(m.changeOf({kind: "called", ...`+record+`})))`); got != want {
			t.Errorf("%s: %s, want %s", record, got, want)
		}
	}
}

// TestWebPageExplainsEachChange begins with the creation, the last change or the deletion, whichever a line of the activity
// is, and goes on to the others.
func TestWebPageExplainsEachChange(t *testing.T) {
	t.Parallel()
	p := openClass(t, 1280, 720, nil)
	p.await(`!picture.session.fresh`)
	about := observe.Object{Resource: "configmaps", Kind: "ConfigMap", Namespace: "default", Name: "asked"}
	p.class.change(func() {
		for i, verb := range []string{"create", "patch", "patch", "delete"} {
			p.class.append(&observe.Called{Controller: "kubectl (kubernetes-admin)", Client: &observe.Caller{}, Verb: verb, Object: about, Status: []int{201, 200, 200, 200}[i], ResourceVersion: []string{"7", "8", "9", ""}[i]})
		}
	})
	const line = `[...document.querySelectorAll("#feed li button")].find((l) => l.textContent.includes("changes") && l.textContent.includes("asked"))`
	p.await(line)
	p.do(runScript(line + `.click()`))
	p.await(`document.querySelector("#panel h3")?.textContent === "Why was it changed?"`)
	for _, next := range []string{"deleted", "created"} {
		p.do(runScript(fmt.Sprintf(`[...document.querySelectorAll("#panel .names button")].find((b) => b.textContent === "Why was it %s?").click()`, next)))
		p.await(fmt.Sprintf(`document.querySelector("#panel h3")?.textContent === "Why was it %s?"`, next))
	}
}

// TestWebPageDelayedKeys: how many keys are delayed is an upper bound.
func TestWebPageDelayedKeys(t *testing.T) {
	t.Parallel()
	p := openClass(t, 1280, 720, nil)
	p.class.change(func() { p.class.delayed["deployment-controller"] = 6 })
	p.await(`!picture.session.fresh`)
	p.await(`document.querySelector('[data-id="actor:deployment-controller"] .depth').innerText === "\u22646 later"`)
	p.click("actor:deployment-controller")
	p.await(`document.querySelector("#panel table tbody")?.innerText.includes("\u22646")`)
}

// TestWebPageDurations: the unit of a duration is that of the rounded number.
func TestWebPageDurations(t *testing.T) {
	t.Parallel()
	p := openClass(t, 1280, 720, nil)
	const durations = `(async () => {
		const { duration } = await import("/js/names.js");
		return [700, 999.4e3, 999.7e3, 9.97e6, 59.4e9, 59.7e9, 3598e9].map(duration).join(", ");
	})()`
	if got, want := evaluate[string](p.browser, durations), "700 ns, 999 µs, 1 ms, 10 ms, 59 s, 1 min, 1 h"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestWebPageCountsHiddenControllers: a controller that is off by its flags or a feature gate is not a quiet one that could be shown.
func TestWebPageCountsHiddenControllers(t *testing.T) {
	t.Parallel()
	p := openClass(t, 1280, 720, func(o *web.Options) { o.Focus = []string{"job-controller"} })
	p.await(`document.getElementById("notes").innerText.includes("4 quiet controllers hidden")`)
	p.class.change(func() { p.class.states["kube-scheduler"] = "off" })
	p.await(`document.getElementById("notes").innerText.includes("3 quiet controllers hidden")`)
}

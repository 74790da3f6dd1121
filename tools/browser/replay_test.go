package browser_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/ctrlplane/ctrlplane/observe"
	"github.com/ctrlplane/ctrlplane/observe/replay"
	"github.com/ctrlplane/ctrlplane/ui/web"
)

// recordClass returns a recording of 20 s in which a Deployment is rolled out each second,
// and a Deployment is in work all the time.
func recordClass(t *testing.T) *replay.Recording {
	t.Helper()
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	c := newClass()
	c.started, c.now = at, func() time.Time { return at }
	var kept replay.Buffer
	for i := range 20 {
		s, err := c.Snapshot(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for j := range s.Controllers {
			if s.Controllers[j].Name == "deployment-controller" {
				s.Controllers[j].Running = []observe.RunningSync{{Queue: "deployment", ID: 999, Key: "default/slow", Since: c.started}}
			}
		}
		if err := kept.Add(s); err != nil {
			t.Fatal(err)
		}
		c.rollOut(fmt.Sprintf("web-%d.", i))
		at = at.Add(time.Second)
	}
	r, err := kept.Recording(c.records)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// delayFirstRequest makes the next request of the page slow.
const delayFirstRequest = `(() => {
	const send = window.fetch;
	window.fetch = (...request) => {
		window.fetch = send;
		return new Promise((sendLater) => setTimeout(sendLater, 300)).then(() => send(...request));
	};
})()`

// TestWebPageReplays controls a recording on the page as in the terminal.
func TestWebPageReplays(t *testing.T) {
	t.Parallel()
	r := recordClass(t)
	p := openClass(t, 1280, 720, func(o *web.Options) {
		*o = web.Options{Player: r.PausedAt(r.Seek(r.Begin().At.Add(5 * time.Second)))}
	})
	shows := func(last, next int) {
		t.Helper()
		p.await(fmt.Sprintf(`%[1]s.includes("web-%[2]d.") && !%[1]s.includes("web-%[3]d.")`, feedText, last, next))
	}
	at := func(text string) {
		t.Helper()
		p.await(fmt.Sprintf(`document.getElementById("playback").innerText.includes(%q)`, text))
	}
	shows(5, 6)
	at("0:05 of 0:19")
	p.picture("replay")
	p.click("actor:deployment-controller")
	p.await(`document.getElementById("panel").innerText.includes("default/slow for 5 s")`)
	p.await(`document.getElementById("panel").innerText.includes("This is a recording.")`)
	p.do(chromedp.KeyEvent(kb.Escape))

	p.do(runScript(watchDots))
	p.do(chromedp.KeyEvent("s"))
	shows(6, 7)
	p.await(`seen.length > 0`) // a step moves
	at("0:06 of 0:19")
	p.do(runScript(delayFirstRequest))
	p.do(chromedp.KeyEvent("S"))
	p.do(chromedp.KeyEvent(","))
	shows(4, 5)
	p.do(chromedp.KeyEvent(kb.End))
	shows(19, 20)
	p.do(chromedp.KeyEvent(kb.Home))
	shows(0, 1)
	p.do(runScript(`(() => { const bar = document.querySelector("#playback input[type=range]"); bar.value = 10500; bar.dispatchEvent(new Event("change")); })()`))
	shows(10, 11)
	p.do(chromedp.KeyEvent("@12s\r"))
	shows(12, 13)

	setSpeed := func(key, want string) {
		t.Helper()
		p.do(chromedp.KeyEvent(key))
		p.await(`picture.playback.state.speed === ` + quote(want))
	}
	setSpeed("[", "1/2")
	setSpeed("[", "1/5") // a slow machine must not get to the end of the recording before it is paused
	p.do(chromedp.KeyEvent(" "))
	p.await(`picture.playback.playing`)
	p.await(feedText + `.includes("web-13.")`)
	p.do(chromedp.KeyEvent(" "))
	p.await(`!picture.playback.playing && picture.clock.held`)
	for _, speed := range []string{"1/2", "1", "2"} { // another speed is not a reason to move
		setSpeed("]", speed)
	}
	if !evaluate[bool](p.browser, `picture.clock.held`) {
		t.Error("the picture moves after a change of speed while the recording is paused")
	}
	p.do(chromedp.KeyEvent(","))
	p.await(`!picture.clock.held`) // another moment is shown
	p.do(chromedp.KeyEvent(" "))
	p.await(`!picture.clock.held`)
	at("0:19 of 0:19")
	p.await(`!picture.playback.playing`)
	shows(19, 20)
	p.mu.Lock()
	p.expected = "409" // there is nothing left to play
	p.mu.Unlock()
	p.do(chromedp.KeyEvent(" "))
	p.await(feedText + `.includes("this is the end of the recording")`)
}

// TestWebPageStepsToTheLinesThatItLists has records of which the page and its server did not agree whether they are worth a line.
func TestWebPageStepsToTheLinesThatItLists(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	c := newClass()
	c.started, c.now = at, func() time.Time { return at }
	var kept replay.Buffer
	s, err := c.Snapshot(t.Context())
	if err == nil {
		err = kept.Add(s)
	}
	if err != nil {
		t.Fatal(err)
	}
	pod := func(name string) observe.Object {
		return observe.Object{Resource: "pods", Kind: "Pod", Namespace: "default", Name: name}
	}
	events := observe.Object{Resource: "events", Kind: "Event", Namespace: "default"}
	lease := observe.Object{Group: "coordination.k8s.io", Resource: "leases", Kind: "Lease", Namespace: "kube-node-lease", Name: "node-1"}
	for _, e := range []observe.Event{
		&observe.Called{Controller: "replicaset-controller", Verb: "create", Object: pod("first"), Status: 201},
		&observe.Called{Controller: "kube-scheduler", Verb: "create", Object: events, Status: 201, Event: &observe.KubernetesEvent{Type: "Warning", Reason: "FailedScheduling", Note: "no node", Regarding: pod("first")}},
		&observe.Called{Controller: "kube-scheduler", Verb: "create", Object: events, Status: 201, Event: &observe.KubernetesEvent{Type: "Normal", Reason: "Scheduled", Regarding: pod("first")}},
		&observe.Called{Controller: "simulated-kubelet", Verb: "update", Object: lease, Status: 409, Conflict: true, Error: "the object has been modified"},
		&observe.Called{Controller: "replicaset-controller", Verb: "create", Object: pod("second"), Status: 403, Error: "exceeded quota", Sync: 7},
		&observe.Logged{Controller: "replicaset-controller", Level: 8, Message: "syncing failed", Sync: 7},
		&observe.Synced{Controller: "replicaset-controller", Queue: "replicaset", ID: 7, Key: "default/web", Error: "exceeded quota", Retried: true},
		&observe.Called{Controller: "shop (me)", Client: &observe.Caller{}, Verb: "list", Object: observe.Object{Resource: "secrets"}, Status: 403, Error: "not permitted"},
		&observe.Called{Controller: "replicaset-controller", Verb: "create", Object: pod("last"), Status: 201},
	} {
		c.append(e)
		at = at.Add(time.Second)
	}
	r, err := kept.Recording(c.records)
	if err != nil {
		t.Fatal(err)
	}
	p := openClass(t, 1280, 720, func(o *web.Options) { *o = web.Options{Player: r.PausedAt(r.Begin())} })
	const lines = `[...document.querySelectorAll("#lines li")].map((l) => l.innerText.replace(/\s+/g, " ").trim())`
	p.await(lines + `.length === 1`)
	want := []string{"replicaset creates Pod", "scheduler warns: FailedScheduling", "replicaset cannot create Pod", "replicaset fails, will retry", "shop cannot list Secret", "replicaset creates Pod"}
	for i, text := range want[1:] {
		p.do(chromedp.KeyEvent("s"))
		p.await(fmt.Sprintf(`%[1]s.length === %[2]d && %[1]s.at(-1).includes(%[3]q)`, lines, i+2, text))
	}
	for i := len(want) - 1; i > 0; i-- {
		p.do(chromedp.KeyEvent("S"))
		p.await(fmt.Sprintf(`%[1]s.length === %[2]d && %[1]s.at(-1).includes(%[3]q)`, lines, i, want[i-1]))
	}
}

// TestWebPageReplaysForViewers has a page that cannot control the recording.
func TestWebPageReplaysForViewers(t *testing.T) {
	t.Parallel()
	r := recordClass(t)
	p := openClass(t, 1280, 720, func(o *web.Options) { *o = web.Options{Player: r.Play(r.Begin()), ReadOnly: true} })
	p.await(`document.getElementById("playback").innerText.includes("of 0:19")`)
	if n := evaluate[int](p.browser, `document.querySelectorAll("#playback button, #playback input:enabled").length`); n > 0 {
		t.Errorf("%d controls are shown to a viewer", n)
	}
}

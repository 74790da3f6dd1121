package browser_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/ctrlplane/ctrlplane/observe"
)

// TestWebPageSaysWhichControllerIsBusiest checks the sentence above the diagram.
func TestWebPageSaysWhichControllerIsBusiest(t *testing.T) {
	t.Parallel()
	p := openClass(t, 1280, 720, nil)
	p.await(`!picture.session.fresh`)
	says := func(text string) {
		t.Helper()
		p.await(`document.getElementById("headline").innerText.includes(` + quote(text) + `)`)
	}
	says("Settled: no controller has work.")
	p.do(runScript(`globalThis.headlines = []; new MutationObserver(() => headlines.push(document.getElementById("headline").innerText)).observe(document.getElementById("headline"), { subtree: true, childList: true, characterData: true })`))
	p.class.rollOut("quick") // is done at once, but is shown for some seconds
	p.await(`headlines.some((text) => text.includes("Settled. Busiest was "))`)
	pod := observe.Object{Resource: "pods", Kind: "Pod", Namespace: "default", Name: "web-1"}
	p.class.change(func() {
		p.class.depth["deployment-controller"], p.class.depth["replicaset-controller"] = 2, 37
		for range 3 {
			p.class.append(&observe.Delivered{Controller: "replicaset-controller", Change: observe.Updated, Object: pod, Queues: []string{"replicaset"}, Adds: []uint64{1}})
		}
	})
	says("replicaset is busiest: 37 keys wait, after Pod events")
	p.await(`document.querySelector(".node.busiest").dataset.id === "actor:replicaset-controller"`)

	p.class.change(func() { p.class.states["deployment-controller"] = "paused" })
	says("deployment is paused: 2 keys wait")

	fails := func(err string) {
		p.class.change(func() {
			p.class.broken["replicaset-controller"] = []observe.FailingKey{{Queue: "replicaset", Key: "default/web", Error: err, Times: 4}, {Queue: "replicaset", Key: "default/b", Error: err, Times: 2}}
		})
	}
	fails("Operation cannot be fulfilled: the object has been modified") // the controller tries again
	p.await(`document.querySelector('[data-id="actor:replicaset-controller"] .mark').innerText === "conflict"`)
	says("deployment is paused")
	fails("read version: 7 is not as new as written version: 9 for group resource replicasets.apps")
	p.await(`document.querySelector('[data-id="actor:replicaset-controller"] .mark').innerText === "stale cache"`)
	says("deployment is paused")
	fails(`pods "web-5fc9f4bf66-x2x9k" is forbidden: exceeded quota: small`)
	says("replicaset fails: exceeded quota: small (default/web and 1 more)")
	p.await(`document.querySelector('[data-id="actor:replicaset-controller"] .mark').innerText === "2 fail"`)
	p.await(`document.getElementById("state").innerText.includes(", 2 keys fail") && document.getElementById("state").dataset.state === "bad"`)
	p.picture("failing")
	p.class.change(func() { p.class.states["replicaset-controller"] = "off" })
	says("replicaset failed before the stop: exceeded quota: small (default/web and 1 more)")
	p.await(`document.getElementById("state").innerText.includes(", 2 keys failed before the stop") && document.getElementById("state").dataset.state === "bad"`)
	p.class.change(func() { delete(p.class.states, "replicaset-controller") })
	says("replicaset fails: exceeded quota: small (default/web and 1 more)")
	p.choose("controller", "job-controller") // also what is not in the diagram
	p.await(`!` + shownNodes + `.includes("actor:replicaset-controller")`)
	fails("no space left")
	says("replicaset fails: no space left (default/web and 1 more)")
	p.choose("controller", "")
	p.await(shownNodes + `.includes("actor:replicaset-controller")`)

	p.class.change(func() {
		delete(p.class.broken, "replicaset-controller")
		for range 3 {
			p.class.append(&observe.Called{Controller: "kubectl (kubernetes-admin)", Client: &observe.Caller{}, Verb: "create", Object: pod, Status: 403, Error: "no permission"})
		}
	})
	says("kubectl fails: no permission")
	p.await(`document.querySelector(".node.client").classList.contains("failing")`)
}

// TestWebPageSaysWhichControllerWaits has a controller that waits for a kind that cannot be listed: it is in the
// diagram, and the panel says why.
func TestWebPageSaysWhichControllerWaits(t *testing.T) {
	t.Parallel()
	p := openClass(t, 1280, 720, nil)
	p.await(`!picture.session.fresh && !` + shownNodes + `.includes("actor:job-controller")`)
	const why = "failed to list *v1.Job: the server could not find the requested resource"
	p.class.change(func() { p.class.unlisted["job-controller"] = why })
	p.await(`document.querySelector('[data-id="actor:job-controller"] .mark')?.innerText === "waits"`)
	p.await(`document.querySelector('[data-id="actor:job-controller"]').title.endsWith("a kind that it needs cannot be listed: ` + why + `")`)
	p.click("actor:job-controller")
	p.await(`document.getElementById("panel").innerText.includes("running; waits: a kind that it needs cannot be listed: ` + why + `")`)
	p.class.change(func() {
		p.class.broken["job-controller"] = []observe.FailingKey{{Queue: "job", Key: "default/web", Error: "no permission", Times: 4}}
	})
	p.await(`document.querySelector('[data-id="actor:job-controller"] .mark').innerText === "1 fails"`)
	p.class.change(func() {
		delete(p.class.broken, "job-controller")
		delete(p.class.unlisted, "job-controller")
	})
	p.await(`document.querySelector('[data-id="actor:job-controller"] .mark').innerText === "20 workers"`)
	p.await(`!document.getElementById("panel").innerText.includes("waits")`)
}

// TestWebPageConflictsAreNoErrors checks the colours of the list: a conflict is amber, as in the
// terminal.
func TestWebPageConflictsAreNoErrors(t *testing.T) {
	t.Parallel()
	p := openClass(t, 1280, 720, nil)
	p.await(`!picture.session.fresh`)
	web := observe.Object{Group: "apps", Resource: "deployments", Kind: "Deployment", Namespace: "default", Name: "web"}
	p.class.change(func() {
		p.class.append(&observe.Called{Controller: "deployment-controller", Verb: "update", Object: web, Status: 409, Conflict: true, Error: "the object has been modified"},
			&observe.Called{Controller: "deployment-controller", Verb: "update", Object: web, Status: 403, Error: "no permission"},
			&observe.Called{Controller: "job-controller", Verb: "update", Object: web, Status: 409, Conflict: true, Error: observe.RestoredMeanwhile},
			&observe.Called{Controller: "cronjob-controller", Verb: "update", Object: web, Status: 409, Conflict: true, Error: observe.InjectedFault},
			&observe.Logged{Controller: "ctrlplane", Message: "speed: ½×, was 1×"})
	})
	for _, why := range []string{"the object had been modified or deleted meanwhile", "the control plane was restored while the write waited", observe.InjectedFault} {
		p.await(`[...document.querySelectorAll("#lines .conflict")].some((l) => l.innerText.includes("conflict: ` + why + `"))`)
	}
	p.await(`document.querySelector("#lines .bad")?.innerText.includes("no permission")`)
	p.await(`document.querySelector("#lines .state")?.innerText.includes("speed: ½×")`)
	border := func(class string) string {
		return evaluate[string](p.browser, `getComputedStyle(document.querySelector("#lines .`+class+` button")).borderLeftColor`)
	}
	if border("conflict") == border("bad") {
		t.Error("a conflict has the colour of an error")
	}
}

// TestWebPageNamesObjectsWithProblems checks the state and the sentence above the diagram: as in the terminal, settled alone
// would say that all is well.
func TestWebPageNamesObjectsWithProblems(t *testing.T) {
	t.Parallel()
	p := openClass(t, 1280, 720, nil)
	p.await(`document.getElementById("state").innerText === "settled"`)
	p.class.change(func() {
		p.class.problems = []observe.Problem{
			{Kind: "Pod", What: observe.CannotStart, Count: 4, Objects: []observe.Object{{Namespace: "default", Name: "<b>a</b>"}, {Namespace: "default", Name: "b"}, {Namespace: "shop", Name: "c"}}},
			{Kind: "Job", What: observe.HasFailed, Count: 1, Objects: []observe.Object{{Namespace: "default", Name: "once"}}},
		}
	})
	p.await(`document.getElementById("state").innerText === "settled, 5 objects have a problem" && document.getElementById("state").dataset.state === "bad"`)
	p.await(`document.getElementById("headline").innerText === "4 Pods cannot start: default/<b>a</b> and 3 more; 1 Job failed"`)
	p.class.change(func() { p.class.problems = p.class.problems[:1] })
	p.await(`document.getElementById("state").innerText === "settled, 4 Pods cannot start"`)
	p.class.change(func() { p.class.depth["replicaset-controller"] = 7 })
	p.await(`document.getElementById("headline").innerText.includes("replicaset is busiest")`)
	p.class.change(func() { p.class.depth, p.class.problems = map[string]int64{}, nil })
	p.await(`document.getElementById("state").innerText === "settled"`)
}

// TestWebPageNamesOperatorThatHasEnded checks that the page says, as status and the terminal do, that the operator of dev does not run.
func TestWebPageNamesOperatorThatHasEnded(t *testing.T) {
	t.Parallel()
	p := openClass(t, 1280, 720, nil)
	p.await(`document.getElementById("state").innerText === "settled"`)
	p.class.change(func() {
		p.class.endedOperator = observe.EndedOperator{Time: time.Now(), Reason: "the operator exited with code 1: TypeError: <b>x</b> is not a function"}
	})
	p.await(`document.getElementById("state").innerText === "settled, the operator of dev does not run" && document.getElementById("state").dataset.state === "bad"`)
	p.await(`document.getElementById("headline").innerText === "The operator of dev does not run: it exited with code 1: TypeError: <b>x</b> is not a function"`)
	p.class.change(func() { p.class.endedOperator = observe.EndedOperator{} })
	p.await(`document.getElementById("state").innerText === "settled"`)
}

// TestWebPageSaysWhatTheTerminalSays checks what the page has judged otherwise: reads that are refused, and queues whose keys are
// unknown.
func TestWebPageSaysWhatTheTerminalSays(t *testing.T) {
	t.Parallel()
	p := openClass(t, 1280, 720, nil)
	p.await(`document.getElementById("state").innerText === "settled"`)
	p.class.change(func() { p.class.refused = "lists of secrets are refused: 403" })
	p.await(`document.getElementById("state").innerText === "settled, reads of kubectl are refused" && document.getElementById("state").dataset.state === "bad"`)
	p.class.change(func() { p.class.refused, p.class.depth["job-controller"] = "", -1 })
	p.await(`document.getElementById("state").innerText === "unknown"`)
	p.class.change(func() { p.class.depth["job-controller"] = 3 })
	p.await(`document.getElementById("state").innerText === "busy"`)
}

// TestWebPageEndsAllInterventions has one of each kind, and a client with one.
func TestWebPageEndsAllInterventions(t *testing.T) {
	t.Parallel()
	p := openClass(t, 1280, 720, nil)
	p.class.change(func() {
		p.class.set["deployment-controller"] = observe.Interventions{Workers: 1, ConfiguredWorkers: 5, Delay: time.Second}
		p.class.set["replicaset-controller"] = observe.Interventions{Paused: true}
		p.class.states["replicaset-controller"] = "paused"
		p.class.states["job-controller"] = "off"
		p.class.set[kubectl] = observe.Interventions{Delay: time.Second}
	})
	const badges = `document.getElementById("badges").innerText`
	p.await(badges + `.includes("and 1 more")`)
	p.await(badges + `.includes("job: stopped")`)
	p.press("End all")
	p.await(badges + ` === ""`)
	p.class.change(func() {
		for _, want := range []string{"clear deployment-controller", "clear " + kubectl, "resume replicaset-controller", "scale to 5 deployment-controller", "start job-controller"} {
			if !slices.Contains(p.class.ended, want) {
				t.Errorf("the page ends %q, not %q", p.class.ended, want)
			}
		}
	})
}

// TestWebPageDeletionsOfWhatIsGoneAreNoFailures checks the list and the causes of a write: as in the terminal, and in the
// records, a deletion has not failed if another client was faster, and is left out where it would only say that nothing changed.
func TestWebPageDeletionsOfWhatIsGoneAreNoFailures(t *testing.T) {
	t.Parallel()
	p := openClass(t, 1280, 720, nil)
	p.await(`!picture.session.fresh`)
	site := func(group, name string) observe.Object {
		return observe.Object{Group: group, Resource: "sites", Kind: "Site", Namespace: "default", Name: name}
	}
	p.class.change(func() {
		p.class.append(&observe.Called{Controller: "kubectl (kubernetes-admin)", Client: &observe.Caller{}, Verb: "create", Object: site("a.example", "shop"), Status: 201, ResourceVersion: "7"})
		event := p.class.append(&observe.Delivered{Controller: "operator", Change: observe.Added, Object: site("a.example", "shop"), ResourceVersion: "7"})
		for _, c := range []observe.Called{
			{Verb: "delete", Status: 404, Error: `sites.b.example "gone" not found`}, {Verb: "update", Status: 403, Error: "no permission"},
		} {
			c.Controller, c.Client, c.Object, c.Cause = "operator", &observe.Caller{}, site("b.example", "gone"), event
			p.class.append(&c)
		}
	})
	p.await(feedText + `.includes("no permission")`)
	p.await(`[...document.querySelectorAll("#lines .client")].some((l) => l.innerText.includes("operator deletes Site")) && document.querySelectorAll("#lines .bad").length === 1`)
	p.do(runScript(`[...document.querySelectorAll("#lines button")].find((b) => b.innerText.includes("creates Site")).click()`))
	p.await(`document.querySelector("#panel .problem")?.innerText === "operator fails to update Site.b.example gone, once: 403: no permission."`)
	p.press("Trace")
	p.await(`document.querySelectorAll("#panel .tree .cause").length >= 3`)
	p.await(`document.querySelectorAll("#panel .tree .bad").length === 1 && document.querySelector("#panel .tree .bad").innerText.includes("updates Site.b.example gone")`)
	p.await(`document.getElementById("panel").innerText.includes("creates Site.a.example shop") && !document.getElementById("panel").innerText.includes("deletes Site.b")`)
}

// TestWebPageNamesAreReadable checks that no name in the diagram is covered or cut, also
// with what is marked on controllers.
func TestWebPageNamesAreReadable(t *testing.T) {
	t.Parallel()
	p := openClass(t, 1280, 720, nil)
	p.class.change(func() {
		p.class.broken["deployment-controller"] = []observe.FailingKey{{Queue: "deployment", Key: "default/web", Error: "no", Times: 4}}
		p.class.states["replicaset-controller"] = "paused"
		p.class.depth["kube-scheduler"] = 123
		for _, kind := range []string{"ServiceAccount", "EndpointSlice", "ResourceQuota"} {
			p.class.append(&observe.Called{Controller: "kubectl (kubernetes-admin)", Client: &observe.Caller{}, Verb: "create", Status: 201,
				Object: observe.Object{Resource: kind, Kind: kind, Namespace: "default", Name: "a-name-that-is-rather-long-5fc9f4bf66-x2x9k"}})
		}
	})
	p.await(`document.querySelectorAll(".node.kind").length >= 6`)
	p.await(`document.querySelector('[data-id="actor:replicaset-controller"] .mark').innerText.includes("paused")`)
	for _, size := range [][2]int64{{1280, 720}, {1024, 768}, {1920, 1080}} {
		p.do(chromedp.EmulateViewport(size[0], size[1]))
		p.await(fmt.Sprintf(`innerWidth === %d && Math.abs(picture.diagram.scene.width - document.getElementById("stage").clientWidth) < 1`, size[0]))
		if cut := evaluate[string](p.browser, `[...document.querySelectorAll(".node b, .node .mark, .node .depth")].filter((e) => e.scrollWidth > e.clientWidth + 1).map((e) => e.innerText).join(", ")`); cut != "" {
			t.Errorf("%v: cut: %s", size, cut)
		}
		const covered = `[...document.querySelectorAll(".node.controller")].filter((n) => {
			const [name, mark] = [n.querySelector("b"), n.querySelector(".mark")].map((e) => e.getBoundingClientRect());
			return mark.width && mark.left < name.right;
		}).map((n) => n.innerText).join(", ")`
		if names := evaluate[string](p.browser, covered); names != "" {
			t.Errorf("%v: covered: %s", size, names)
		}
	}
	p.picture("names")
}

// TestWebPageTellsWaitingKeysFromThoseInWork: of a paused controller, too.
func TestWebPageTellsWaitingKeysFromThoseInWork(t *testing.T) {
	t.Parallel()
	p := openClass(t, 1280, 720, nil)
	const name = "replicaset-controller"
	for _, c := range []struct {
		waiting, inWork int64
		says            string
	}{{1, 5, "1 key waits, 5 in work"}, {2, 0, "2 keys wait"}, {0, 1, "1 key in work"}, {0, 0, "its next write will wait"}} {
		p.class.change(func() {
			p.class.states[name], p.class.depth[name], p.class.inFlight[name] = "paused", c.waiting, c.inWork
		})
		p.await(`document.getElementById("headline").innerText === ` + quote("replicaset is paused: "+c.says))
	}
}

// TestWebPageDrawsTheWorkersThatItKnows: of a controller whose number of workers is not known, only the keys in work are drawn, and
// workers that have no room are counted.
func TestWebPageDrawsTheWorkersThatItKnows(t *testing.T) {
	t.Parallel()
	p := openClass(t, 1280, 720, nil)
	p.await(`!picture.session.fresh`)
	p.class.change(func() {
		p.class.depth["job-controller"] = 1
		p.class.inFlight["job-controller"], p.class.inFlight["deployment-controller"] = 7, 2
	})
	drawn := func(name string, circles, busy int, note, title string) {
		t.Helper()
		node := `document.querySelector('[data-id="actor:` + name + `"]')`
		p.await(fmt.Sprintf(`(() => { const all = [...%[1]s.querySelectorAll(".workers i")].filter((i) => !i.hidden);
			return all.length === %[2]d && all.filter((i) => i.classList.contains("busy")).length === %[3]d && %[1]s.querySelector(".mark").innerText === %[4]q && %[1]s.title.endsWith(%[5]q); })()`,
			node, circles, busy, note, title))
	}
	drawn("deployment-controller", 5, 2, "", "2 in work of 5 workers")
	drawn("job-controller", 5, 5, "20 workers", "7 in work of 20 workers")
	drawn("kube-scheduler", 0, 0, "", "0 in work")
	p.class.change(func() { p.class.inFlight["kube-scheduler"] = 1 })
	drawn("kube-scheduler", 1, 1, "", "1 in work")
	p.picture("workers")
	p.class.change(func() { p.class.second = "job-controller" })
	drawn("job-controller", 5, 5, "", "7 in work")
	p.class.change(func() { p.class.second, p.class.states["job-controller"] = "", "paused" })
	drawn("job-controller", 5, 5, "paused", "7 in work of 20 workers")
}

// TestWebPageNamesHotLoops: a controller whose own writes are its next work is named before a paused one.
func TestWebPageNamesHotLoops(t *testing.T) {
	t.Parallel()
	p := openClass(t, 1280, 720, nil)
	p.await(`!picture.session.fresh`)
	p.class.change(func() {
		p.class.states["replicaset-controller"], p.class.addRate["deployment-controller"] = "paused", 10
		web := observe.Object{Group: "apps", Resource: "deployments", Kind: "Deployment", Namespace: "default", Name: "web"}
		for range 30 {
			write := observe.Called{Verb: "update", Object: web, Subresource: "status", Status: 200, Wrote: []observe.Written{{Resource: "deployments.apps", Namespace: "default", Name: "web", ResourceVersion: fmt.Sprint(p.class.version + 1)}}}
			p.class.deliver(actors[0], web, write)
		}
	})
	p.await(`document.getElementById("headline").innerText === "deployment is in a hot loop: default/web causes itself again and again"`)
	p.await(`document.querySelector('[data-id="actor:deployment-controller"] .mark').innerText === "hot loop"`)
	p.await(`document.querySelector('[data-id="actor:deployment-controller"]').classList.contains("failing")`)
	p.picture("hot-loop")
	p.class.change(func() { delete(p.class.addRate, "deployment-controller") })
	p.await(`document.getElementById("headline").innerText.includes("replicaset is paused: ")`)
}

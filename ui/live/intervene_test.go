package live

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ctrlplane/ctrlplane/control"
	"github.com/ctrlplane/ctrlplane/observe"
)

// intervenableSource is a source that records the requested interventions.
type intervenableSource struct {
	*fixedSource
	control.Interventions
	calls   []string
	refused error
	listed  bool // HeldWrites is not refused
	held    control.HeldWriteList
	stepped *control.SteppedWrite
}

func (h *intervenableSource) recordCall(verb string, names ...string) ([]string, error) {
	h.calls = append(h.calls, verb+" "+strings.Join(names, " "))
	return names, h.refused
}

func (h *intervenableSource) Change(_ context.Context, names []string, c control.Change) ([]string, error) {
	return h.recordCall(c.Verb, names...)
}

func (h *intervenableSource) Step(_ context.Context, n string) (*control.SteppedWrite, error) {
	_, err := h.recordCall("step", n)
	return h.stepped, err
}

func (h *intervenableSource) HeldWrites(_ context.Context, n string, _ int) (control.HeldWriteList, error) {
	if h.listed {
		return h.held, nil
	}
	return h.held, h.refused
}

// pausedSnapshot has interventions on three controllers.
func pausedSnapshot() observe.Snapshot {
	s := burstSnapshot()
	for i := range s.Controllers {
		switch c := &s.Controllers[i]; c.Name {
		case "replicaset-controller":
			c.State, c.Reason, c.Held = statePaused, "its writes are held", 40
		case "deployment-controller":
			c.Reason = "each call waits 2s"
		case "cronjob-controller":
			c.State, c.Reason = stateOff, "stopped"
		}
	}
	return s
}

// sourceWithHeldWrites returns a source with held writes of replicaset-controller.
func sourceWithHeldWrites() *intervenableSource {
	h := &intervenableSource{fixedSource: &fixedSource{snapshot: pausedSnapshot()}}
	h.held = control.HeldWriteList{Controller: "replicaset-controller", Paused: true, Total: 40}
	pod := webPod
	pod.Name = "web-7d4b9c-"
	for range 9 {
		h.held.Items = append(h.held.Items, control.HeldWrite{Verb: "create", Object: pod, Since: testNow.Add(-3 * time.Second)})
	}
	h.held.Items[3] = control.HeldWrite{Verb: "update", Object: webReplicaSet, Subresource: "status", Since: testNow.Add(-time.Second)}
	h.stepped = &control.SteppedWrite{HeldWrite: control.HeldWrite{Verb: "update", Object: webReplicaSet, Subresource: "status"}, Status: 200,
		Before: json.RawMessage(`{"kind":"ReplicaSet","metadata":{"name":"web-7d4b9c","resourceVersion":"7"},"status":{"note":"a\u001b[2Jb","observedGeneration":1,"replicas":0}}`),
		After:  json.RawMessage(`{"kind":"ReplicaSet","metadata":{"name":"web-7d4b9c","resourceVersion":"8"},"status":{"note":"a\u001b[2Jb","observedGeneration":1,"replicas":3}}`)}
	return h
}

// pressAndRun presses keys and runs the command of the last one.
func pressAndRun(t *testing.T, m model, keys ...string) model {
	t.Helper()
	m = pressKeys(t, m, keys[:len(keys)-1]...)
	next, cmd := m.Update(keyMsg(keys[len(keys)-1]))
	if m = next.(model); cmd != nil {
		return sendMsgs(t, m, cmd())
	}
	return m
}

// modelOnQueue returns a model with the cursor on a queue.
func modelOnQueue(t *testing.T, h observe.Source, queue string) model {
	t.Helper()
	return pressKeys(t, newPlainModel(t, Options{Source: h}, 120, 40), append(append([]string{"/"}, strings.Split(queue, "")...), "enter")...)
}

func TestInterventionKeys(t *testing.T) {
	for _, test := range []struct {
		queue   string
		keys    []string
		asked   []string
		message string
	}{
		{"endpoint_slice", []string{"p"}, []string{"pause endpointslice-controller"}, ""},
		{"replicaset", []string{"p"}, []string{"resume replicaset-controller"}, ""},
		{"replicaset", []string{"s"}, []string{"step replicaset-controller"}, "update ReplicaSet default/web-7d4b9c (status): 200 OK; press d for the diff"},
		{"endpoint_slice", []string{"s"}, nil, "endpointslice-controller is not paused: press p to pause it"},
		{"endpoint_slice", []string{"d"}, nil, "no step to show: endpointslice-controller is not paused"},
		{"endpoint_slice", []string{"x"}, nil, ""},
		{"endpoint_slice", []string{"x", "q"}, nil, ""},
		{"endpoint_slice", []string{"x", "y"}, []string{"stop endpointslice-controller"}, ""},
		{"cronjob", []string{"x", "enter"}, []string{"start cronjob-controller"}, ""},
		{"endpoint_slice", []string{"enter", "p"}, []string{"pause endpointslice-controller"}, ""},
		{"nosuchqueue", []string{"p"}, nil, "no controller selected: select one in the list of queues, or open its page"},
	} {
		h := sourceWithHeldWrites()
		m := pressAndRun(t, modelOnQueue(t, h, test.queue), test.keys...)
		if !slices.Equal(h.calls, test.asked) || m.message != test.message || m.inProgress != "" || m.leave != Stop {
			t.Errorf("%s %v: calls %v, message %q, in progress %q", test.queue, test.keys, h.calls, m.message, m.inProgress)
		}
	}
}

// TestFooterCountsHeldWrites checks that the number of held writes is not taken for one
// of workers, which may stand before it.
func TestFooterCountsHeldWrites(t *testing.T) {
	h := sourceWithHeldWrites()
	for i := range h.snapshot.Controllers {
		if c := &h.snapshot.Controllers[i]; c.Name == "replicaset-controller" {
			c.Reason, c.Held = "its writes are held, 2 workers in place of 5", 40
		}
	}
	m := newPlainModel(t, Options{Source: h}, 200, 40)
	if want, got := "paused: 40 writes are held, 2 workers in place of 5", m.View().Content; !strings.Contains(got, want) {
		t.Errorf("no %q in\n%s", want, got)
	}
}

// The held writes of each paused controller are counted, also while another one is selected.
func TestHeldWritesOfEveryController(t *testing.T) {
	h := sourceWithHeldWrites()
	for i := range h.snapshot.Controllers {
		switch c := &h.snapshot.Controllers[i]; c.Name {
		case "replicaset-controller":
			c.Held = 4
		case "deployment-controller":
			c.State, c.Reason, c.Held = statePaused, "its writes are held", 7
		}
	}
	got := modelOnQueue(t, h, "").View().Content
	for _, want := range []string{"paused, 4 held", "paused, 7 held", "paused: 4 writes are", "paused: 7 writes are"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
}

func TestFailedInterventionIsShown(t *testing.T) {
	h := sourceWithHeldWrites()
	h.refused = errors.New("controller replicaset-controller: it is\noff")
	for _, key := range []string{"p", "s"} {
		m := pressAndRun(t, modelOnQueue(t, h, "replicaset"), key)
		if want := "controller replicaset-controller: it is off"; m.message != want || m.inProgress != "" || m.stepping {
			t.Errorf("%s: message %q, in progress %q", key, m.message, m.inProgress)
		}
		m = pullOnce(t, pressKeys(t, m, "enter"))
		if got := m.View().Content; !strings.Contains(got, "held        controller replicaset-controller: it is off") || m.pullError != "" {
			t.Errorf("the page does not show why the held writes are unknown:\n%s", got)
		}
	}
	h = sourceWithHeldWrites()
	h.stepped = nil
	if m := pressAndRun(t, modelOnQueue(t, h, "replicaset"), "s"); m.message != "replicaset-controller has no held write" || m.steps != nil {
		t.Errorf("message %q", m.message)
	}
}

// A step may wait a long time; the user can resume the controller meanwhile.
func TestResumeWhileStepWaits(t *testing.T) {
	h := sourceWithHeldWrites()
	m := pressKeys(t, modelOnQueue(t, h, "replicaset"), "s", "s")
	if want := "a step is in progress: no write is held yet, the next one will be released"; m.message != want || !m.stepping {
		t.Errorf("message %q", m.message)
	}
	m = pressKeys(t, m, "p")
	if m.inProgress != "resume replicaset-controller" {
		t.Errorf("in progress %q", m.inProgress)
	}
	if m = pressKeys(t, m, "p"); m.message != "still in progress: resume replicaset-controller" {
		t.Errorf("message %q", m.message)
	}
}

// A step that ends because the controller was resumed does not look like a failure of that.
func TestResumeEndsStep(t *testing.T) {
	h := sourceWithHeldWrites()
	m := modelOnQueue(t, h, "replicaset")
	next, step := m.Update(keyMsg("s"))
	m = pressAndRun(t, next.(model), "p")
	h.refused, h.held.Paused = errors.New("controller replicaset-controller is not paused: pause it first"), false
	m.message = "" // as the next key does
	h.listed = true
	if m = sendMsgs(t, m, step()); m.message != "" || m.stepping {
		t.Errorf("message %q", m.message)
	}
}

// The page of the simulated kubelet, which has no state, says that it is not a controller.
func TestPageOfTheKubelet(t *testing.T) {
	h := sourceWithHeldWrites()
	h.snapshot.Controllers = append(h.snapshot.Controllers, observe.Controller{Name: "simulated-kubelet"})
	m := pullOnce(t, pressKeys(t, modelOnQueue(t, h, "kubelet"), "enter"))
	if got := m.View().Content; !strings.Contains(got, "state       none: it is not a controller") {
		t.Errorf("got\n%s", got)
	}
}

func TestMetricsSourceOffersNoInterventions(t *testing.T) {
	m := modelOnQueue(t, &fixedSource{snapshot: burstSnapshot()}, "replicaset")
	for _, key := range []string{"p", "s", "x"} {
		if m = pressKeys(t, m, key); !strings.HasPrefix(m.message, "this source provides metrics only") || m.confirming != nil {
			t.Errorf("%s: message %q", key, m.message)
		}
	}
	if got := m.footerLine(200).plainText(); strings.Contains(got, "pause") {
		t.Errorf("the footer offers an unsupported key: %s", got)
	}
}

func TestStepAgainFromDiffOverlay(t *testing.T) {
	h := sourceWithHeldWrites()
	m := pressAndRun(t, modelOnQueue(t, h, "replicaset"), "s")
	if m = pressKeys(t, m, "d"); m.overlay != stepOverlay {
		t.Fatal("d does not open the diff")
	}
	h.stepped.Error, h.stepped.Status, h.stepped.Before, h.stepped.After = "no quota", 403, nil, nil
	m = pressAndRun(t, m, "s")
	if got := m.View().Content; len(h.calls) != 2 || !strings.Contains(got, "update ReplicaSet default/web-7d4b9c (status): 403 no quota") {
		t.Errorf("calls %v\n%s", h.calls, got)
	}
	if m = pressKeys(t, m, "d"); m.overlay != noOverlay {
		t.Error("d does not close the diff")
	}
}

// The last step of each controller is shown, also below its queue, until the controller is resumed.
func TestLastStepIsOfItsController(t *testing.T) {
	h := sourceWithHeldWrites()
	setState(h, statePaused, "replicaset-controller", "job-controller")
	m := pressAndRun(t, modelOnQueue(t, h, "replicaset"), "s")
	on := func(queue string) {
		t.Helper()
		m = pressKeys(t, m, append(append([]string{"esc", "/"}, strings.Split(queue, "")...), "enter")...)
	}
	says := func(want string) {
		t.Helper()
		if m = pressKeys(t, m, "d"); m.overlay != noOverlay || m.message != want {
			t.Errorf("overlay %d, message %q, want %q", m.overlay, m.message, want)
		}
	}
	on("cron")
	says("no step to show: cronjob-controller is not paused")
	on("job-c")
	says("no step to show: job-controller has made none since it was paused")
	m = pressAndRun(t, m, "s")
	on("replicaset")
	if m = pressKeys(t, m, "d"); m.overlay != stepOverlay || !strings.Contains(m.View().Content, "replicaset: update ReplicaSet") {
		t.Errorf("after a step of another controller: %q\n%s", m.message, m.View().Content)
	}
	m = pullOnce(t, pressKeys(t, m, "d", "enter"))
	text := func() (all string) {
		for _, d := range m.pageDetails(100) {
			all += d.line.plainText() + "\n"
		}
		return all
	}
	if queue, step := strings.Index(text(), "in work"), strings.Index(text(), "last step"); queue < 0 || step < queue {
		t.Errorf("the queue is at %d, the step at %d of\n%s", queue, step, text())
	}
	setState(h, stateRunning, "replicaset-controller")
	if m = pullOnce(t, m); strings.Contains(text(), "last step") {
		t.Errorf("after resume:\n%s", text())
	}
	says("no step to show: replicaset-controller is not paused")
	setState(h, statePaused, "replicaset-controller")
	if m = pullOnce(t, m); strings.Contains(text(), "last step") {
		t.Errorf("in the next pause:\n%s", text())
	}
	says("no step to show: replicaset-controller has made none since it was paused")
	m = pressKeys(t, m, "esc")
	on("job-c")
	if m = pressKeys(t, m, "d"); m.overlay != stepOverlay {
		t.Errorf("of the one that is still paused: %q", m.message)
	}
}

func TestInterventionScreens(t *testing.T) {
	page := func(t *testing.T, m model) model {
		return pullOnce(t, pressKeys(t, m, "/", "r", "e", "p", "l", "i", "c", "a", "s", "e", "t", "enter", "enter"))
	}
	step := func(t *testing.T, m model) model { return pressAndRun(t, page(t, m), "s") }
	for _, test := range []struct {
		name  string
		color bool
		w, h  int
		do    func(*testing.T, model) model
	}{
		{"paused", false, 120, 30, func(t *testing.T, m model) model { return pullOnce(t, m) }},
		{"paused narrow", false, 60, 15, func(t *testing.T, m model) model { return m }},
		{"paused controller", false, 120, 40, page},
		{"stepped", true, 120, 50, step},
		{"stepped narrow", false, 60, 24, step},
		{"difference", true, 100, 24, func(t *testing.T, m model) model { return pressKeys(t, step(t, m), "d") }},
		{"stop", false, 120, 20, func(t *testing.T, m model) model { return pressKeys(t, m, "x") }},
		{"stop narrow", false, 60, 15, func(t *testing.T, m model) model { return pressKeys(t, m, "x") }},
	} {
		t.Run(test.name, func(t *testing.T) {
			m := newTestModel(t, Options{Source: sourceWithHeldWrites(), Purpose: testPurpose}, test.w, test.h).withColor(test.color)
			m = test.do(t, m)
			expectScreen(t, "interventions/"+test.name, m)
		})
	}
}

// TestQuestionsKeepTheirAnswers: however long the name of a controller is, the keys that answer a question are visible.
func TestQuestionsKeepTheirAnswers(t *testing.T) {
	const long = "certificatesigningrequest-approving-controller"
	for _, verb := range []string{"stop", "start", "remove"} {
		m := newPlainModel(t, Options{Source: sourceWithHeldWrites()}, 100, 30)
		m.confirming = &confirmation{long, verb}
		for w := minWidth; w <= 160; w++ {
			got := m.footerLine(w)
			if text := got.plainText(); !strings.HasSuffix(text, "?  [y]es  [esc] cancel") && !strings.HasSuffix(text, ".  [y]es  [esc] cancel") || got.width() > w {
				t.Fatalf("%s in %d columns: %q", verb, w, text)
			}
		}
	}
	for _, ephemeral := range []bool{false, true} {
		m := newPlainModel(t, Options{Source: sourceWithHeldWrites(), Ephemeral: ephemeral}, 100, 30)
		m.askingQuit = true
		for w := minWidth; w <= 160; w++ {
			got := m.footerLine(w)
			if text := got.plainText(); !strings.Contains(text, " [s]top  [l]eave ") || !strings.HasSuffix(text, "  [esc] cancel") || got.width() > w {
				t.Fatalf("quit in %d columns: %q", w, text)
			}
		}
	}
}

// TestKeysStayWithTheirController: after a key has acted on the controller in the first row,
// and after esc, the next key acts on the same one, whatever the order of the rows is then.
func TestKeysStayWithTheirController(t *testing.T) {
	m := newTestModel(t, Options{Source: sourceWithHeldWrites()}, 120, 30)
	first := m.selectedController()
	m = pressKeys(t, m, "s")
	if want := "the next write of " + first + " will be released"; m.message != want && !strings.Contains(m.message, first) {
		t.Errorf("message %q, want %q", m.message, want)
	}
	m = pressKeys(t, m, "esc", ">") // another order
	if m.rows[0].controller == first {
		t.Fatal("the order has not changed")
	}
	if got := m.selectedController(); got != first {
		t.Errorf("the next key acts on %s, want %s", got, first)
	}
}

// TestKeysInActivity: keys act on the controller of the selected line, never on the row of the
// list above, whose selection does not show then; while lines move, they act on none.
func TestKeysInActivity(t *testing.T) {
	h := sourceWithHeldWrites()
	for i, name := range []string{"job-controller", "endpointslice-controller", "job-controller"} {
		h.records = append(h.records, observe.Record{Seq: uint64(i + 1), Time: testNow, Event: &observe.Called{Controller: name, Verb: "create", Object: webPod, Status: 201}})
	}
	m := pressAndRun(t, newPlainModel(t, Options{Source: h}, 120, 40), "tab", "p")
	if want := "no controller selected: select a line of Activity, or press tab and select one"; m.message != want || h.calls != nil {
		t.Errorf("while lines move: %v, message %q", h.calls, m.message)
	}
	if m = pressAndRun(t, m, "k", "p"); !slices.Equal(h.calls, []string{"pause endpointslice-controller"}) {
		t.Errorf("on a line: %v, message %q", h.calls, m.message)
	}
}

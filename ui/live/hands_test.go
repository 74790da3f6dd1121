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

// handy is a source with gates, which note what they are asked.
type handy struct {
	*fixed
	control.Gates
	asked   []string
	refused error
	held    control.HeldList
	stepped *control.Stepped
}

func (h *handy) ask(verb, name string) ([]string, error) {
	h.asked = append(h.asked, verb+" "+name)
	return []string{name}, h.refused
}

func (h *handy) Stop(_ context.Context, n string) ([]string, error)   { return h.ask("stop", n) }
func (h *handy) Start(_ context.Context, n string) ([]string, error)  { return h.ask("start", n) }
func (h *handy) Pause(_ context.Context, n string) ([]string, error)  { return h.ask("pause", n) }
func (h *handy) Resume(_ context.Context, n string) ([]string, error) { return h.ask("resume", n) }

func (h *handy) Step(_ context.Context, n string) (*control.Stepped, error) {
	_, err := h.ask("step", n)
	return h.stepped, err
}

func (h *handy) Held(_ context.Context, n string, _ int) (control.HeldList, error) {
	return h.held, h.refused
}

// paused is a control plane with a hand on three controllers.
func paused() observe.Snapshot {
	s := burst()
	for i := range s.Controllers {
		switch c := &s.Controllers[i]; c.Name {
		case "replicaset-controller":
			c.State, c.Reason = statePaused, "its writes are held"
		case "deployment-controller":
			c.Reason = "each call waits 2s"
		case "cronjob-controller":
			c.State, c.Reason = stateOff, "stopped"
		}
	}
	return s
}

// withHeld is a paused control plane whose replicaset-controller holds writes.
func withHeld() *handy {
	h := &handy{fixed: &fixed{snapshot: paused()}}
	h.held = control.HeldList{Controller: "replicaset-controller", Paused: true, Total: 40}
	pod := webPod
	pod.Name = "web-7d4b9c-"
	for range 9 {
		h.held.Items = append(h.held.Items, control.Held{Verb: "create", Object: pod, Since: now.Add(-3 * time.Second)})
	}
	h.held.Items[3] = control.Held{Verb: "update", Object: webRS, Subresource: "status", Since: now.Add(-time.Second)}
	h.stepped = &control.Stepped{Held: control.Held{Verb: "update", Object: webRS, Subresource: "status"}, Status: 200,
		Before: json.RawMessage(`{"kind":"ReplicaSet","metadata":{"name":"web-7d4b9c","resourceVersion":"7"},"status":{"note":"a\u001b[2Jb","observedGeneration":1,"replicas":0}}`),
		After:  json.RawMessage(`{"kind":"ReplicaSet","metadata":{"name":"web-7d4b9c","resourceVersion":"8"},"status":{"note":"a\u001b[2Jb","observedGeneration":1,"replicas":3}}`)}
	return h
}

// lay presses keys and carries out what the last of them asks for.
func lay(t *testing.T, m model, keys ...string) model {
	t.Helper()
	m = press(t, m, keys[:len(keys)-1]...)
	next, cmd := m.Update(keyMsg(keys[len(keys)-1]))
	if m = next.(model); cmd != nil {
		return send(t, m, cmd())
	}
	return m
}

// on is the view with the cursor on a queue.
func on(t *testing.T, h observe.Source, queue string) model {
	t.Helper()
	return press(t, shown(t, Options{Source: h, NoColor: true}, 120, 40), append(append([]string{"/"}, strings.Split(queue, "")...), "enter")...)
}

func TestHandsOnControllers(t *testing.T) {
	for _, test := range []struct {
		queue string
		keys  []string
		asked []string
		said  string
	}{
		{"endpoint_slice", []string{"p"}, []string{"pause endpointslice-controller"}, ""},
		{"replicaset", []string{"p"}, []string{"resume replicaset-controller"}, ""},
		{"replicaset", []string{"s"}, []string{"step replicaset-controller"}, "update ReplicaSet default/web-7d4b9c (status): 200 OK; d shows the difference"},
		{"endpoint_slice", []string{"s"}, nil, "endpointslice-controller is not paused: p pauses it"},
		{"endpoint_slice", []string{"d"}, nil, "no write has been let through from here yet"},
		{"endpoint_slice", []string{"x"}, nil, ""},
		{"endpoint_slice", []string{"x", "q"}, nil, ""},
		{"endpoint_slice", []string{"x", "y"}, []string{"stop endpointslice-controller"}, ""},
		{"cronjob", []string{"x", "enter"}, []string{"start cronjob-controller"}, ""},
		{"endpoint_slice", []string{"enter", "p"}, []string{"pause endpointslice-controller"}, ""},
		{"nosuchqueue", []string{"p"}, nil, "choose a controller first, in the list of queues or on its page"},
	} {
		h := withHeld()
		m := lay(t, on(t, h, test.queue), test.keys...)
		if !slices.Equal(h.asked, test.asked) || m.said != test.said || m.doing != "" || m.leave != Stop {
			t.Errorf("%s %v: asked %v, said %q, doing %q", test.queue, test.keys, h.asked, m.said, m.doing)
		}
	}
}

func TestHandsThatFail(t *testing.T) {
	h := withHeld()
	h.refused = errors.New("controller replicaset-controller: it is\noff")
	for _, key := range []string{"p", "s"} {
		m := lay(t, on(t, h, "replicaset"), key)
		if want := "controller replicaset-controller: it is off"; m.said != want || m.doing != "" || m.stepping {
			t.Errorf("%s: said %q, doing %q", key, m.said, m.doing)
		}
		m = pullOnce(t, press(t, m, "enter"))
		if got := m.View().Content; !strings.Contains(got, "held        controller replicaset-controller: it is off") || m.lost != "" {
			t.Errorf("the page does not say why nothing is known of what is held:\n%s", got)
		}
	}
	h = withHeld()
	h.stepped = nil
	if m := lay(t, on(t, h, "replicaset"), "s"); m.said != "replicaset-controller holds nothing" || m.stepped != nil {
		t.Errorf("said %q", m.said)
	}
}

// A step may wait for long; its controller can be let go meanwhile.
func TestHandsWhileAStepWaits(t *testing.T) {
	h := withHeld()
	m := press(t, on(t, h, "replicaset"), "s", "s")
	if want := "wait: nothing is held, a step lets the next write through"; m.said != want || !m.stepping {
		t.Errorf("said %q", m.said)
	}
	m = press(t, m, "p")
	if m.doing != "resume replicaset-controller" {
		t.Errorf("doing %q", m.doing)
	}
	if m = press(t, m, "p"); m.said != "wait: resume replicaset-controller" {
		t.Errorf("said %q", m.said)
	}
}

func TestMetricsHaveNoHands(t *testing.T) {
	m := on(t, &fixed{snapshot: burst()}, "replicaset")
	for _, key := range []string{"p", "s", "x"} {
		if m = press(t, m, key); !strings.HasPrefix(m.said, "this shows metrics only") || m.intent != nil {
			t.Errorf("%s: said %q", key, m.said)
		}
	}
	if got := m.footer(200).plain(); strings.Contains(got, "pause") {
		t.Errorf("the footer offers what cannot be: %s", got)
	}
}

func TestStepAgainWhileTheDifferenceIsShown(t *testing.T) {
	h := withHeld()
	m := lay(t, on(t, h, "replicaset"), "s")
	if m = press(t, m, "d"); m.overlay != stepOverlay {
		t.Fatal("d shows nothing")
	}
	h.stepped.Error, h.stepped.Status, h.stepped.Before, h.stepped.After = "no quota", 403, nil, nil
	m = lay(t, m, "s")
	if got := m.View().Content; len(h.asked) != 2 || !strings.Contains(got, "update ReplicaSet default/web-7d4b9c (status): no quota") {
		t.Errorf("asked %v\n%s", h.asked, got)
	}
	if m = press(t, m, "d"); m.overlay != noOverlay {
		t.Error("d does not leave the difference")
	}
}

func TestScreensOfHands(t *testing.T) {
	page := func(t *testing.T, m model) model {
		return pullOnce(t, press(t, m, "/", "r", "e", "p", "l", "i", "c", "a", "s", "e", "t", "enter", "enter"))
	}
	step := func(t *testing.T, m model) model { return lay(t, page(t, m), "s") }
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
		{"difference", true, 100, 24, func(t *testing.T, m model) model { return press(t, step(t, m), "d") }},
		{"stop", false, 120, 20, func(t *testing.T, m model) model { return press(t, m, "x") }},
		{"stop narrow", false, 60, 15, func(t *testing.T, m model) model { return press(t, m, "x") }},
	} {
		t.Run(test.name, func(t *testing.T) {
			m := shown(t, Options{Source: withHeld(), NoColor: !test.color, Purpose: purposes}, test.w, test.h)
			m = test.do(t, m)
			fits(t, m)
			golden(t, m)
		})
	}
}

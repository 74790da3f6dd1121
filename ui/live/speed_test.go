package live

import (
	"context"
	"strings"
	"testing"

	"github.com/ctrlplane/ctrlplane/control"
	"github.com/ctrlplane/ctrlplane/observe"
)

// pacedSource is a source whose speed can be set.
type pacedSource struct {
	*fixedSource
	set      []observe.Speed
	released *control.ReleasedKey
}

func (p *pacedSource) SpeedControl() control.SpeedControl { return p }

func (p *pacedSource) SetSpeed(_ context.Context, s observe.Speed) error {
	p.set = append(p.set, s)
	p.snapshot.Process.Speed = s
	return nil
}

func (p *pacedSource) StepKey(context.Context) (*control.ReleasedKey, error) { return p.released, nil }

func newPacedSource() *pacedSource {
	s := burstSnapshot()
	s.Process.Speed = observe.SpeedFull
	return &pacedSource{fixedSource: &fixedSource{snapshot: s}}
}

// Key presses that arrive while a speed is being set end at the last one, in order.
func TestSpeedKeys(t *testing.T) {
	source := newPacedSource()
	m := newPlainModel(t, Options{Source: source}, 100, 30)
	if got := m.View().Content; !strings.Contains(got, "speed 1×") || !strings.Contains(got, "[ slower") || strings.Contains(got, "] faster") {
		t.Errorf("at full speed:\n%s", got)
	}
	m, first := m.performAction(slower)
	m, second := m.performAction(slower)
	m, third := m.performAction(slower)
	if first == nil || second != nil || third != nil {
		t.Fatal("more than one change is on its way")
	}
	m, next := m.applySpeed(first().(speedResult))
	if next == nil {
		t.Fatal("the last key press is lost")
	}
	m, _ = m.applySpeed(next().(speedResult))
	if want := []observe.Speed{observe.SpeedHalf, observe.SpeedTenth}; len(source.set) != 2 || source.set[0] != want[0] || source.set[1] != want[1] {
		t.Errorf("set %v, want %v", source.set, want)
	}
	m = pullOnce(t, m)
	if got := m.View().Content; !strings.Contains(got, "speed 1/10×") || !strings.Contains(got, "] faster") {
		t.Errorf("at 1/10:\n%s", got)
	}
}

// Step by step, s releases a key, and the header counts those that wait.
func TestStepByStep(t *testing.T) {
	source := newPacedSource()
	source.snapshot.Process.Speed = observe.SpeedStep
	for i := range source.snapshot.Controllers {
		for n := range source.snapshot.Controllers[i].Running {
			source.snapshot.Controllers[i].Running[n].Waits = true
		}
	}
	source.released = &control.ReleasedKey{Controller: "deployment-controller", RunningSync: observe.RunningSync{Key: "default/web-17", KeyBasis: observe.BasisLog}}
	m := newPlainModel(t, Options{Source: source}, 140, 40)
	if got := m.View().Content; !strings.Contains(got, "speed step by step, 6 keys wait") || !strings.Contains(got, "s next key") {
		t.Errorf("step by step:\n%s", got)
	}
	expectScreen(t, "step by step", m)
	m, cmd := m.performAction(stepOnce)
	if m.message != "" {
		t.Errorf("message %q while keys wait", m.message)
	}
	m, _ = m.applySpeed(cmd().(speedResult))
	if want := "released: deployment works on default/web-17"; m.message != want {
		t.Errorf("message %q, want %q", m.message, want)
	}
	expectScreen(t, "step by step controller", pullOnce(t, pressKeys(t, m, "enter")))
}

// While no key waits, s says what it waits for.
func TestStepWaitsForTheNextKey(t *testing.T) {
	source := newPacedSource()
	source.snapshot = idleSnapshot()
	source.snapshot.Process.Speed = observe.SpeedStep
	m := pressKeys(t, newPlainModel(t, Options{Source: source}, 100, 30), "s")
	if want := "no key waits: the next one will be released"; m.message != want {
		t.Errorf("message %q, want %q", m.message, want)
	}
}

// A source of metrics has no speed.
func TestSpeedNeedsAControlPlane(t *testing.T) {
	m := pressKeys(t, newPlainModel(t, Options{Source: &fixedSource{snapshot: burstSnapshot()}}, 100, 30), "[")
	if got := m.View().Content; !strings.Contains(got, "the speed of this source cannot be changed") || strings.Contains(got, "slower") {
		t.Errorf("got\n%s", got)
	}
}

// Who keeps a control plane from being settled is always named.
func TestBusyNamesWho(t *testing.T) {
	s := idleSnapshot()
	s.Process.Settled, s.Process.LastActive = false, "node-lifecycle-controller"
	m := newPlainModel(t, Options{Source: &fixedSource{snapshot: s}}, 100, 30)
	if got := m.View().Content; !strings.Contains(got, "busy") || !strings.Contains(got, "node-lifecycle just now") {
		t.Errorf("got\n%s", got)
	}
	s.Process.Busy = nil
	s.Process.Busy = append(s.Process.Busy, controllerNames...)
	for w := minWidth; w < 250; w += 7 {
		m = newPlainModel(t, Options{Source: &fixedSource{snapshot: s}}, w, 30)
		expectFits(t, m)
		if got := m.drawScreen()[1]; !strings.Contains(got, "+") || strings.Contains(got, "…") && w >= 80 {
			t.Errorf("%d columns: %q", w, got)
		}
	}
}

// The end of a feed that is held is visible, and leaving the pane follows again.
func TestHeldFeedSaysSo(t *testing.T) {
	source := &fixedSource{snapshot: idleSnapshot(), records: podCreations(1, 100)}
	m := pressKeys(t, newPlainModel(t, Options{Source: source}, 100, 30), "tab", "pgup", "pgup")
	if got := m.View().Content; !strings.Contains(got, "HELD, ") || !strings.Contains(got, "newer below: f follows again") {
		t.Errorf("got\n%s", got)
	}
	if m = pressKeys(t, m, "tab"); !m.currentScreen().feed.following {
		t.Error("the feed is held although it was left")
	}
}

func TestLossIsNamedBeforeQuitting(t *testing.T) {
	s := idleSnapshot()
	s.Clients = []observe.Client{{Name: "kubectl (admin)", Changes: 41}, {Name: "helm (admin)", Changes: 6}, {Name: "reader"}}
	m := pressKeys(t, newPlainModel(t, Options{Source: &fixedSource{snapshot: s}, Ephemeral: true}, 120, 30), "q")
	if got := m.View().Content; !strings.Contains(got, "Stop it and lose 47 writes by kubectl (admin) and 1 more client?  [s]top  [l]eave it running here") {
		t.Errorf("got\n%s", got)
	}
	m = pressKeys(t, newPlainModel(t, Options{Source: &fixedSource{snapshot: idleSnapshot()}, Ephemeral: true}, 120, 30), "q")
	if got := m.View().Content; !strings.Contains(got, "Stop it? Nothing was written from outside.  [s]top") {
		t.Errorf("got\n%s", got)
	}
}

// A Kubernetes Event, a restore and a change of the speed are in the feed.
func TestFeedShowsEventsAndRestores(t *testing.T) {
	records := recordsOf(
		&observe.Called{Controller: "kube-scheduler", Verb: "create", Status: 201, Object: observe.Object{Resource: "events", Kind: "Event", Namespace: "default", Name: "web.1"},
			Event: &observe.KubernetesEvent{Type: "Warning", Reason: "FailedScheduling", Note: "0/3 nodes are available: 3 Insufficient cpu.", Regarding: webPod}},
		&observe.Called{Controller: "kube-scheduler", Verb: "create", Status: 201, Object: observe.Object{Resource: "events", Name: "web.2"},
			Event: &observe.KubernetesEvent{Type: "Normal", Reason: "Scheduled", Regarding: webPod}},
		&observe.Logged{Controller: observe.Own, Message: "snapshot demo was restored"},
	)
	m := newPlainModel(t, Options{Source: &inspectableSource{&fixedSource{snapshot: idleSnapshot(), records: records}, webInspection()}}, 140, 40)
	got := m.View().Content
	for _, want := range []string{"scheduler", "WARN    FailedScheduling: 0/3 nodes are available: 3 Insufficient cpu.  Pod default/web-7d4b9c-", "snapshot demo was restored"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	if strings.Contains(got, "Scheduled Pod") {
		t.Errorf("normal events repeat the writes:\n%s", got)
	}
	m = pressKeys(t, m, "tab", "g", "enter")
	if got := m.View().Content; !strings.Contains(got, "event        Warning FailedScheduling") || !strings.Contains(got, "enter open Pod default/web-7d4b9c-x2x9p") {
		t.Errorf("in full:\n%s", got)
	}
	if m = pressKeys(t, m, "enter"); m.currentScreen().object != webPod {
		t.Errorf("enter opened %v", m.currentScreen().object)
	}
}

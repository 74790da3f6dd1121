package live

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/ctrlplane/ctrlplane/observe"
)

const quotaError = `Error creating: pods "broken-x2x9p" is forbidden: exceeded quota: small, requested: pods=1, used: pods=10, limited: pods=10`

// snapshotOfFailing is settled; a key of job-controller, which has a state, fails again and again.
func snapshotOfFailing(state, reason string) observe.Snapshot {
	s := idleSnapshot()
	for i := range s.Controllers {
		if c := &s.Controllers[i]; c.Name == "job-controller" {
			c.State, c.Reason, c.Failing = state, reason, failingKeys(1, quotaError)
		}
	}
	if state != stateOff {
		return s
	}
	for i := range s.Queues { // ends with its controller
		if s.Queues[i].Controller == "job-controller" {
			s.Queues = append(s.Queues[:i:i], s.Queues[i+1:]...)
			break
		}
	}
	return s
}

// TestChangedControllerSaysWhatFails: neither a pause nor a stop hides what fails, from the
// header to what is above the keys, and the numbers of a quota have room at 80 columns.
func TestChangedControllerSaysWhatFails(t *testing.T) {
	for _, c := range []struct{ state, reason, header, now, notice string }{
		{stateRunning, "", "! settled, 1 key fails", "fails: exceeded quota: sma", " job: default/broken-0 fails: exceeded quota: small, pods 10+1 of 10"},
		{stateRunning, "each call waits 2s", "! settled, 1 key fails", "fails: exceeded quota: sma", " job (each call waits 2s): default/broken-0 fails: exceeded quota: small, pods 10+1 of 10"},
		{statePaused, "its writes are held", "! settled, 1 key fails", "paused, fails: exceeded", " job: default/broken-0 fails: exceeded quota: small, pods 10+1 of 10"},
		{stateOff, observe.ReasonStopped, "! settled, 1 key failed before the stop", "stopped, failed: exceeded", " job: default/broken-0 failed: exceeded quota: small, pods 10+1 of 10"},
	} {
		source := &fixedSource{snapshot: snapshotOfFailing(c.state, c.reason)}
		m := newPlainModel(t, Options{Source: source}, 80, 24)
		lines := m.drawScreen()
		if got := lines[0]; !strings.HasSuffix(got, " "+c.header) {
			t.Errorf("%s: the header is %q", c.state, got)
		}
		if got := lines[m.screenAreas().upper.y+2]; !strings.Contains(got, "job ") || !strings.Contains(got, c.now) {
			t.Errorf("%s: the first row is %q", c.state, got)
		}
		notice := m.screenAreas().notice
		if got := strings.Join(lines[notice.y:notice.y+notice.h], ""); got != c.notice {
			t.Errorf("%s: above the keys is %q", c.state, got)
		}
	}
}

// TestOtherChangesAreListed: the line above the keys lists what was changed while the selected
// row does not fail.
func TestOtherChangesAreListed(t *testing.T) {
	source := &fixedSource{snapshot: snapshotOfFailing(statePaused, "its writes are held")}
	m := pressKeys(t, newPlainModel(t, Options{Source: source}, 100, 30), "j")
	if got := m.View().Content; !strings.Contains(got, "changed manually: job-controller is paused: its writes are held") {
		t.Errorf("got\n%s", got)
	}
}

// TestStoppedControllerStaysOnTop: one that was stopped manually is not below those that are
// off for good.
func TestStoppedControllerStaysOnTop(t *testing.T) {
	s := snapshotOfFailing(stateOff, observe.ReasonStopped)
	for i := range s.Controllers {
		s.Controllers[i].Failing = nil
	}
	m := newPlainModel(t, Options{Source: &fixedSource{snapshot: s}}, 100, 30)
	if got := m.rows[0].controller; got != "job-controller" {
		t.Errorf("the first row is %s", got)
	}
}

// TestStateSaysFailing: a controller that runs and whose key fails is not only "running".
func TestStateSaysFailing(t *testing.T) {
	for state, want := range map[string]string{stateRunning: stateFailing, statePaused: statePaused} {
		m := newPlainModel(t, Options{Source: &fixedSource{snapshot: snapshotOfFailing(state, "")}}, 140, 40)
		if got := m.drawScreen()[m.screenAreas().upper.y+2]; !strings.HasPrefix(got, "▌job ") || !strings.Contains(got, " "+want+" ") || state != want && strings.Contains(got, state) {
			t.Errorf("the row is %q, want the state %s", got, want)
		}
		if m = pressKeys(t, m, "/", "f", "a", "i", "l", "i", "n", "g"); state == stateRunning && len(m.rows) != 1 {
			t.Errorf("the filter finds %d rows", len(m.rows))
		}
	}
}

// TestStoryOfKey: t and w on a sync, or where a key fails, are about the object of the key.
func TestStoryOfKey(t *testing.T) {
	const jobs = "job-controller"
	job := brokenJob
	job.Name = "broken-0"
	pod := observe.Object{Resource: "pods", Kind: "Pod", Namespace: "default", Name: "broken-0"}
	delivered := func(o observe.Object, queue string) observe.Event {
		return &observe.Delivered{Controller: jobs, Change: observe.Added, Object: o, Queues: []string{queue}}
	}
	failed := &observe.Synced{Controller: jobs, Queue: "job", ID: 3, Key: "default/broken-0", KeyBasis: observe.BasisLog, Error: quotaError}
	for name, c := range map[string]struct {
		events  []observe.Event
		keys    []string
		title   string
		message string
	}{
		"failing row":        {[]observe.Event{delivered(job, "job"), failed}, []string{"t"}, "Trace of Job default/broken-0", ""},
		"controller's page":  {[]observe.Event{delivered(job, "job"), failed}, []string{"enter", "tab", "t"}, "Trace of Job default/broken-0", ""},
		"sync":               {[]observe.Event{delivered(job, "job"), failed}, []string{"tab", "w"}, "Why Job default/broken-0", ""},
		"sync in full":       {[]observe.Event{delivered(job, "job"), failed}, []string{"tab", "enter", "t"}, "Trace of Job default/broken-0", ""},
		"other queue":        {[]observe.Event{delivered(job, "job"), delivered(pod, "orphan"), failed}, []string{"t"}, "Trace of Job default/broken-0", ""},
		"only another queue": {[]observe.Event{delivered(job, "priority"), failed}, []string{"t"}, "Trace of Job default/broken-0", ""},
		"ambiguous": {[]observe.Event{delivered(job, "job"), delivered(pod, "job"), failed}, []string{"t"}, "",
			"the key default/broken-0 of job-controller may stand for Job default/broken-0 or Pod default/broken-0: select one of them"},
		"not recorded": {[]observe.Event{failed}, []string{"t"}, "",
			"the object of the key default/broken-0 of job-controller is not known: no recorded event of it has queued a key"},
		"unknown key": {[]observe.Event{&observe.Synced{Controller: jobs, Queue: "job", ID: 4, Error: "no"}}, []string{"tab", "t"}, "",
			"the key of this sync is not known: its calls and log lines name no object"},
		"no key": {nil, []string{"j", "t"}, "", "no object is selected: tab goes to Activity, select a line there"},
	} {
		source := &fixedSource{snapshot: snapshotOfFailing(stateRunning, ""), records: recordsOf(c.events...)}
		m := newPlainModel(t, Options{Source: source}, 140, 40)
		for _, k := range c.keys {
			m = pullOnce(t, pressAndRun(t, m, k))
		}
		if c.title != "" && (m.overlay != textOverlay || m.text.title != c.title) || m.message != c.message {
			t.Errorf("%s: text %+v, message %q", name, m.text, m.message)
		}
	}
}

// TestWarningsSayWhyFirst: what is cut at 80 columns is not the reason.
func TestWarningsSayWhyFirst(t *testing.T) {
	source := &fixedSource{snapshot: idleSnapshot(), records: recordsOf(
		&observe.Called{Controller: "job-controller", Verb: "create", Status: 201, Object: observe.Object{Resource: "events", Kind: "Event", Namespace: "default", Name: "broken.1"},
			Event: &observe.KubernetesEvent{Type: "Warning", Reason: "FailedCreate", Note: quotaError, Regarding: brokenJob}})}
	m := newPlainModel(t, Options{Source: source}, 80, 24)
	if got, want := m.View().Content, "WARN    FailedCreate: exceeded quota: small, pod"; !strings.Contains(got, want) {
		t.Errorf("no %q in\n%s", want, got)
	}
	source.records = recordsOf(&observe.Logged{Controller: "job-controller", Level: int(slog.LevelError), Message: "syncing job",
		Attrs: []observe.Attr{{Key: "job", Value: "default/broken"}, {Key: "err", Value: quotaError}}})
	logs := newPlainModel(t, Options{Source: source}, 80, 24)
	if got, want := logs.View().Content, "error   syncing job: exceeded quota: small, pods"; !strings.Contains(got, want) {
		t.Errorf("no %q in\n%s", want, got)
	}
	if got := pressKeys(t, m, "tab", "enter").View().Content; !strings.Contains(got, "limited: pods=10") || !strings.Contains(got, "Job default/broken") {
		t.Errorf("in full:\n%s", got)
	}
}

// TestDroppedRecordsAreNoAlarm: rings drop their oldest records in the life of every control
// plane. What lacks them says so.
func TestDroppedRecordsAreNoAlarm(t *testing.T) {
	s := idleSnapshot()
	s.Journal.Dropped = 1234
	m := newPlainModel(t, Options{Source: &fixedSource{snapshot: s}}, 250, 60)
	if got := m.View().Content; strings.Contains(got, "dropped") {
		t.Errorf("got\n%s", got)
	}
}

// TestTextPagesHaveOnlyTheirKeys: keys that a text does not list act on nothing behind it.
func TestTextPagesHaveOnlyTheirKeys(t *testing.T) {
	for _, speed := range []observe.Speed{observe.SpeedHalf, observe.SpeedStep} {
		source := newPacedSource()
		source.snapshot.Process.Speed = speed
		start := newPlainModel(t, Options{Source: source}, 100, 30)
		for _, text := range []string{"?", "W"} {
			for _, key := range []string{"[", "]", "s", ",", ".", "p", "x", "c", ":"} {
				next, cmd := pressKeys(t, start, text).Update(keyMsg(key))
				if m := next.(model); m.overlay == noOverlay || m.message != "" || m.reading != 0 || cmd != nil {
					t.Errorf("%s in the text of %s at speed %s: message %q", key, text, speed, m.message)
				}
			}
		}
	}
}

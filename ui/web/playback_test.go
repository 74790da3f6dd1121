package web

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/ctrlplane/ctrlplane/observe"
	"github.com/ctrlplane/ctrlplane/observe/replay"
)

// newRecording returns a recording in which a Pod is created each second, ten in all.
func newRecording(t *testing.T) *replay.Recording {
	t.Helper()
	begin := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	var kept replay.Buffer
	if err := kept.Add(observe.Snapshot{
		Time: begin, Process: observe.Process{Name: "recorded", State: observe.Ready}, Controllers: []observe.Controller{{Name: "replicaset-controller"}},
	}); err != nil {
		t.Fatal(err)
	}
	var records []observe.Record
	for i := range 10 {
		records = append(records,
			observe.Record{Seq: uint64(2*i + 1), Time: begin.Add(time.Duration(i) * time.Second), Event: &observe.Called{
				Controller: "replicaset-controller", Verb: "create", Object: observe.Object{Resource: "pods", Name: fmt.Sprintf("pod-%d.", i)}, Status: 201,
			}},
			observe.Record{Seq: uint64(2*i + 2), Time: begin.Add(time.Duration(i) * time.Second), Event: &observe.Called{
				Controller: "simulated-kubelet", Verb: "patch", Object: observe.Object{Resource: "nodes", Name: "node-1"}, Subresource: "status", Status: 200,
			}})
	}
	r, err := kept.Recording(records)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestPlaybackIsControlled controls a recording as in the terminal.
func TestPlaybackIsControlled(t *testing.T) {
	r := newRecording(t)
	s := startServer(t, Options{Player: r.PausedAt(r.Begin())})
	v := newVisitor(t, s)
	v.open(s.OnceLink())
	if text := v.expect(http.StatusOK, "GET", "/api/session", "", nil); !strings.Contains(text, `"replay":true,"plays":true`) {
		t.Errorf("session: %s", text)
	}
	st := v.stream()
	change := func(body string) { v.expect(http.StatusOK, "POST", "/api/playback", body, nil) }
	expect := func(texts ...string) {
		t.Helper()
		line := st.next(texts[0])
		for _, text := range texts {
			if !strings.Contains(line, text) {
				t.Errorf("%s lacks %s", line, text)
			}
		}
	}
	expect(`"speeds":`, `"at":"2026-03-01T12:00:00Z","playing":false,"speed":"1"`)
	st.next("pod-0.")
	change(`{"step": 1}`) // the heartbeat of the node is left out
	expect(`"speeds":`, `"at":"2026-03-01T12:00:01Z"`, `"stepped":true`)
	st.next("pod-1.")
	change(`{"at": "end"}`)
	st.nextEvent("jumped")
	expect(`"speeds":`, `"at":"2026-03-01T12:00:09Z"`)
	st.next("pod-9.")
	change(`{"step": -1}`)
	expect(`"speeds":`, `"at":"2026-03-01T12:00:08Z"`)
	if line := st.next("pod-"); !strings.Contains(line, "pod-0.") {
		t.Errorf("after a step back the page does not begin again: %s", line)
	}
	st.next("pod-8.")
	change(`{"move": -2500}`)
	expect(`"speeds":`, `"at":"2026-03-01T12:00:05.5Z"`)
	change(`{"at": "13:00:03", "zone": 3600}`)
	expect(`"speeds":`, `"at":"2026-03-01T13:00:03+01:00"`)
	change(`{"speed": "60"}`)
	expect(`"speeds":`, `"playing":false,"speed":"60","factor":60`)
	change(`{"speed": "1"}`) // at 60, the end would come before the page has heard of the begin
	expect(`"speeds":`, `"speed":"1"`)
	change(`{"playing": true}`)
	expect(`"speeds":`, `"playing":true`)
	change(`{"speed": "60"}`)
	st.next("pod-9.")
}

// TestJumpIsAnnouncedOnce changes the status between a jump and the time when the source is followed
// from there: a page hears of the jump when it gets the records that belong to it, and only then.
func TestJumpIsAnnouncedOnce(t *testing.T) {
	r := newRecording(t)
	p := r.PausedAt(r.Begin())
	h := newHub(p, p)
	defer h.open()()
	followed := make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	h.stop = func() { close(followed) }
	var page position
	if u, _ := h.read(&page); u.playback == nil {
		t.Error("a new page is not told where the playback is")
	}
	h.playbackChanged(true, false)
	<-followed
	h.setStatus(observe.Snapshot{Process: observe.Process{Speed: observe.SpeedHalf}})
	if u, _ := h.read(&page); u.playback != nil || u.status != nil || u.jumped {
		t.Errorf("before the records that belong to it: %+v", u)
	}
	ended := make(chan struct{})
	go func() { defer close(ended); h.keepFollowing(ctx) }()
	jumps, playbacks := 0, 0
	for {
		u, changed := h.read(&page)
		if u.jumped {
			jumps++
		}
		if u.playback != nil {
			playbacks++
		}
		if u.live {
			break
		}
		<-changed
	}
	cancel()
	<-ended
	if jumps != 1 || playbacks != 1 {
		t.Errorf("the page heard of the jump %d times, and of the playback %d times", jumps, playbacks)
	}
}

// Of a recording, which has no objects, the page answers what "ctrlplane why --from" answers.
func TestWhyOfARecording(t *testing.T) {
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	pod := observe.Object{Resource: "pods", Kind: "Pod", Namespace: "default", Name: "web-1"}
	var kept replay.Buffer
	if err := kept.Add(observe.Snapshot{Time: at, Process: observe.Process{State: observe.Ready}}); err != nil {
		t.Fatal(err)
	}
	r, err := kept.Recording([]observe.Record{
		{Seq: 1, Time: at, Event: &observe.Called{Controller: "kubectl (admin)", Verb: "create", Object: pod, Status: 201}},
		{Seq: 2, Time: at, Event: &observe.Called{Controller: "kube-scheduler", Verb: "create", Object: observe.Object{Resource: "events", Namespace: "default", Name: "e"}, Status: 201,
			Event: &observe.KubernetesEvent{Type: "Warning", Reason: "FailedScheduling", Note: "no node", Regarding: pod}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	s := startServer(t, Options{Player: r.PausedAt(r.End())})
	v := newVisitor(t, s)
	v.open(s.ClassLink())
	if why := v.expect(http.StatusOK, "GET", "/api/why?resource=pods&kind=Pod&namespace=default&name=web-1", "", nil); !strings.Contains(why, "FailedScheduling: no node.") {
		t.Errorf("the warning is not named: %s", why)
	}
}

func TestPlaybackErrors(t *testing.T) {
	r := newRecording(t)
	s := startServer(t, Options{Player: r.PausedAt(r.End())})
	v := newVisitor(t, s)
	v.open(s.OnceLink())
	for body, says := range map[string]string{
		`{"playing": true}`: "this is the end of the recording",
		`{"step": 1}`:       "no later record",
		`{"speed": "3"}`:    `\"3\" is not a speed: use 1/10, 1/5, 1/2, 1, 2, 5, 10, 60`,
		`{"at": "noon"}`:    `\"noon\" is not a time`,
		`{"at": "2h"}`:      "is not in the recording",
	} {
		if text := v.expect(http.StatusConflict, "POST", "/api/playback", body, nil); !strings.Contains(text, says) {
			t.Errorf("%s: %s, want %s", body, text, says)
		}
	}
	v.expect(http.StatusBadRequest, "POST", "/api/playback", "{", nil)

	student := newVisitor(t, s)
	student.open(s.ClassLink())
	student.expect(http.StatusForbidden, "POST", "/api/playback", `{"step": -1}`, nil)
	if text := student.expect(http.StatusOK, "GET", "/api/session", "", nil); strings.Contains(text, "plays") {
		t.Errorf("session of a viewer: %s", text)
	}

	running := startServer(t, Options{})
	v = newVisitor(t, running)
	v.open(running.OnceLink())
	v.expect(http.StatusNotFound, "POST", "/api/playback", `{"playing": false}`, nil)
}

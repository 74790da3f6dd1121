package learn

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	controlrest "github.com/ctrlplane/ctrlplane/control/rest"
)

// restarting serves a control plane that does not answer the first requests, as while it is
// started again, and is settled then.
func restarting(t *testing.T, silent int32) *probe {
	t.Helper()
	var asked atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch n := asked.Add(1); {
		case n > silent:
			io.WriteString(w, `{"process":{"state":"ready","quiet":true}}`)
		case n%2 == 1: // client-go repeats a request whose connection was closed
			w.WriteHeader(http.StatusForbidden)
			io.WriteString(w, `{"kind":"Status","status":"Failure","reason":"Forbidden","code":403}`)
		default:
			panic(http.ErrAbortHandler) // closes the connection
		}
	}))
	t.Cleanup(server.Close)
	control, err := controlrest.NewClient(&rest.Config{Host: server.URL, QPS: -1})
	if err != nil {
		t.Fatal(err)
	}
	return &probe{controlPlane: &controlPlane{control: control}}
}

// Checks say what was measured, however long the first measurement takes.
func TestFirstMeasurementMayTakeLonger(t *testing.T) {
	p := restarting(t, 0)
	if out, err := p.awaitChecks(t.Context(), []*Check{{Settled: true}}, time.Nanosecond); len(out) > 0 || err != nil {
		t.Errorf("got %v, %v", out, err)
	}
}

// A control plane that is started again does not end the lesson.
func TestRestartDoesNotEndTheLesson(t *testing.T) {
	settled := []*Check{{Settled: true}}
	p := restarting(t, 3)
	if out, err := p.awaitChecks(t.Context(), settled, time.Minute); len(out) > 0 || err != nil {
		t.Errorf("got %v, %v", out, err)
	}
	p = restarting(t, 1<<30)
	if out, err := p.awaitChecks(t.Context(), settled, 3*pollInterval); len(out) != 1 || err != nil || out[0].String() != "control plane has to settle: there was no answer in time" {
		t.Errorf("got %v, %v without an answer", out, err)
	}
	for name, check := range map[string]func(*task) error{
		"check":   func(k *task) error { return k.checkNow(t.Context()) },
		"command": func(k *task) error { _, err := k.awaitEffect(t.Context()); return err },
	} {
		var out bytes.Buffer
		r := &runner{probe: restarting(t, 1), console: &console{out: &out}}
		k := &task{runner: r, Do: &Do{Until: settled}}
		if name == "command" {
			r.probe = restarting(t, 1<<30)
		}
		if err := check(k); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if name == "check" {
			if !strings.Contains(out.String(), "does not answer") {
				t.Errorf("got %q", &out)
			}
			if err := check(k); !errors.Is(err, errTaskDone) {
				t.Errorf("got %v when it has answered", err)
			}
		}
	}
}

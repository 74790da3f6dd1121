package learn

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/ctrlplane/ctrlplane/ui"
)

// Only a namespace that was deleted begins a step again: a control plane that does not answer
// for a moment, as when the reader starts it again, does not end the lesson.
func TestRequireNamespace(t *testing.T) {
	const namespace = `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"lesson"`
	answer := func(status int, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(status)
			io.WriteString(w, body)
		}
	}
	for name, tc := range map[string]struct {
		answer http.HandlerFunc
		want   error
	}{
		"exists":        {answer(200, namespace+`}}`), nil},
		"not found":     {answer(404, `{"kind":"Status","status":"Failure","reason":"NotFound","code":404}`), errNamespaceDeleted},
		"being deleted": {answer(200, namespace+`,"deletionTimestamp":"2026-07-01T12:00:00Z"}}`), errNamespaceDeleted},
		"no answer":     {nil, nil},
		"starting":      {answer(403, `{"kind":"Status","status":"Failure","reason":"Forbidden","code":403}`), nil},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(tc.answer)
			defer server.Close()
			if tc.answer == nil {
				server.Close()
			}
			objects, err := dynamic.NewForConfig(&rest.Config{Host: server.URL})
			if err != nil {
				t.Fatal(err)
			}
			r := &runner{plane: &controlPlane{objects: objects}, shell: &shell{namespace: "lesson"}}
			if err := r.requireNamespace(t.Context()); !errors.Is(err, tc.want) {
				t.Errorf("got %v, want %v", err, tc.want)
			}
			left := errors.New("the reader left")
			ctx, leave := context.WithCancelCause(t.Context())
			leave(left)
			if err := r.requireNamespace(ctx); !errors.Is(err, left) {
				t.Errorf("got %v after the end", err)
			}
		})
	}
}

// A reader who interrupts the repetition of earlier steps, and stays, is still in the same step.
func TestInterruptedReplayKeepsTheStep(t *testing.T) {
	var out bytes.Buffer
	ctx, interrupt := context.WithCancelCause(t.Context())
	interrupt(errWaitInterrupted)
	step := &Step{Parts: []Part{Prose{}}}
	r := &runner{lesson: &Lesson{Steps: []*Step{step, step, step}}, step: 2}
	r.console = &console{style: style{ui.Mode{}}, out: &out}
	if err := r.replaySteps(ctx); !errors.Is(err, errWaitInterrupted) || r.step != 2 {
		t.Errorf("in step index %d, %v", r.step, err)
	}
}

package rest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ctrlplane/ctrlplane/control"
	"github.com/ctrlplane/ctrlplane/internal/usage"
)

// request sends a request, "METHOD PATH" with a body, to a handler.
func request(h http.Handler, target, body string) *httptest.ResponseRecorder {
	method, path, _ := strings.Cut(target, " ")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(method, path, strings.NewReader(body)))
	return w
}

// requireStatus checks that an answer is an error in the format of the API server, and returns it.
func requireStatus(t *testing.T, w *httptest.ResponseRecorder, code int) (s metav1.Status) {
	t.Helper()
	if err := json.Unmarshal(w.Body.Bytes(), &s); err != nil || w.Code != code || s.Kind != "Status" || int(s.Code) != code {
		t.Fatalf("got %d %s, want a Status with %d; %v", w.Code, w.Body, code, err)
	}
	if s.Reason == "" || s.Reason != reasons[code] {
		t.Errorf("%d: got reason %q", code, s.Reason)
	}
	return s
}

// failingSnapshots fails with an error.
type failingSnapshots struct {
	control.Snapshots // nil
	err               error
}

func (f failingSnapshots) Reset(context.Context) (control.RestoreResult, error) {
	return control.RestoreResult{}, f.err
}

func TestErrorsAreStatuses(t *testing.T) {
	for _, tc := range []struct {
		err  error
		code int
	}{
		{errors.New("etcd is unavailable"), http.StatusInternalServerError},
		{fmt.Errorf("reset: %w", usage.Errorf("with --leader-elect")), http.StatusBadRequest},
		{control.ErrRestoreRunning, http.StatusConflict},
		{control.ErrNotReady, http.StatusServiceUnavailable},
	} {
		w := request(Handler(Services{Nodes: fakeNodes{}, Snapshots: failingSnapshots{err: tc.err}}), "POST "+ResetPath, "")
		if s := requireStatus(t, w, tc.code); s.Message != tc.err.Error() {
			t.Errorf("got %q, want %q", s.Message, tc.err)
		}
		if again := w.Header().Get("Retry-After"); (again != "") != (tc.code == http.StatusServiceUnavailable) {
			t.Errorf("%v: Retry-After is %q", tc.err, again)
		}
	}
}

// An answer is one line, also of an error: a prompt of a shell stands below it.
func TestAnswersEndWithANewline(t *testing.T) {
	h := Handler(Services{Nodes: fakeNodes{}, Interventions: &fakeInterventions{}})
	for _, target := range []string{"GET " + NodesPath, "GET " + Path + "/v1/x", "PUT " + NodesPath} {
		if w := request(h, target, ""); strings.Count(w.Body.String(), "\n") != 1 || !strings.HasSuffix(w.Body.String(), "}\n") {
			t.Errorf("%s: %q", target, w.Body)
		}
	}
}

func TestRefusedRequestsHaveStatuses(t *testing.T) {
	both := Services{Nodes: fakeNodes{}, Interventions: &fakeInterventions{}}
	for name, h := range map[string]http.Handler{"whole": Handler(both), "interventions": InterventionsHandler(both)} {
		for target, want := range map[string]struct {
			code int
			says string
		}{
			"GET " + Path:                          {http.StatusNotFound, "unknown path /ctrlplane"},
			"GET " + Path + "/v1/x":                {http.StatusNotFound, "unknown path /ctrlplane/v1/x"},
			"GET " + Path + "/v1//x":               {http.StatusNotFound, "unknown path /ctrlplane/v1//x"},
			"POST " + ControllersPath + "/explode": {http.StatusNotFound, "unknown path /ctrlplane/v1/controllers/explode"},
			"GET " + ControllersPath + "/pause":    {http.StatusMethodNotAllowed, "GET is not allowed for /ctrlplane/v1/controllers/pause: use POST"},
		} {
			w := request(h, target, "")
			if s := requireStatus(t, w, want.code); s.Message != want.says {
				t.Errorf("%s: %s: got %q, want %q", name, target, s.Message, want.says)
			}
			if allow := w.Header().Get("Allow"); want.code == http.StatusMethodNotAllowed && allow != "POST" {
				t.Errorf("%s: %s: Allow is %q", name, target, allow)
			}
		}
	}
}

func TestRunningRestoreIsAConflictForClients(t *testing.T) {
	c := newTestClient(t, Services{Nodes: fakeNodes{}, Snapshots: failingSnapshots{err: control.ErrRestoreRunning}}).Snapshots()
	if _, err := c.Reset(t.Context()); !apierrors.IsConflict(err) || !strings.HasSuffix(err.Error(), control.ErrRestoreRunning.Error()) {
		t.Errorf("got %v, want a conflict", err)
	}
}

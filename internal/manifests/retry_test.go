package manifests

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/restmapper"

	"github.com/ctrlplane/ctrlplane/internal/usage"
)

// applierWithTimeout returns an applier that retries for that long.
func (s *fakeServer) applierWithTimeout(t *testing.T, patience time.Duration) *applier {
	t.Helper()
	dyn, err := dynamic.NewForConfig(s.config)
	if err != nil {
		t.Fatal(err)
	}
	disco, err := discovery.NewDiscoveryClientForConfig(s.config)
	if err != nil {
		t.Fatal(err)
	}
	return &applier{
		client:       dyn,
		kinds:        disco,
		mapper:       restmapper.NewDeferredDiscoveryRESTMapperWithContext(memory.NewMemCacheClientWithContext(disco)),
		retryTimeout: patience,
	}
}

func TestApplyRetries(t *testing.T) {
	const pod = "/api/v1/namespaces/default/pods/p"
	for name, status := range map[string]metav1.Status{
		"no service account":  {Code: 403, Reason: metav1.StatusReasonForbidden, Message: `pods "p" is forbidden: error looking up service account default/default: serviceaccount "default" not found`},
		"quota not counted":   {Code: 403, Reason: metav1.StatusReasonForbidden, Message: `pods "p" is forbidden: status unknown for quota: q, resources: pods`},
		"priority not seen":   {Code: 403, Reason: metav1.StatusReasonForbidden, Message: `pods "p" is forbidden: no PriorityClass with name high was found`},
		"too many requests":   {Code: 429, Reason: metav1.StatusReasonTooManyRequests},
		"unavailable":         {Code: 503, Reason: metav1.StatusReasonServiceUnavailable},
		"timeout":             {Code: 504, Reason: metav1.StatusReasonTimeout},
		"server timeout":      {Code: 500, Reason: metav1.StatusReasonServerTimeout},
		"webhook unavailable": {Code: 500, Reason: metav1.StatusReasonInternalError, Message: `Internal error occurred: failed calling webhook "w": connection refused`},
		"handler not there":   {Code: 404, Message: "404 page not found"},
		"conversion webhook":  {Code: 500, Message: `conversion webhook for example.com/v1, Kind=Foo failed: connection refused`},
		"bad gateway, by any": {Code: 502},
	} {
		t.Run(name, func(t *testing.T) {
			s := newFakeServer(t)
			s.answer = func(path string, before int) *metav1.Status {
				if path == pod && before < 3 {
					return &status
				}
				return nil
			}
			if _, err := Apply(t.Context(), s.config, mustLoad(t, manifest("v1", "Pod", "p"))); err != nil {
				t.Fatal(err)
			}
			if s.count[pod] != 4 {
				t.Errorf("%d attempts, want 4", s.count[pod])
			}
		})
	}
}

func TestApplyRetryTimeout(t *testing.T) {
	missing := metav1.Status{Code: 403, Reason: metav1.StatusReasonForbidden, Message: `error looking up service account default/x: serviceaccount "x" not found`}
	tests := []struct {
		name   string
		docs   []string
		answer func(string, int) *metav1.Status
		lag    int
		want   string
		wrong  bool // the object is
	}{
		{"refused", []string{manifest("v1", "Pod", "p")}, func(string, int) *metav1.Status { return &missing }, 0,
			"manifests: a.yaml:1: Pod p: " + missing.Message + " (retried for 100ms)", true},
		{"not established", []string{crdManifest("v1"), manifest("example.com/v1", "Foo", "x")}, nil, 1 << 30,
			"manifests: a.yaml:1: CustomResourceDefinition foos.example.com: not established (retried for 100ms)", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newFakeServer(t)
				s.answer, s.lag = tt.answer, tt.lag
				objs := sortByPhase(mustLoad(t, tt.docs...))
				err := s.applierWithTimeout(t, 100*time.Millisecond).applyAll(t.Context(), objs)
				if err == nil || err.Error() != tt.want {
					t.Errorf("error is\n%v\nwant\n%s", err, tt.want)
				}
				if wrong := errors.As(err, new(usage.Error)); wrong != tt.wrong {
					t.Errorf("the object is wrong: %v", wrong)
				}
			})
		})
	}
}

// TestApplyRetriesInVain has more objects that are retried than there is time for.
func TestApplyRetriesInVain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFakeServer(t)
		s.answer = func(string, int) *metav1.Status {
			return &metav1.Status{Code: http.StatusServiceUnavailable, Reason: metav1.StatusReasonServiceUnavailable, Message: "starting"}
		}
		var docs []string
		for i := range 9 {
			docs = append(docs, manifest("v1", "Pod", fmt.Sprint("p", i)))
		}
		began := time.Now()
		err := s.applierWithTimeout(t, 2*time.Second).applyAll(t.Context(), mustLoad(t, docs...))
		want := []string{
			"manifests: a.yaml:1: Pod p0: starting (retried for 2s)", "manifests: a.yaml:5: Pod p1: starting (retried for 2s)",
			"manifests: a.yaml:9: Pod p2: starting (retried for 2s)", "manifests: a.yaml:13: Pod p3: starting (retried for 1s)",
			"manifests: a.yaml:17 and what follows it was not applied: the retries of other objects took too long",
		}
		if err == nil || errors.As(err, new(usage.Error)) {
			t.Fatalf("error is %v, want that of the server", err)
		}
		if diff := cmp.Diff(want, ErrorLines(err)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if took := time.Since(began); took != 7*time.Second {
			t.Errorf("took %v", took)
		}
	})
}

func TestApplyNamesNotAccepted(t *testing.T) { synctest.Test(t, testApplyNamesNotAccepted) }

func testApplyNamesNotAccepted(t *testing.T) {
	s := newFakeServer(t)
	s.lag = 1 << 30
	objs := mustLoad(t, crdManifest("v1"))
	a := s.applierWithTimeout(t, 100*time.Millisecond)
	if _, err := a.applyObject(t.Context(), objs[0]); err != nil {
		t.Fatal(err)
	}
	s.crds["foos.example.com"]["status"] = map[string]any{"conditions": []any{
		map[string]any{"type": "NamesAccepted", "status": "False", "message": `"foos" is already in use`},
	}}
	a.waitUntilServed(t.Context(), objs)
	err := asError(a.refused.errs)
	want := `manifests: a.yaml:1: CustomResourceDefinition foos.example.com: not established: "foos" is already in use (retried for 100ms)`
	if err == nil || err.Error() != want || !errors.As(err, new(usage.Error)) {
		t.Errorf("error is\n%v\nwant\n%s", err, want)
	}
}

func TestApplyCancelled(t *testing.T) {
	s := newFakeServer(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	stopped := errors.New("interrupted")
	s.answer = func(_ string, before int) *metav1.Status {
		if before == 2 {
			cancel(stopped)
		}
		return &metav1.Status{Code: http.StatusServiceUnavailable, Reason: metav1.StatusReasonServiceUnavailable, Message: "starting"}
	}
	_, err := Apply(ctx, s.config, mustLoad(t, manifest("v1", "Pod", "p")))
	if !errors.Is(err, stopped) || !strings.HasPrefix(err.Error(), "manifests: a.yaml:1: Pod p: interrupted") {
		t.Errorf("error is %v", err)
	}
}

func TestApplyUnreachable(t *testing.T) { synctest.Test(t, testApplyUnreachable) }

func testApplyUnreachable(t *testing.T) {
	s := newFakeServer(t)
	s.config.Transport, s.config.Dial = nil, func(context.Context, string, string) (net.Conn, error) {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
	}
	err := s.applierWithTimeout(t, 100*time.Millisecond).applyAll(t.Context(), mustLoad(t, manifest("v1", "Pod", "p")))
	if err == nil || !strings.Contains(err.Error(), "connection refused") || strings.Contains(err.Error(), "\n") {
		t.Errorf("error is %v", err)
	}
}

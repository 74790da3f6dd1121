package rest

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ctrlplane/ctrlplane/control"
)

// waitingInterventions wait for a write until their context ends.
type waitingInterventions struct{ control.Intervener }

func (waitingInterventions) StepWithin(ctx context.Context, _ string, _ time.Duration) (*control.SteppedWrite, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func TestTimeLimits(t *testing.T) {
	for timeout, says := range map[string]string{
		"": "timed out after 1m0s", "?timeout=300ms": "timed out after 300ms", "?timeout=1h": "timed out after 1m0s", "?timeout=0s": "timed out after 1m0s",
	} {
		synctest.Test(t, func(t *testing.T) {
			h := InterventionsHandler(Services{Interventions: waitingInterventions{}})
			s := requireStatus(t, request(h, "POST "+ControllersPath+"/step"+timeout, `{"names":["a"]}`), http.StatusGatewayTimeout)
			if s.Message != says {
				t.Errorf("%q: got %q, want %q", timeout, s.Message, says)
			}
		})
	}
}

// The end of the server is not a failure of the request, and clients do not wait for it.
func TestEndOfTheServer(t *testing.T) {
	closing := errors.New("the API server is closing")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(closing)
	h := Handler(Services{Source: busySource{}, Nodes: fakeNodes{}, Interventions: waitingInterventions{}})
	for target, body := range map[string]string{"POST " + ControllersPath + "/step": `{"names":["a"]}`, "GET " + SettledPath: ""} {
		method, path, _ := strings.Cut(target, " ")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequestWithContext(ctx, method, path, strings.NewReader(body)))
		if s := requireStatus(t, w, http.StatusServiceUnavailable); s.Message != closing.Error() || w.Header().Get("Retry-After") != "" {
			t.Errorf("%s: got %q, Retry-After %q", target, s.Message, w.Header().Get("Retry-After"))
		}
	}
}

func TestWaitsAreLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := Handler(Services{Source: busySource{}, Nodes: fakeNodes{}})
		answers := make(chan int, maxSettledWaits)
		for range maxSettledWaits {
			go func() { answers <- request(h, "GET "+SettledPath+"?timeout=5s", "").Code }()
		}
		synctest.Wait()
		w := request(h, "GET "+SettledPath, "")
		if requireStatus(t, w, http.StatusTooManyRequests); w.Header().Get("Retry-After") != "1" {
			t.Errorf("Retry-After is %q", w.Header().Get("Retry-After"))
		}
		for range maxSettledWaits {
			if code := <-answers; code != http.StatusOK {
				t.Errorf("a wait: got %d", code)
			}
		}
		if w := request(h, "GET "+SettledPath+"?timeout=1s", ""); w.Code != http.StatusOK {
			t.Errorf("after the others: got %d %s", w.Code, w.Body)
		}
	})
}

package ctrlplane

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	componentbaseconfig "k8s.io/component-base/config"

	"github.com/ctrlplane/ctrlplane/internal/testutil/leaks"
)

// leaseServer stores one Lease as an API server does, until it is broken.
type leaseServer struct {
	mu     sync.Mutex
	lease  []byte
	broken bool
	taken  bool // by another holder
}

func (s *leaseServer) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	body, err := io.ReadAll(req.Body)
	switch {
	case err != nil || s.broken:
		http.Error(w, "broken", http.StatusInternalServerError)
		return
	case len(body) > 0 && s.taken:
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusConflict)
		io.WriteString(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Conflict","code":409}`)
		return
	case len(body) > 0:
		s.lease = body
	case s.lease == nil:
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusNotFound)
		io.WriteString(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}`)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Write(s.lease)
}

func (s *leaseServer) breakDown() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.broken = true
}

var holderIdentity = regexp.MustCompile(`"holderIdentity":"[^"]*"`)

// takeOver gives the lease to another holder.
func (s *leaseServer) takeOver() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lease, s.taken = holderIdentity.ReplaceAll(s.lease, []byte(`"holderIdentity":"other"`)), true
}

func (s *leaseServer) holder() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return string(s.lease)
}

const (
	// The renew deadlines of a campaign that loses its lease, but on a busy machine not before the
	// test takes it, and of one that must not lose it.
	shortDeadline = 3 * time.Second
	longDeadline  = time.Hour

	// leasePatience is how long a test waits for what a campaign does.
	leasePatience = time.Minute
)

// receiveFrom returns what a campaign sends, and fails the test if that does not come.
func receiveFrom[T any](t *testing.T, c <-chan T) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(leasePatience):
		t.Fatal("nothing was received")
		panic("not reached")
	}
}

// startTestCampaign starts a campaign at a server, and fails the test if it leaves goroutines.
func startTestCampaign(t *testing.T, deadline time.Duration, lead func(context.Context) error) (*lease, *leaseServer) {
	t.Helper()
	before := goleak.IgnoreCurrent()
	t.Cleanup(func() { leaks.VerifyNone(t, before) })
	server := &leaseServer{}
	srv := httptest.NewServer(server)
	t.Cleanup(srv.Close)
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	l, err := startCampaign(leaseConfig{
		Election: componentbaseconfig.LeaderElectionConfiguration{
			ResourceNamespace: "kube-system", ResourceName: "kube-controller-manager",
			LeaseDuration: metav1.Duration{Duration: deadline * 3 / 2},
			RenewDeadline: metav1.Duration{Duration: deadline},
			RetryPeriod:   metav1.Duration{Duration: 20 * time.Millisecond},
		},
		Client: &rest.Config{
			Host: srv.URL, Transport: transport,
			ContentConfig: rest.ContentConfig{ContentType: "application/json", AcceptContentTypes: "application/json"},
		},
		Leadership: &leadership{duration: deadline * 3 / 2, now: time.Now},
		Lead:       lead,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.close() })
	return l, server
}

func TestLeaseCloseWaitsForLead(t *testing.T) {
	leading, ended := make(chan struct{}), false
	l, server := startTestCampaign(t, longDeadline, func(ctx context.Context) error {
		close(leading)
		<-ctx.Done()
		for range 1000 { // a close that does not wait would return meanwhile
			runtime.Gosched()
		}
		ended = true
		return ctx.Err()
	})
	receiveFrom(t, leading)
	if err := l.close(); err != nil {
		t.Error(err)
	}
	if !ended {
		t.Error("close returned before Lead")
	}
	if holder := server.holder(); !strings.Contains(holder, `"holderIdentity":""`) {
		t.Errorf("lease %s, want that it was released", holder)
	}
	select {
	case err := <-l.failed:
		t.Errorf("failure %v, want none after close", err)
	default:
	}
}

func TestLeaseReportsLoss(t *testing.T) {
	leading := make(chan struct{})
	l, server := startTestCampaign(t, shortDeadline, func(ctx context.Context) error { close(leading); return nil })
	receiveFrom(t, leading)
	server.breakDown()
	if err := receiveFrom(t, l.failed); !errors.Is(err, errLeaseLost) {
		t.Errorf("got %v, want %v", err, errLeaseLost)
	}
}

// A leader that learns of another holder reports it at once; the elector tries until the renew
// deadline, which is beyond the test.
func TestLeaseReportsOtherHolder(t *testing.T) {
	leading := make(chan struct{})
	l, server := startTestCampaign(t, longDeadline, func(context.Context) error { close(leading); return nil })
	receiveFrom(t, leading)
	server.takeOver()
	if err := receiveFrom(t, l.failed); !errors.Is(err, errLeaseLost) {
		t.Errorf("got %v, want %v", err, errLeaseLost)
	}
}

func TestLeaseReportsFailureOfLead(t *testing.T) {
	failure := errors.New("no")
	l, _ := startTestCampaign(t, longDeadline, func(context.Context) error { return failure })
	if err := receiveFrom(t, l.failed); !errors.Is(err, failure) {
		t.Errorf("got %v, want %v", err, failure)
	}
}

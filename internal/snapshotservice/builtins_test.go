package snapshotservice

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"

	"github.com/ctrlplane/ctrlplane/internal/informersync"
	"github.com/ctrlplane/ctrlplane/internal/snapshot"
)

const clusterRole = "/clusterroles/system:controller:new"

// restoreWithout restores a state with configMapA only where others have been created since.
func restoreWithout(t *testing.T, p *parts, now snapshot.State, change func(*Config)) (*fakeStore, error) {
	t.Helper()
	store := newFakeStore(configMapA)
	cfg := p.config(newTarget(t), store)
	cfg.WaitInformers = []func(context.Context, informersync.Revisions) error{}
	if change != nil {
		change(&cfg)
	}
	s := newStartedService(t, cfg)
	file, err := s.Save(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	store.write(now)
	_, err = s.Restore(t.Context(), file)
	return store, err
}

// A snapshot of an older release lacks roles of controllers, which act under RBAC.
func TestRestoreEstablishesThePolicyBeforeControllersResume(t *testing.T) {
	p := &parts{}
	if _, err := restoreWithout(t, p, stateOf(configMapA, clusterRole), nil); err != nil {
		t.Fatal(err)
	}
	want := []string{"release writes", "establish policy", "resume controllers", "resume nodes", "report"}
	if diff := cmp.Diff(want, p.calls[max(0, len(p.calls)-len(want)):]); diff != "" {
		t.Errorf("last calls (-want +got):\n%s", diff)
	}
}

// Most restores change nothing of the policy, and need not wait for its comparison.
func TestRestoreOfTheSamePolicy(t *testing.T) {
	p := &parts{}
	if _, err := restoreWithout(t, p, stateOf(configMapA, configMapB, clusterRole), func(cfg *Config) {
		store := cfg.Store.(*fakeStore)
		store.write(stateOf(configMapA, clusterRole))
	}); err != nil {
		t.Fatal(err)
	}
	if slices.Contains(p.calls, "establish policy") {
		t.Errorf("calls %q", p.calls)
	}
}

func TestRestoreReportsThatThePolicyIsNotInForce(t *testing.T) {
	p := &parts{}
	_, err := restoreWithout(t, p, stateOf(clusterRole), func(cfg *Config) {
		cfg.EstablishPolicy = func(context.Context) error { return errors.New("no space left") }
	})
	if err == nil || !strings.HasPrefix(err.Error(), "it was restored, but controllers may be forbidden what they do until the next start: no space left") {
		t.Errorf("got %v", err)
	}
	if last := p.calls[len(p.calls)-2]; last != "resume nodes" {
		t.Errorf("calls %q, want that all parts were resumed", p.calls)
	}
}

// The API server creates the APIServices of its own groups once after its start, and no other
// later.
func TestRestoreKeepsBuiltInAPIServices(t *testing.T) {
	const (
		builtIn   = "/apiregistration.k8s.io/apiservices/v1.storagemigration.k8s.io"
		ofCRD     = "/apiregistration.k8s.io/apiservices/v1.example.com"
		ofUser    = "/apiregistration.k8s.io/apiservices/v1.user.example.com"
		encrypted = "/apiregistration.k8s.io/apiservices/v1.zzz.example.com"
	)
	now := stateOf(builtIn, configMapB, encrypted, ofCRD, ofUser)
	for i, e := range now.Entries {
		switch e.Key {
		case builtIn:
			now.Entries[i].Value = []byte(`{"metadata":{"labels":{"kube-aggregator.kubernetes.io/automanaged":"onstart"}}}`)
		case ofCRD:
			now.Entries[i].Value = []byte(`{"metadata":{"labels":{"kube-aggregator.kubernetes.io/automanaged":"true"}}}`)
		case encrypted:
			now.Entries[i].Value = []byte("k8s:enc:aescbc:v1:")
		}
	}
	store, err := restoreWithout(t, &parts{}, now, nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{builtIn, configMapA}, store.keys()); diff != "" {
		t.Errorf("keys (-want +got):\n%s", diff)
	}
}

// A snapshot of a newer release has APIServices of groups that this one does not serve. Those
// that a user has deleted since the start are restored.
func TestRestoreLeavesOutUnservedAPIServices(t *testing.T) {
	const (
		unserved = "/apiregistration.k8s.io/apiservices/v1.newer.k8s.io"
		served   = "/apiregistration.k8s.io/apiservices/v1.batch"
		ofUser   = "/apiregistration.k8s.io/apiservices/v1.user.example.com"
	)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if req.URL.Path != "/apis/batch/v1" {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		fmt.Fprint(w, `{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"batch/v1"}`)
	}))
	defer server.Close()
	store, saved := newFakeStore(), stateOf(unserved, served, ofUser)
	for i, e := range saved.Entries {
		if e.Key != ofUser {
			saved.Entries[i].Value = []byte(`{"metadata":{"labels":{"kube-aggregator.kubernetes.io/automanaged":"onstart"}}}`)
		}
	}
	store.write(saved)
	cfg := (&parts{}).config(newTarget(t), store)
	cfg.Client = &rest.Config{Host: server.URL}
	s, file := newEmptiedService(t, cfg, store)
	if _, err := s.Restore(t.Context(), file); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{served, ofUser}, store.keys()); diff != "" {
		t.Errorf("keys (-want +got):\n%s", diff)
	}
}

// hangingTransport answers no request.
type hangingTransport struct{}

func (hangingTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	<-req.Context().Done()
	return nil, req.Context().Err()
}

// An API server that does not answer blocks the writes of others for a moment only, however many APIServices a
// snapshot has.
func TestRestoreWaitsOnceForAnAPIServerThatHangs(t *testing.T) {
	target := newTarget(t)
	synctest.Test(t, func(t *testing.T) {
		store, saved := newFakeStore(), snapshot.State{}
		for i := range 5 {
			saved.Entries = append(saved.Entries, snapshot.Entry{
				Key:   fmt.Sprintf("/apiregistration.k8s.io/apiservices/v%d.newer.k8s.io", i),
				Value: []byte(`{"metadata":{"labels":{"kube-aggregator.kubernetes.io/automanaged":"onstart"}}}`),
			})
		}
		store.write(saved)
		cfg := (&parts{}).config(target, store)
		cfg.Client = &rest.Config{Host: "http://api", Transport: hangingTransport{}}
		s, file := newEmptiedService(t, cfg, store)
		done, err := s.Restore(t.Context(), file)
		if err != nil || done.Created != len(saved.Entries) || done.WritesBlocked > discoveryTimeout {
			t.Errorf("%v, %+v; want that writes are blocked for %v", err, done, discoveryTimeout)
		}
	})
}

package intervene

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	"github.com/ctrlplane/ctrlplane/control"
	"github.com/ctrlplane/ctrlplane/internal/usage"
	"github.com/ctrlplane/ctrlplane/observe"
)

// cyclingRandom returns a source of random numbers that cycles through 0, 0.1 … 0.9.
func cyclingRandom() func() float64 {
	n := -1
	return func() float64 { n++; return float64(n%10) / 10 }
}

const leases = "/apis/coordination.k8s.io/v1/namespaces/default/leases"

func TestFaultsFailTheirShareOfCalls(t *testing.T) {
	for _, c := range []struct {
		fault        control.Fault
		method, path string
		want         int // of 20 calls that fail
	}{
		{control.Fault{Rate: 0.3, Code: "500"}, "GET", pods, 6},
		{control.Fault{Rate: 1, Code: "500"}, "GET", pods, 20},
		{control.Fault{Rate: 0, Code: "500"}, "GET", pods, 0},
		{control.Fault{Rate: 1, Code: "409"}, "GET", pods, 0},
		{control.Fault{Rate: 0.5, Code: "409"}, "PUT", pods + "/a", 10},
		{control.Fault{Rate: 1, Code: "timeout", Verb: "update"}, "PUT", pods + "/a", 20},
		{control.Fault{Rate: 1, Code: "timeout", Verb: "update"}, "PATCH", pods + "/a", 0},
		{control.Fault{Rate: 1, Code: "500", Resource: "pods"}, "POST", pods, 20},
		{control.Fault{Rate: 1, Code: "410"}, "GET", pods + "?watch=true", 20},
		{control.Fault{Rate: 1, Code: "410"}, "GET", pods + "/a", 0},
		{control.Fault{Rate: 1, Code: "410"}, "PUT", pods + "/a", 0},
		{control.Fault{Rate: 1, Code: "410", Verb: "watch"}, "GET", pods, 0},
		{control.Fault{Rate: 1, Code: "422"}, "GET", pods, 0},
		{control.Fault{Rate: 1, Code: "422"}, "DELETE", pods + "/a", 0},
		{control.Fault{Rate: 1, Code: "422"}, "PATCH", pods + "/a", 20},
		{control.Fault{Rate: 1, Code: "500", Resource: "deployments.apps"}, "GET", "/apis/apps/v1/deployments", 20},
		{control.Fault{Rate: 1, Code: "500", Resource: "nodes"}, "POST", pods, 0},
		{control.Fault{Rate: 1, Code: "500", Resource: "pods"}, "PUT", pods + "/a/status", 20},
		{control.Fault{Rate: 1, Code: "500", Resource: "pods/status"}, "PUT", pods + "/a/status", 20},
		{control.Fault{Rate: 1, Code: "500", Resource: "pods/status"}, "PUT", pods + "/a", 0},
		{control.Fault{Rate: 1, Code: "500", Resource: "pods/status"}, "POST", pods + "/a/eviction", 0},
		{control.Fault{Rate: 1, Code: "500"}, "PUT", leases + "/a", 0},
		{control.Fault{Rate: 1, Code: "500"}, "GET", leases + "/a", 0},
		{control.Fault{Rate: 1, Code: "500"}, "GET", leases, 20},
		{control.Fault{Rate: 1, Code: "500"}, "DELETE", leases, 20},
		{control.Fault{Rate: 1, Code: "500", Resource: "leases"}, "PUT", leases + "/a", 20},
		{control.Fault{Rate: 1, Code: "500", Resource: "leases.coordination.k8s.io"}, "GET", leases + "/a", 20},
		{control.Fault{Rate: 1, Code: "500", Resource: "deployments.apps/scale"}, "PATCH", "/apis/apps/v1/namespaces/default/deployments/a/scale", 20},
	} {
		g, api := NewGate(ObjectReader{}), &fakeTransport{}
		g.random = cyclingRandom()
		g.SetFault(c.fault)
		for range 20 {
			if err := sendRequest(t.Context(), gateTransport{api, g}, c.method, c.path, ""); err != nil {
				t.Fatal(err)
			}
		}
		if got := 20 - len(api.sentPaths()); got != c.want {
			t.Errorf("%+v: %d of 20 %s %s failed, want %d", c.fault, got, c.method, c.path, c.want)
		}
	}
}

// Clients recognize injected errors as those of an API server.
func TestClientsRecognizeInjectedErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // a client tries again 10 times after a 429, which says when
		g, api := NewGate(ObjectReader{}), &fakeTransport{}
		client, err := corev1client.NewForConfig(InterceptCalls(&rest.Config{Host: "http://x", Transport: api, ContentConfig: rest.ContentConfig{
			ContentType: "application/vnd.kubernetes.protobuf", AcceptContentTypes: "application/vnd.kubernetes.protobuf,application/json"}}, g))
		if err != nil {
			t.Fatal(err)
		}
		codes := map[string]func(error) bool{
			"403": apierrors.IsForbidden, "404": apierrors.IsNotFound, "409": apierrors.IsConflict, "410": apierrors.IsResourceExpired, "422": apierrors.IsInvalid, "429": apierrors.IsTooManyRequests,
			"500": apierrors.IsInternalError, "503": apierrors.IsServiceUnavailable, "timeout": apierrors.IsTimeout,
		}
		for _, code := range control.FaultCodes {
			g.SetFault(control.Fault{Rate: 1, Code: code})
			began := time.Now()
			var err error
			if code == "410" {
				_, err = client.Pods("default").List(t.Context(), metav1.ListOptions{})
			} else {
				_, err = client.Pods("default").Update(t.Context(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, metav1.UpdateOptions{})
			}
			if is := codes[code]; is == nil || !is(err) || !strings.Contains(err.Error(), observe.InjectedFault) {
				t.Errorf("%s: got %v", code, err)
			}
			if waited := time.Since(began) >= time.Second; waited != (code == "429") {
				t.Errorf("%s: the client has waited for %v", code, time.Since(began))
			}
		}
		if got := api.sentPaths(); len(got) != 0 {
			t.Errorf("sent: %v", got)
		}
	})
}

func TestInvalidFaultsAreRefused(t *testing.T) {
	for _, f := range []control.Fault{
		{Rate: 0, Code: "500"}, {Rate: 1.1, Code: "500"}, {Rate: -1, Code: "500"}, {Rate: 1, Code: "418"}, {Rate: 1},
		{Rate: 1, Code: "500", Verb: "eat"}, {Rate: 1, Code: "409", Verb: "list"}, {Rate: 1, Code: "422", Verb: "delete"}, {Rate: 1, Code: "410", Verb: "get"},
		{Rate: 1, Code: "500", Resource: "/scale"}, {Rate: 1, Code: "500", Resource: ".apps"}, {Rate: 1, Code: "500", Resource: ".apps/scale"},
	} {
		if err := ValidateFault(f); !errors.As(err, new(usage.Error)) {
			t.Errorf("%+v: got %v", f, err)
		}
	}
}

func TestDelayAppliesToEveryCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, api := NewGate(ObjectReader{}), &fakeTransport{}
		g.SetDelay(3 * time.Second)
		began := time.Now()
		for _, method := range []string{"GET", "POST"} {
			if err := sendRequest(t.Context(), gateTransport{api, g}, method, pods, ""); err != nil {
				t.Error(err)
			}
		}
		if took := time.Since(began); took != 6*time.Second {
			t.Errorf("two calls took %v", took)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := sendRequest(ctx, gateTransport{api, g}, "POST", pods, ""); !errors.Is(err, context.DeadlineExceeded) || len(api.sentPaths()) != 2 {
			t.Errorf("got %v; sent: %v", err, api.sentPaths())
		}
		g.SetDelay(time.Hour)
		began = time.Now()
		sent := make(chan error, 1)
		go func() { sent <- sendRequest(t.Context(), gateTransport{api, g}, "POST", pods, "") }()
		synctest.Wait()
		g.ClearCallEffects()
		if err := <-sent; err != nil || time.Since(began) != 0 {
			t.Errorf("after clear: %v, %v", err, time.Since(began))
		}
	})
}

// A verb that gates do not know changes nothing.
func TestChangeOfAnotherVerb(t *testing.T) {
	g := NewGate(ObjectReader{})
	g.SetDelay(time.Second)
	g.SetFault(control.Fault{Rate: 1, Code: "500"})
	before := g.Interventions()
	for _, verb := range []string{control.Stop, control.Start, control.Scale, "throttle"} {
		c := control.Change{Verb: verb}
		if err := ValidateChange(c, nil); !errors.As(err, new(usage.Error)) {
			t.Errorf("%s is valid: %v", verb, err)
		}
		if applied, err := g.Change(t.Context(), c); applied || !errors.As(err, new(usage.Error)) {
			t.Errorf("%s: %t, %v", verb, applied, err)
		}
	}
	if after := g.Interventions(); after != before {
		t.Errorf("changed to %+v", after)
	}
}

func TestDescribeActiveInterventions(t *testing.T) {
	g := NewGate(ObjectReader{})
	if is := g.Interventions().RunningState(); is != (observe.ControllerChanged{State: "running"}) || g.IsActive() {
		t.Errorf("without an intervention: %+v", is)
	}
	mustPause(t, g)
	g.SetDelay(2 * time.Second)
	g.SetFault(control.Fault{Rate: 0.3, Code: "409", Verb: "update", Resource: "pods"})
	want := "its writes are held, each call waits 2s, 30% of its update pods calls fail: 409"
	if is := g.Interventions().RunningState(); is.Reason != want || is.State != "paused" {
		t.Errorf("got %+v", is)
	}
}

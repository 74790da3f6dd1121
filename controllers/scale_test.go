package controllers

import (
	"errors"
	"log/slog"
	"strings"
	"testing"

	"k8s.io/kubernetes/cmd/kube-controller-manager/names"

	"github.com/ctrlplane/ctrlplane/control"
	"github.com/ctrlplane/ctrlplane/controllers/intervene"
	"github.com/ctrlplane/ctrlplane/internal/usage"
)

func newSupervisor(t *testing.T, args ...string) *Supervisor {
	t.Helper()
	s, err := New(Config{Logger: slog.New(slog.DiscardHandler), PodCIDR: "10.0.0.0/9", Args: args})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Each flag sets the number of workers of its controller, and of no other.
func TestConcurrencyFlags(t *testing.T) {
	s := newSupervisor(t)
	for name, c := range upstreamFacts {
		if c.flag == "" {
			continue
		}
		to, err := s.scaledConfigFor(name, 7)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := c.workers(to.config); got != 7 {
			t.Errorf("--%s=7 sets %d workers of %s", c.flag, got, name)
		}
		for other, o := range upstreamFacts {
			if other != name && o.workers != nil && o.workers(to.config) != o.workers(s.config) {
				t.Errorf("--%s also changes the workers of %s", c.flag, other)
			}
		}
	}
}

func TestScaledConfig(t *testing.T) {
	s := newSupervisor(t, "concurrent-replicaset-syncs=9")
	to, err := s.scaledConfigFor(names.ReplicaSetController, 2)
	if err != nil || to.of != 2 || to.configured != 9 {
		t.Fatalf("%+v, %v", to, err)
	}
	if got := s.WorkerCount(names.ReplicaSetController, "replicaset"); got != 9 {
		t.Errorf("%d workers before scaling", got)
	}
	u := s.units[names.ReplicaSetController]
	u.scaled.Store(to)
	if got := s.WorkerCount(names.ReplicaSetController, "replicaset"); got != 2 {
		t.Errorf("%d workers", got)
	}
	u.replaceGate(intervene.ObjectReader{}, nil)
	u.setState(Running, "", nil)
	if got := u.status(); got.State != Running || got.Reason != "2 workers in place of 9" {
		t.Errorf("got %+v", got)
	}
	if to, err := s.scaledConfigFor(names.ReplicaSetController, 9); to != nil || err != nil {
		t.Errorf("the configured number: %+v, %v", to, err)
	}
}

func TestInvalidScalesAreRefused(t *testing.T) {
	i := newSupervisor(t).Interventions()
	for names, test := range map[string]struct {
		n    int
		want string
	}{
		"replicaset":       {0, "0 workers: choose 1 to 1000"},
		"deployment":       {-3, "-3 workers: choose 1 to 1000"},
		"job replicasett":  {2, `unknown controller "replicasett": did you mean "replicaset"?`},
		control.All:        {2, `unknown controller "*": "ctrlplane controllers" lists them`},
		"job nodeipam":     {2, "controller node-ipam-controller: its number of workers is fixed: upstream has no flag for it"},
		"endpointslice":    {51, "concurrent-service-endpoint-syncs must not be more than 50, but got 51"},
		"statefulset":      {1001, "1001 workers: choose 1 to 1000"},
		"garbagecollector": {4, errNotStarted.Error()},
	} {
		_, err := i.Scale(t.Context(), strings.Fields(names), test.n)
		if err == nil || !strings.HasSuffix(err.Error(), test.want) {
			t.Errorf("%s to %d: %v, want %s", names, test.n, err, test.want)
		}
		if !errors.Is(err, errNotStarted) && !errors.As(err, new(usage.Error)) {
			t.Errorf("%s to %d: %T is not a usage error", names, test.n, err)
		}
	}
}

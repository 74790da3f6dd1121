package controllers

import (
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ctrlplane/ctrlplane/control"
	"github.com/ctrlplane/ctrlplane/controllers/intervene"
	"github.com/ctrlplane/ctrlplane/internal/usage"
)

func TestInterventionsResolveNames(t *testing.T) {
	s, err := New(Config{Logger: slog.New(slog.DiscardHandler), PodCIDR: "10.0.0.0/9", Extra: []ExtraController{{Name: "kube-scheduler", Aliases: []string{"scheduler"}, OffReason: "no"}}, Others: map[string]string{"simulated-kubelet": "use another"}})
	if err != nil {
		t.Fatal(err)
	}
	i := interventions{s: s}
	for names, want := range map[string][]string{
		"replicaset":                   {"replicaset-controller"},
		"job-controller scheduler job": {"job-controller", "kube-scheduler"},
		"garbagecollector cronjob":     {"garbage-collector-controller", "cronjob-controller"},
	} {
		got, err := i.resolveNames(strings.Fields(names), nil)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: %v\n%s", names, err, diff)
		}
	}
	all := func(Status) bool { return true }
	for names, want := range map[string]string{
		"":                                 `no controller is named: "ctrlplane controllers" lists them`,
		"job deploymnt":                    `unknown controller "deploymnt": did you mean "deployment"?`,
		"service-account-token-controller": `unknown controller "service-account-token-controller": did you mean "serviceaccount-token-controller"?`,
		"job,cronjob":                      `unknown controller "job,cronjob": did you mean "job"?`,
		"job simulated-kubelet":            "simulated-kubelet is not a controller: use another",
		"* job":                            `unknown controller "*": "ctrlplane controllers" lists them`,
	} {
		if _, err := i.resolveNames(strings.Fields(names), all); err == nil || err.Error() != want || !errors.As(err, new(usage.Error)) {
			t.Errorf("%s: got %v", names, err)
		}
	}
	if _, err := i.resolveOne(control.All); err == nil {
		t.Error("all controllers stand for one")
	}
}

func TestInterventionsBeforeStart(t *testing.T) {
	i := newSupervisor(t).Interventions()
	job, all := []string{"job"}, []string{control.All}
	if _, err := i.Start(t.Context(), job); !errors.Is(err, errNotStarted) {
		t.Errorf("start: %v", err)
	}
	if _, err := i.Stop(t.Context(), all); !errors.Is(err, errNotStarted) {
		t.Errorf("stop: %v", err)
	}
	if names, err := i.Resume(t.Context(), all); err != nil || len(names) != 0 {
		t.Errorf("resume: %v, %v", names, err)
	}
	if _, err := i.Pause(t.Context(), job); err == nil || err.Error() != "controller job-controller: it is off: start it first" {
		t.Errorf("pause: %v", err)
	}
}

// The methods return the controllers that they have changed.
func TestInterventionsReturnChangedControllers(t *testing.T) {
	s := newSupervisor(t)
	for _, name := range []string{"job-controller", "cronjob-controller"} {
		s.units[name].replaceGate(intervene.ObjectReader{}, nil)
		s.units[name].setState(Running, "", nil)
	}
	s.informers = &sharedInformers{}
	i, ctx := s.Interventions(), t.Context()
	job, both := []string{"job"}, []string{"job", "cronjob"}
	for _, step := range []struct {
		verb string
		do   func() ([]string, error)
		want []string
	}{
		{"resume", func() ([]string, error) { return i.Resume(ctx, both) }, nil},
		{"pause", func() ([]string, error) { return i.Pause(ctx, job) }, []string{"job-controller"}},
		{"resume", func() ([]string, error) { return i.Resume(ctx, both) }, []string{"job-controller"}},
		{"clear", func() ([]string, error) { return i.Clear(ctx, both) }, nil},
		{"fail", func() ([]string, error) { return i.Fail(ctx, job, control.Fault{Rate: 1, Code: "500"}) }, []string{"job-controller"}},
		{"clear", func() ([]string, error) { return i.Clear(ctx, []string{control.All}) }, []string{"job-controller"}},
		{"start", func() ([]string, error) { return i.Start(ctx, both) }, nil},
	} {
		got, err := step.do()
		if diff := cmp.Diff(step.want, got); err != nil || diff != "" {
			t.Errorf("%s: %v\n%s", step.verb, err, diff)
		}
	}
}

// A controller that could not be built is off once a user stops it: it does not keep the process from being healthy.
func TestStopOfControllerThatCouldNotBeBuilt(t *testing.T) {
	s := newSupervisor(t)
	s.informers = &sharedInformers{}
	u := s.units["job-controller"]
	for _, names := range [][]string{{control.All}, {"job"}} {
		u.setState(Failed, "boom", nil)
		stopped, err := s.Interventions().Stop(t.Context(), names)
		if diff := cmp.Diff([]string{"job-controller"}, stopped); err != nil || diff != "" {
			t.Errorf("%s: %v\n%s", names, err, diff)
		}
		if got := u.status(); got.State != Off || got.Reason != stoppedReason || u.checkReady(nil) != nil {
			t.Errorf("%s: %+v, %v", names, got, u.checkReady(nil))
		}
	}
}

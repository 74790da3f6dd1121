package controllers

import (
	"errors"
	"log/slog"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ctrlplane/ctrlplane/control"
)

func TestInterventionsResolveNames(t *testing.T) {
	s, err := New(Config{Logger: slog.New(slog.DiscardHandler), PodCIDR: "10.0.0.0/9", Extra: []ExtraController{{Name: "kube-scheduler", Aliases: []string{"scheduler"}, OffReason: "no"}}})
	if err != nil {
		t.Fatal(err)
	}
	g := interventions{s}
	for spec, want := range map[string][]string{
		"replicaset":                       {"replicaset-controller"},
		"job-controller,scheduler,job":     {"job-controller", "kube-scheduler"},
		"garbagecollector,cronjob":         {"garbage-collector-controller", "cronjob-controller"},
		"service-account-token-controller": nil,
	} {
		got, err := g.resolveNames(spec, nil)
		if want == nil {
			if err == nil || err.Error() != `unknown controller "service-account-token-controller": did you mean "serviceaccount-token-controller"?` {
				t.Errorf("%s: %v", spec, err)
			}
			continue
		}
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: %v\n%s", spec, err, diff)
		}
	}
	for spec, want := range map[string]string{
		"job,deploymnt": `unknown controller "deploymnt": did you mean "deployment"?`,
		"*":             `unknown controller "*": "ctrlplane controllers" lists them`,
	} {
		if _, err := g.resolveNames(spec, nil); err == nil || err.Error() != want {
			t.Errorf("%s: got %v", spec, err)
		}
	}
	if _, err := g.Start(t.Context(), "job"); !errors.Is(err, errNotStarted) {
		t.Errorf("start before the start: %v", err)
	}
	if _, err := g.Stop(t.Context(), control.AllControllers); !errors.Is(err, errNotStarted) {
		t.Errorf("stop before the start: %v", err)
	}
	if names, err := g.Resume(t.Context(), control.AllControllers); err != nil || len(names) != 0 {
		t.Errorf("resume of all before the start: %v, %v", names, err)
	}
}

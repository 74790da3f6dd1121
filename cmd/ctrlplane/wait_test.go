package main

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/ctrlplane/ctrlplane/health"
	"github.com/ctrlplane/ctrlplane/observe"
)

func unhealthy(r health.Ref) health.Unhealthy { return health.Unhealthy{State: health.State{Ref: r}} }

// TestWithPrograms: an object that is in a file and in the arguments is explained once, and counts once.
func TestWithPrograms(t *testing.T) {
	deployment := func(name string) health.Ref {
		return health.Ref{GroupVersionKind: appsv1.SchemeGroupVersion.WithKind("Deployment"), Namespace: "default", Name: name}
	}
	configMap := health.Ref{GroupVersionKind: corev1.SchemeGroupVersion.WithKind("ConfigMap"), Namespace: "default", Name: "a"}
	var many []health.Ref
	for i := range maxRecorded + 1 {
		many = append(many, deployment(fmt.Sprint(i)), deployment("0"))
	}
	for name, test := range map[string]struct {
		refs      []health.Ref
		unhealthy []health.Unhealthy
		want      int
	}{
		"named twice":          {[]health.Ref{deployment("a"), deployment("b"), deployment("a")}, nil, 2},
		"without programs":     {[]health.Ref{configMap, deployment("a")}, nil, 1},
		"not healthy":          {[]health.Ref{deployment("a"), deployment("b")}, []health.Unhealthy{unhealthy(deployment("b"))}, 1},
		"many, one repeatedly": {many, nil, maxRecorded},
	} {
		got, seen := withPrograms(test.refs, test.unhealthy), map[health.Ref]bool{}
		for _, r := range got {
			seen[r] = true
		}
		if len(got) != test.want || len(seen) != test.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// jobSource has the records of an operator that fails to create a Pod for each of some Jobs.
type jobSource struct {
	observe.Source
	now     observe.Snapshot
	records []observe.Record
	read    func()
}

func (s *jobSource) Snapshot(context.Context) (observe.Snapshot, error) { return s.now, nil }

func (s *jobSource) Records(context.Context, observe.Query) (observe.Page, error) {
	s.read()
	return observe.Page{Records: s.records}, nil
}

func newJobSource(jobs ...string) *jobSource {
	at := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	s := &jobSource{read: func() {}}
	add := func(e observe.Event) {
		at = at.Add(50 * time.Millisecond)
		if c, ok := e.(*observe.Called); ok {
			c.Began, c.Took, c.Client = at.Add(-time.Millisecond), time.Millisecond, &observe.Caller{User: "admin"}
		}
		s.records = append(s.records, observe.Record{Seq: uint64(len(s.records) + 1), Time: at, Event: e})
	}
	for _, name := range jobs {
		job := observe.Object{Group: "batch", Resource: "jobs", Kind: "Job", Namespace: "default", Name: name}
		pod := observe.Object{Resource: "pods", Kind: "Pod", Namespace: "default", Name: name}
		written := []observe.Written{{Resource: "jobs.batch", Namespace: "default", Name: name, ResourceVersion: "7"}}
		add(&observe.Called{Controller: "kubectl (admin)", Verb: "create", Object: job, Status: 201, ResourceVersion: "7", Wrote: written})
		add(&observe.Delivered{Controller: "shop", Change: observe.Added, Object: job, ResourceVersion: "7"})
		delivered := uint64(len(s.records))
		for range 3 {
			add(&observe.Called{Controller: "shop", Verb: "create", Object: pod, Status: 403, Error: "forbidden", Cause: delivered})
		}
	}
	s.now = observe.Snapshot{Time: at, Clients: []observe.Client{{Name: "shop", Errors: 3, Watches: []observe.ClientWatch{{Resource: "jobs.batch"}}}}}
	return s
}

// TestFailedWritesAreSearchedForSoonEnough: the time that wait takes after its timeout is bounded.
func TestFailedWritesAreSearchedForSoonEnough(t *testing.T) {
	jobs := []string{"a", "b", "c", "d", "e"}
	var objects []health.Unhealthy
	for _, name := range jobs {
		objects = append(objects, unhealthy(health.Ref{GroupVersionKind: batchv1.SchemeGroupVersion.WithKind("Job"), Namespace: "default", Name: name}))
	}
	printed := func(ends bool) (lines []string) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		src := newJobSource(jobs...)
		if ends {
			src.read = cancel
		}
		var out strings.Builder
		(&waitCommand{}).printRecorded(ctx, &out, src, src.now, objects)
		for line := range strings.Lines(out.String()) {
			lines = append(lines, strings.TrimSpace(line))
		}
		return lines
	}
	var want []string
	for _, name := range jobs[:maxExplained] {
		want = append(want, fmt.Sprintf("Job default/%s: shop fails to create Pod %s, 3 times in a row: 403: forbidden", name, name))
	}
	if diff := cmp.Diff(want, printed(false)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := printed(true); len(got) > 0 {
		t.Errorf("after the context has ended: %q", got)
	}
}

package scheduler

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/client-go/rest"
	"k8s.io/component-base/metrics"

	"github.com/ctrlplane/ctrlplane/apiserver/loopback"
	"github.com/ctrlplane/ctrlplane/internal/testutil/fakeapi"
	"github.com/ctrlplane/ctrlplane/internal/testutil/leaks"
)

func connectFunc(h http.Handler) func(user.Info) *rest.Config {
	return func(who user.Info) *rest.Config { return loopback.ClientConfig(h, who) }
}

func TestStartAndCloseSeveralTimes(t *testing.T) {
	defer leaks.VerifyNone(t, goleak.IgnoreCurrent())
	server := fakeapi.New()
	for range 3 {
		s, err := New(Config{Connect: connectFunc(server), Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		if q, err := s.currentInstance().countQueues(); err != nil || q != (queueCounts{}) {
			t.Errorf("queues: %+v, %v", q, err)
		}
		if err := s.Start(t.Context()); err == nil {
			t.Error("started twice")
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		<-s.Done()
		if s.Close() != nil || s.Err() != nil {
			t.Errorf("second Close failed, or Err is not nil: %v", s.Err())
		}
		if err := s.Start(t.Context()); err == nil {
			t.Error("started after Close")
		}
	}
}

// The metrics of the queues belong to the process: a scheduler must not start with
// the numbers of an earlier one.
func TestQueuesDoNotOutliveScheduler(t *testing.T) {
	gated := func(name string) corev1.Pod {
		return corev1.Pod{
			TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(name), ResourceVersion: "1"},
			Spec: corev1.PodSpec{
				SchedulerName:   corev1.DefaultSchedulerName,
				SchedulingGates: []corev1.PodSchedulingGate{{Name: "example.com/wait"}},
			},
		}
	}
	for _, tc := range []struct {
		server fakeapi.Server
		want   queueCounts
	}{
		{fakeapi.New(gated("a"), gated("b")), queueCounts{gated: 2}},
		{fakeapi.New(gated("a")), queueCounts{gated: 1}},
		{fakeapi.New(), queueCounts{}},
	} {
		s, err := New(Config{Connect: connectFunc(tc.server), Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got, err := s.currentInstance().countQueues(); err != nil || got != tc.want {
			t.Errorf("got %+v, %v, want %+v", got, err, tc.want)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if got, err := s.Observed(); err != nil || got != nil {
			t.Errorf("closed: %+v, %v", got, err)
		}
	}
}

// A Pod whose binding fails again and again is always counted, also while it moves
// between queues.
func TestQueuesAlwaysCountPod(t *testing.T) {
	server := fakeapi.New(corev1.Pod{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a", UID: "a", ResourceVersion: "1"},
		Spec:       corev1.PodSpec{SchedulerName: corev1.DefaultSchedulerName},
	})
	server.Items["Node"] = []any{corev1.Node{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Node"},
		ObjectMeta: metav1.ObjectMeta{Name: "n", UID: "n", ResourceVersion: "1"},
		Status:     corev1.NodeStatus{Allocatable: corev1.ResourceList{corev1.ResourcePods: resource.MustParse("10")}},
	}}
	const enough = 6 // more attempts than one scheduling cycle makes
	var tries atomic.Int32
	refuse := http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if strings.HasSuffix(req.URL.Path, "/binding") {
			tries.Add(1)
			http.Error(w, "no", http.StatusInternalServerError)
			return
		}
		server.ServeHTTP(w, req)
	})
	s, err := New(Config{Connect: connectFunc(refuse), Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	reads, missed := 0, 0
	for deadline := time.Now().Add(time.Minute); tries.Load() < enough; reads++ {
		q, err := s.currentInstance().countQueues()
		if err != nil {
			t.Fatal(err)
		}
		if q == (queueCounts{}) {
			missed++
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d bindings in a minute, want %d", tries.Load(), enough)
		}
	}
	if missed > 0 {
		t.Errorf("%d of %d reads did not count the Pod", missed, reads)
	}
}

func TestReadGaugeRefusesUnrecordedMetric(t *testing.T) {
	unregistered := metrics.NewGauge(&metrics.GaugeOpts{Name: "unregistered", Help: "Test."})
	if n, err := readGauge(unregistered); err == nil {
		t.Errorf("got %d of a metric that is not recorded", n)
	}
}

func TestSecondSchedulerInProcessIsRefused(t *testing.T) {
	defer leaks.VerifyNone(t, goleak.IgnoreCurrent())
	var all []*Scheduler
	for range 2 {
		s, err := New(Config{Connect: connectFunc(fakeapi.New()), Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, s)
	}
	if err := all[0].Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := all[1].Start(t.Context()); err == nil || !strings.Contains(err.Error(), "another scheduler is running") {
		t.Errorf("second scheduler: %v", err)
	}
	<-all[1].Done()
	if err := all[0].Close(); err != nil {
		t.Error(err)
	}
}

func TestStartIsCanceled(t *testing.T) {
	defer leaks.VerifyNone(t, goleak.IgnoreCurrent())
	asked := make(chan struct{}, 100)
	unresponsive := http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
		asked <- struct{}{}
		<-req.Context().Done()
	})
	s, err := New(Config{Connect: connectFunc(unresponsive), Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-asked
		cancel()
	}()
	if err := s.Start(ctx); err == nil || strings.Contains(err.Error(), "\n") {
		t.Errorf("got %v", err)
	}
	<-s.Done()
}

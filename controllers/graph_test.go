package controllers

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"k8s.io/apiserver/pkg/authentication/user"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/rest"
	featuregatetesting "k8s.io/component-base/featuregate/testing"
	"k8s.io/kubernetes/cmd/kube-controller-manager/names"
	"k8s.io/kubernetes/pkg/features"

	"github.com/ctrlplane/ctrlplane/controllers/queues"
	"github.com/ctrlplane/ctrlplane/observe"
)

// newPreparedSupervisor returns a supervisor of some controllers, and of an API server that serves
// nothing.
func newPreparedSupervisor(t *testing.T, list ...string) *Supervisor {
	t.Helper()
	server := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(server.Close)
	o := observe.New(observe.Options{Queues: queues.All(), Process: func() observe.Process { return observe.Process{} }})
	t.Cleanup(func() { o.Close() })
	s, err := New(Config{
		Logger: slog.New(slog.DiscardHandler), PodCIDR: "10.0.0.0/9", List: list, Recorder: o.Recorder,
		Connect: func(user.Info) *rest.Config { return &rest.Config{Host: server.URL} },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	if err := s.Prepare(); err != nil {
		t.Fatal(err)
	}
	s.informers.start()
	return s
}

// Controllers that a restore could not start again are shown as off, and can be started when the cause is
// gone.
func TestStartAfterTheInformersCouldNotBeRenewed(t *testing.T) {
	s := newPreparedSupervisor(t, names.JobController, names.CronJobController)
	i, list := s.Interventions(), []string{names.JobController, names.CronJobController}
	mustIntervene(t)(i.Start(t.Context(), list))
	resume, err := s.Suspend()
	if err != nil {
		t.Fatal(err)
	}
	connect := s.cfg.Connect
	s.cfg.Connect = func(user.Info) *rest.Config { return &rest.Config{Host: "://"} }
	if err := resume(t.Context(), true); err == nil {
		t.Error("the informers were renewed")
	}
	for _, name := range list {
		if u := s.units[name]; u.status().State != Off || u.mutedIn != "" {
			t.Errorf("%s: %+v, muted in %q", name, u.status(), u.mutedIn)
		}
	}
	if _, err := i.Start(t.Context(), list); err == nil {
		t.Error("controllers were started without informers")
	}
	s.cfg.Connect = connect
	mustIntervene(t)(i.Start(t.Context(), list))
	for _, name := range list {
		if got := s.units[name].status().State; got != Running || s.informers.ctx.Err() != nil {
			t.Errorf("%s: %s; informers: %v", name, got, s.informers.ctx.Err())
		}
	}
}

// Without the garbage collector's graph of owners, the first migration would end the process.
func TestMigratorNeedsTheGarbageCollector(t *testing.T) {
	s := newPreparedSupervisor(t, names.StorageVersionMigratorController)
	got := s.units[names.StorageVersionMigratorController].status()
	if got.State != Off || !strings.Contains(got.Reason, "needs the garbage collector") {
		t.Errorf("got %s, %q", got.State, got.Reason)
	}
	if err := s.startUnit(t.Context(), names.GarbageCollectorController, observe.Interventions{}); err != nil {
		t.Fatal(err)
	}
	if got := s.units[names.StorageVersionMigratorController].status(); got.State != Running {
		t.Errorf("with the garbage collector: %s, %q", got.State, got.Reason)
	}
}

// A migrator that is off for another reason does not keep the garbage collector from starting.
func TestGarbageCollectorStartsWithoutTheMigrator(t *testing.T) {
	featuregatetesting.SetFeatureGateDuringTest(t, utilfeature.DefaultFeatureGate, features.StorageVersionMigrator, false)
	s := newPreparedSupervisor(t, names.StorageVersionMigratorController)
	if got := s.units[names.StorageVersionMigratorController].status(); got.State != Off || got.Reason == needsCollector {
		t.Errorf("got %s, %q", got.State, got.Reason)
	}
	if err := s.startUnit(t.Context(), names.GarbageCollectorController, observe.Interventions{}); err != nil {
		t.Error(err)
	}
}

// A restore recreates the informers, also while the garbage collector is stopped.
func TestMigratorAfterTheInformersAreRecreated(t *testing.T) {
	s := newPreparedSupervisor(t, names.StorageVersionMigratorController, names.GarbageCollectorController)
	if err := s.units[names.GarbageCollectorController].stop(); err != nil {
		t.Fatal(err)
	}
	if err := s.renewInformers(); err != nil {
		t.Fatal(err)
	}
	if err := s.startUnit(t.Context(), names.StorageVersionMigratorController, observe.Interventions{}); err != nil {
		t.Error(err)
	}
	if s.informers.graph == nil {
		t.Error("the migrator has no graph of owners")
	}
}

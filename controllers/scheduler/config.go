package scheduler

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	goruntime "runtime"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	configv1 "k8s.io/kube-scheduler/config/v1"
	"k8s.io/kubernetes/cmd/kube-scheduler/app/options"
	schedulerconfig "k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/latest"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/validation"

	"github.com/ctrlplane/ctrlplane/internal/fileerror"
	"github.com/ctrlplane/ctrlplane/internal/limitread"
	"github.com/ctrlplane/ctrlplane/internal/oneline"
	"github.com/ctrlplane/ctrlplane/internal/upstreamflags"
	"github.com/ctrlplane/ctrlplane/internal/usage"
	"github.com/ctrlplane/ctrlplane/observe"
)

// Config configures a Scheduler.
type Config struct {
	// Connect returns a client configuration that acts as the given user.
	Connect func(who user.Info) *rest.Config
	// ConfigFile is a KubeSchedulerConfiguration; empty means upstream's defaults.
	ConfigFile string
	// Args are further flags of kube-scheduler, as name=value.
	Args []string
	// Logger receives the scheduler's log.
	Logger *slog.Logger
	// Recorder records the attempts to schedule Pods; nil turns recording off.
	Recorder *observe.Recorder
	// Totals is what the queues of all schedulers have counted that share it; nil if there is only one.
	Totals *Totals
	// Informers returns informers that the scheduler shares with others. Those of resource
	// hold only the objects for which keep is true, and handlers run from Start on. nil
	// means that the scheduler has its own.
	Informers func(resource schema.GroupVersionResource, keep func(obj any) bool) informers.SharedInformerFactory
	// WaitTurn is called with each Pod that the scheduler takes from its queue, before it
	// looks for a node; nil does nothing. It needs Recorder.
	WaitTurn func(context.Context)
}

// ownedFlags are upstream's flags that have no effect in one process or that a flag of
// ctrlplane sets.
var ownedFlags = upstreamflags.Owned{
	Sections: map[string]string{
		"secure serving":  "its endpoints are served by the API server",
		"authentication":  "its endpoints are served by the API server",
		"authorization":   "its endpoints are served by the API server",
		"leader election": "use --leader-elect",
		"feature gate":    "use --kube-apiserver-arg: the process has one set of gates and versions",
		"metrics":         "use --kube-apiserver-arg: the process has one registry of metrics",
		"logs":            "use --log-level, --log-format and -v",
	},
	Flags: map[string]string{
		"config":                "use --scheduler-config",
		"write-config-to":       "GET /configz returns the configuration in use",
		"feature-gates":         "use --feature-gates",
		"emulated-version":      "use --kubernetes",
		"kubeconfig":            "the scheduler calls the API server in-process",
		"master":                "the scheduler calls the API server in-process",
		"kube-api-burst":        "in-process calls have no rate limit",
		"kube-api-content-type": "the scheduler calls the API server in-process",
		"kube-api-qps":          "in-process calls have no rate limit",
		"profiling":             "use --kube-apiserver-arg: the API server serves the profiles of the process",
		"contention-profiling":  "use --kube-apiserver-arg: the API server serves the profiles of the process",
	},
}

// componentConfig returns upstream's configuration, and the longest time that a Pod
// may stay in the unschedulable queue.
func (c Config) componentConfig() (*schedulerconfig.KubeSchedulerConfiguration, time.Duration, error) {
	o := options.NewOptions()
	if err := upstreamflags.Set("--kube-scheduler-arg", *o.Flags, ownedFlags, c.Args); err != nil {
		return nil, 0, err
	}
	longest := o.Deprecated.PodMaxInUnschedulablePodsDuration
	if c.ConfigFile == "" {
		component, err := latest.Default()
		if err == nil {
			limitParallelism(component)
		}
		return component, longest, err
	}
	if limitread.IsStream(c.ConfigFile) {
		return nil, 0, c.configFileError(errors.New("the scheduler reads it each time it starts: save it in a file"))
	}
	component, err := options.LoadConfigFromFile(klog.Background(), c.ConfigFile)
	if err != nil {
		err = fileerror.WithoutPath(err) // configFileError names the file
		if runtime.IsNotRegisteredError(err) || runtime.IsMissingKind(err) || runtime.IsMissingVersion(err) {
			err = fmt.Errorf("not a scheduler configuration: write apiVersion: %s and kind: KubeSchedulerConfiguration", configv1.SchemeGroupVersion)
		}
		return nil, 0, c.configFileError(err)
	}
	if err := validation.ValidateKubeSchedulerConfiguration(component); err != nil {
		return nil, 0, c.configFileError(err)
	}
	if ignored := ignoredFields(component); len(ignored) > 0 {
		c.Logger.Warn("fields of the scheduler's configuration have no effect in one process",
			"file", c.ConfigFile, "fields", strings.Join(ignored, ", "))
	}
	return component, longest, nil
}

// ignoredFields names the fields that are set to something else than their default and have no
// effect in one process.
func ignoredFields(component *schedulerconfig.KubeSchedulerConfiguration) (names []string) {
	byDefault, err := latest.Default()
	if err != nil {
		return nil // what is set is not known
	}
	for _, f := range []struct {
		name     string
		is, that any
	}{
		{"clientConnection", component.ClientConnection, byDefault.ClientConnection},
		{"leaderElection", component.LeaderElection, byDefault.LeaderElection},
		{"enableProfiling, enableContentionProfiling", component.DebuggingConfiguration, byDefault.DebuggingConfiguration},
	} {
		if !reflect.DeepEqual(f.is, f.that) {
			names = append(names, f.name)
		}
	}
	return names
}

// limitParallelism has the scheduler look at nodes with no more goroutines than can run at
// the same time. Upstream's 16 are started in each of several steps for each Pod.
func limitParallelism(component *schedulerconfig.KubeSchedulerConfiguration) {
	component.Parallelism = min(component.Parallelism, int32(goruntime.GOMAXPROCS(0)))
}

// configFileError returns a usage error on one line that names the configuration
// file.
func (c Config) configFileError(err error) error {
	return usage.Errorf("--scheduler-config %s: %w", c.ConfigFile, oneline.Error(err))
}

package scheduler

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	configv1 "k8s.io/kube-scheduler/config/v1"
	"k8s.io/kubernetes/cmd/kube-scheduler/app/options"
	schedulerconfig "k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/latest"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/validation"

	"github.com/ctrlplane/ctrlplane/internal/upstreamflags"
	"github.com/ctrlplane/ctrlplane/internal/usage"
	"github.com/ctrlplane/ctrlplane/observe"
)

// Config says how the scheduler runs.
type Config struct {
	// Connect returns a client configuration that acts as the given user.
	Connect func(who user.Info) *rest.Config
	// ConfigFile is a KubeSchedulerConfiguration; empty = upstream's defaults.
	ConfigFile string
	// Args are further flags of kube-scheduler, as name=value.
	Args []string
	// Standby says that the scheduler may have to wait for another to end: until
	// it is started, it does not hold readiness up.
	Standby bool
	// Logger is where the scheduler writes.
	Logger *slog.Logger
	// Observe returns who takes down what the scheduler does; nil = nobody.
	Observe func(name string) *observe.Recorder
}

// ownedSections are the groups of upstream's flags that mean nothing in one
// process, or that a flag of ours sets, with what to do instead.
var ownedSections = map[string]string{
	"secure serving":  "its endpoints are served by the API server",
	"authentication":  "its endpoints are served by the API server",
	"authorization":   "its endpoints are served by the API server",
	"leader election": "use --leader-elect",
	"feature gate":    "use --kube-apiserver-arg: one set of gates and versions serves the process",
	"metrics":         "use --kube-apiserver-arg: one registry of metrics serves the process",
	"logs":            "use --log-level, --log-format and -v",
}

// ownedFlags are single flags of that kind.
var ownedFlags = map[string]string{
	"config":                "use --scheduler-config",
	"write-config-to":       "GET /configz has the configuration that is in use",
	"feature-gates":         "use --feature-gates",
	"kubeconfig":            "the scheduler calls the API server inside the process",
	"master":                "the scheduler calls the API server inside the process",
	"kube-api-burst":        "calls inside the process have no rate limit",
	"kube-api-content-type": "the scheduler calls the API server inside the process",
	"kube-api-qps":          "calls inside the process have no rate limit",
	"profiling":             "use --kube-apiserver-arg: the API server serves the profiles of the process",
	"contention-profiling":  "use --kube-apiserver-arg: the API server serves the profiles of the process",
}

// componentConfig turns the options into upstream's configuration, and how long a pod
// may at most stay in the unschedulable queue.
func (c Config) componentConfig() (*schedulerconfig.KubeSchedulerConfiguration, time.Duration, error) {
	o := options.NewOptions()
	if err := upstreamflags.Set("--kube-scheduler-arg", *o.Flags, ownedFlagTable(o), c.Args); err != nil {
		return nil, 0, err
	}
	longest := o.Deprecated.PodMaxInUnschedulablePodsDuration
	if c.ConfigFile == "" {
		component, err := latest.Default()
		return component, longest, err
	}
	component, err := options.LoadConfigFromFile(klog.Background(), c.ConfigFile)
	if err != nil {
		if path := new(fs.PathError); errors.As(err, &path) {
			err = path.Err // it would name the file twice
		}
		if runtime.IsNotRegisteredError(err) || runtime.IsMissingKind(err) || runtime.IsMissingVersion(err) {
			err = fmt.Errorf("no configuration of a scheduler: it begins with apiVersion: %s, kind: KubeSchedulerConfiguration", configv1.SchemeGroupVersion)
		}
		return nil, 0, c.configFileError(err)
	}
	if err := validation.ValidateKubeSchedulerConfiguration(component); err != nil {
		return nil, 0, c.configFileError(err)
	}
	if component.ClientConnection.Kubeconfig != "" {
		c.Logger.Info("clientConnection of the configuration is not used: the scheduler calls the API server inside the process",
			"file", c.ConfigFile)
	}
	return component, longest, nil
}

// configFileError says in one line that the configuration file is not usable.
func (c Config) configFileError(err error) error {
	return usage.Errorf("--scheduler-config %s: %s", c.ConfigFile, strings.Join(strings.Fields(err.Error()), " "))
}

func ownedFlagTable(o *options.Options) map[string]string {
	all := map[string]string{}
	for section, instead := range ownedSections {
		o.Flags.FlagSet(section).VisitAll(func(f *pflag.Flag) { all[f.Name] = instead })
	}
	for name, instead := range ownedFlags {
		all[name] = instead
	}
	return all
}

func (c Config) newRecorder() *observe.Recorder {
	if c.Observe == nil {
		return nil
	}
	return c.Observe(Name)
}

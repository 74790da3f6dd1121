package ctrlplane

import (
	"log/slog"
	"slices"

	"github.com/ctrlplane/ctrlplane/internal/logfile"
	"github.com/ctrlplane/ctrlplane/internal/manifests"
)

// EtcdConfig selects an etcd cluster to use instead of the embedded etcd. The zero
// value is the embedded one.
type EtcdConfig struct {
	// Endpoints are the URLs of the cluster's members; nil = the embedded etcd.
	Endpoints []string
	// CAFile, CertFile and KeyFile are PEM files for https endpoints; empty = the
	// system's certificate authorities, and no client certificate.
	CAFile, CertFile, KeyFile string
}

// APIServerConfig configures the API server.
type APIServerConfig struct {
	// FeatureGates is upstream's flag of that name, as Name=true|false with commas in
	// between; empty = upstream's defaults. Gates belong to the process: they apply to
	// all components, until Close.
	FeatureGates string
	// RuntimeConfig is upstream's flag of that name, as group/version=true|false with
	// commas in between; empty = upstream's defaults.
	RuntimeConfig string
	// Args are further flags of kube-apiserver, as name=value; nil = none.
	Args []string
}

// ControllersConfig configures the controllers.
type ControllersConfig struct {
	// Select lists the controllers to run in the syntax of upstream's --controllers:
	// "*", "name" and "-name"; nil = controllers.DefaultList.
	Select []string
	// LeaderElect makes the controllers run only while this process holds the lease,
	// for several processes on one etcd cluster.
	LeaderElect bool
	// Args are further flags of kube-controller-manager, as name=value; nil = none.
	Args []string
}

// SchedulerConfig configures the scheduler.
type SchedulerConfig struct {
	// Disabled runs no scheduler: other clients bind Pods to nodes.
	Disabled bool
	// ConfigFile holds a KubeSchedulerConfiguration; empty = upstream's defaults.
	ConfigFile string
	// Args are further flags of kube-scheduler, as name=value; nil = none.
	Args []string
}

// NodesConfig configures the simulated nodes.
type NodesConfig struct {
	// Count is how many simulated nodes there are at least; 0 = none. Those that a
	// data folder holds already are simulated again.
	Count int
	// CPU and Memory are the quantities that each node offers; empty = 32 and 256Gi.
	CPU, Memory string
	// Pods is how many Pods each node accepts; 0 = 110.
	Pods int
	// Labels are further labels of each node, as key=value; nil = none.
	Labels []string
	// Taints are the taints of each node, as key=value:Effect or key:Effect; nil = none.
	Taints []string
	// Zones is the number of zones that the nodes are spread over; 0 = 1.
	Zones int
	// NoMetrics does not serve metrics.k8s.io for simulated nodes and Pods: another
	// server may.
	NoMetrics bool
}

// NetworkConfig configures the address ranges of the cluster.
type NetworkConfig struct {
	// ServiceCIDR is the range of Service cluster IPs; empty = 10.96.0.0/12, as kubeadm.
	ServiceCIDR string
	// PodCIDR is the range that nodes get their Pod ranges from; empty = 10.128.0.0/9.
	PodCIDR string
	// LoadBalancerRange is where Services of type LoadBalancer get addresses from, as
	// CIDRs with commas in between; empty = cloud.DefaultRanges.
	LoadBalancerRange string
}

// ObserveConfig configures the Observer.
type ObserveConfig struct {
	// Records is how many records are kept, at most observe.MaxRecords;
	// 0 = observe.DefaultRecords. A negative number turns observation off; work queues
	// are still counted for /metrics.
	Records int
	// With is where other processes serve workqueue_* metrics, as URL or PROGRAM=URL; nil
	// = none. Their queues are observed, too: as those of the client of that program.
	With []string
	// ExcludeStart tells conflicts and failed syncs of the start of the control plane itself apart
	// from later ones: see observe.JournalStats.StartEnd. Before it applies manifests, Start waits
	// until that work has settled, most of a second, at most ten; if it has not, OnWarning says so.
	ExcludeStart bool
}

// LogConfig configures the log of all components: where it goes, how much of it, and
// in which format.
type LogConfig struct {
	// Path is the file, in an existing folder. It is created with mode 0600; an
	// existing file is appended to. At 16 MiB it is renamed to Path.1, and so on to Path.3.
	// Empty = ctrlplane.log in the data folder.
	Path string
	// Level is the lowest level that is written; nil = info.
	Level slog.Leveler
	// Verbosity is klog's: records that Kubernetes logs at V(n), which is slog level -n,
	// are written for n up to this one, whatever Level is; 0 = Level alone decides.
	Verbosity int
	// Format is LogText or LogJSON; empty = LogText.
	Format LogFormat
}

// LogFormat is the encoding of a record in the log.
type LogFormat = logfile.Format

// Each record is one line of key=value pairs, or one JSON object.
const (
	LogText LogFormat = logfile.Text
	LogJSON LogFormat = logfile.JSON
)

// ManifestText is YAML or JSON with objects to apply. Its fields are Name, a string for
// messages about it, and Data, its content as []byte.
type ManifestText = manifests.Text

// copyConfig returns a Server with the same configuration and nothing else, which
// later changes to s do not reach.
func (s *Server) copyConfig() *Server {
	c := &Server{
		Name: s.Name, Private: s.Private, Dir: s.Dir, Listen: s.Listen, Hosts: slices.Clone(s.Hosts),
		FromSnapshot: s.FromSnapshot, FromSnapshotData: slices.Clone(s.FromSnapshotData), Manifests: slices.Clone(s.Manifests), ManifestTexts: slices.Clone(s.ManifestTexts),
		Kubernetes: s.Kubernetes,
		Etcd:       s.Etcd, APIServer: s.APIServer, Controllers: s.Controllers, Scheduler: s.Scheduler,
		Nodes: s.Nodes, Network: s.Network, Observe: s.Observe,
		KeepGCSettings: s.KeepGCSettings, OnWarning: s.OnWarning, OnStage: s.OnStage,
	}
	for _, list := range []*[]string{
		&c.Etcd.Endpoints, &c.APIServer.Args, &c.Controllers.Select, &c.Controllers.Args,
		&c.Scheduler.Args, &c.Observe.With, &c.Nodes.Labels, &c.Nodes.Taints,
	} {
		*list = slices.Clone(*list)
	}
	if s.Log != nil {
		log := *s.Log
		c.Log = &log
	}
	return c
}

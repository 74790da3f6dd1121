package ctrlplane

import (
	"context"
	"errors"
	"sync"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/ctrlplane/ctrlplane/controllers"
	"github.com/ctrlplane/ctrlplane/internal/logfile"
)

// ErrRunning is why a second Server does not start beside a running one.
var ErrRunning = errors.New("a control plane runs in this process already: close it first (upstream's process-wide state allows one at a time)")

var errStarted = errors.New("ctrlplane: a Server starts once: use a new one")

// Server is a control plane in this process. Its fields may be set until
// Start. The zero value is an ephemeral one on a free loopback port.
type Server struct {
	// Name is what the kubeconfig calls the cluster; empty = "ctrlplane".
	Name string
	// Dir is the data folder; empty = a temporary one, without fsync, that
	// Close removes.
	Dir string
	// Listen is the address for clients from outside the process; empty =
	// "127.0.0.1:0". With port 0 it is the port that Dir had before, or a free one.
	Listen string
	// Hosts are further names and addresses that the serving certificate covers.
	Hosts []string

	// EtcdEndpoints are URLs of a cluster to use in place of an embedded etcd.
	EtcdEndpoints []string
	// EtcdCAFile, EtcdCertFile and EtcdKeyFile are for EtcdEndpoints.
	EtcdCAFile, EtcdCertFile, EtcdKeyFile string

	// Controllers selects the controllers as upstream's --controllers does;
	// nil = controllers.Default.
	Controllers []string
	// LeaderElect lets the controllers run only while this process holds the
	// lease, for several processes on one etcd cluster.
	LeaderElect bool
	// FeatureGates and RuntimeConfig are upstream's flags of these names. Gates
	// belong to the process: what one Start sets, the next one finds set.
	FeatureGates, RuntimeConfig string
	// APIServerArgs and ControllerManagerArgs are further upstream flags, as
	// name=value.
	APIServerArgs, ControllerManagerArgs []string
	// Nodes is how many simulated nodes there are at least; 0 = none. Those that a
	// data folder holds come back.
	Nodes int
	// NodeCPU and NodeMemory are quantities that each of them offers, NodePods is
	// how many Pods it takes; empty and 0 = 32, 256Gi and 110.
	NodeCPU, NodeMemory string
	NodePods            int
	// NodeLabels are further labels of each, as key=value, NodeTaints taints, as
	// key=value:Effect or key:Effect.
	NodeLabels, NodeTaints []string
	// NodeZones is over how many zones they spread; 0 = 1.
	NodeZones int

	// NoScheduler leaves it to others to say on which node a Pod runs.
	NoScheduler bool
	// SchedulerConfig is a file with a KubeSchedulerConfiguration; empty =
	// upstream's defaults. SchedulerArgs are further upstream flags, as name=value.
	SchedulerConfig string
	SchedulerArgs   []string
	// LoadBalancerRange is where Services of type LoadBalancer get addresses from,
	// CIDRs with commas between them; empty = cloud.DefaultRanges.
	LoadBalancerRange string
	// NoMetrics leaves it to others to serve metrics.k8s.io.
	NoMetrics bool
	// ServiceCIDR and PodCIDR are the ranges of Services and of nodes' Pods;
	// empty = 10.96.0.0/12 (kubeadm's default) and 10.128.0.0/9.
	ServiceCIDR, PodCIDR string

	// Manifests are files or folders of objects to apply once the API server is
	// ready, by server-side apply; if one is refused, Start fails.
	Manifests []string

	// FromSnapshot is a snapshot file that a new control plane starts from; Start fails if
	// the data folder or the etcd cluster holds one already. Empty = from nothing.
	FromSnapshot string

	// Records is how many records of what happened are kept (see Observer); 0 =
	// observe.DefaultRecords. A negative number turns observation off: the work
	// queues are still counted for /metrics.
	Records int

	// Log says where all components log; nil = nowhere. An empty Path is
	// ctrlplane.log in the data folder.
	Log *LogConfig
	// Verbosity is klog's: what upstream says at V(n) is logged up to this n.
	Verbosity int
	// OnWarning is told, in a line, of what does not stop the start but a
	// person should know.
	OnWarning func(string)
	// OnStage is told when a stage of the start begins and when it ends. Stages
	// overlap: it is called from several goroutines.
	OnStage func(Stage)

	mu      sync.Mutex
	current *controlPlane // nil before Start
}

// LogConfig says where and how components log.
type LogConfig = logfile.Config

// Stage is a part of the start.
type Stage struct {
	Name  string
	Ended bool // false when the stage begins
	Took  time.Duration
	Err   error
}

// Start returns when the API server is ready and the controllers run, or why
// not; then nothing is left behind. ctx bounds the start only.
func (s *Server) Start(ctx context.Context) error {
	s.mu.Lock()
	if s.current != nil {
		s.mu.Unlock()
		return errStarted
	}
	p := newControlPlane(s)
	s.current = p
	s.mu.Unlock()
	if err := p.start(ctx); err != nil {
		return errors.Join(err, p.close(err))
	}
	return nil
}

// Close ends the control plane and returns when all of it has ended. It is
// idempotent; closing a Server that was not started does nothing.
func (s *Server) Close() error {
	if p := s.instance(); p != nil {
		return p.close(nil)
	}
	return nil
}

func (s *Server) instance() *controlPlane {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.current
}

// Done is closed when the control plane has ended, by Close or by itself. It is
// nil before Start.
func (s *Server) Done() <-chan struct{} {
	if p := s.instance(); p != nil {
		return p.done
	}
	return nil
}

// Err says why the control plane ended by itself; nil while it runs and after Close.
func (s *Server) Err() error {
	p := s.instance()
	if p == nil {
		return nil
	}
	select {
	case <-p.done:
		return p.cause
	default:
		return nil
	}
}

// RESTConfig returns the administrator's way in, over HTTPS, without a
// client-side rate limit; nil before Start has returned.
func (s *Server) RESTConfig() *rest.Config {
	p := s.instance()
	if p == nil || p.kubeconfig == nil {
		return nil
	}
	return p.adminConfig()
}

func (p *controlPlane) adminConfig() *rest.Config {
	cfg, err := clientcmd.NewDefaultClientConfig(*p.kubeconfig, nil).ClientConfig()
	if err != nil {
		panic("ctrlplane: our own kubeconfig: " + err.Error())
	}
	cfg.QPS = -1
	return cfg
}

// Kubeconfig returns the administrator's kubeconfig file, with its keys; nil
// before Start has returned.
func (s *Server) Kubeconfig() []byte {
	p := s.instance()
	if p == nil || p.kubeconfig == nil {
		return nil
	}
	data, err := clientcmd.Write(*p.kubeconfig)
	if err != nil {
		panic("ctrlplane: our own kubeconfig: " + err.Error())
	}
	return data
}

// KubeconfigObject is Kubeconfig before it is written out.
func (s *Server) KubeconfigObject() *clientcmdapi.Config {
	if p := s.instance(); p != nil && p.kubeconfig != nil {
		return p.kubeconfig.DeepCopy()
	}
	return nil
}

// URL is the address of the API server; empty before Start has returned.
func (s *Server) URL() string {
	if p := s.instance(); p != nil {
		return p.url
	}
	return ""
}

// DataDir is the folder that the control plane keeps its files in.
func (s *Server) DataDir() string {
	if p := s.instance(); p != nil && p.dir != nil {
		return p.dir.Path()
	}
	return ""
}

// LogPath is the file that all components log to; empty if there is none.
func (s *Server) LogPath() string {
	p := s.instance()
	switch {
	case s.Log == nil || p == nil || p.dir == nil:
		return ""
	case s.Log.Path != "":
		return s.Log.Path
	}
	return p.dir.Join(LogFile)
}

// ControllerStatuses returns the status of every controller, by name; nil before Start.
func (s *Server) ControllerStatuses() []controllers.Status {
	if p := s.instance(); p != nil && p.supervisor != nil {
		return p.supervisor.Statuses()
	}
	return nil
}

package ctrlplane

import (
	"context"
	"errors"
	"sync"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/ctrlplane/ctrlplane/control"
	"github.com/ctrlplane/ctrlplane/controllers"
	"github.com/ctrlplane/ctrlplane/internal/upstreamversion"
	"github.com/ctrlplane/ctrlplane/internal/usage"
	"github.com/ctrlplane/ctrlplane/observe"
	"github.com/ctrlplane/ctrlplane/sim/nodes"
)

var (
	// ErrRunning is returned by Start while another Server runs in the process.
	ErrRunning = errors.New("another control plane is running in this process: close it first (Kubernetes has process-wide state)")
	// ErrStarted is returned by Start of a Server that was started before.
	ErrStarted = errors.New("ctrlplane: a Server can be started once: use a new one")
)

var (
	errNotStarted = errors.New("the control plane is not started: call Start first")
	errEnded      = errors.New("the control plane has ended: start a new Server")
	errClosed     = errors.New("the Server was closed")
)

// UsageError is an error in a Server's fields, with which another start cannot succeed, or in
// what one of its methods was given. To recognize it, use errors.As with a variable of this type.
type UsageError = usage.Error

// Server is a control plane in this process. Set its fields before Start, which
// copies them: later changes have no effect. The zero value is an ephemeral control
// plane without nodes, on a free loopback port. Methods may be called from any
// goroutine.
type Server struct {
	// Name of the control plane; the context in the kubeconfig is "ctrlplane-" and the
	// name. Empty = no name, and the context "ctrlplane".
	Name string
	// Private keeps the control plane out of the sight of commands that name none:
	// "ctrlplane status" takes it only by name, by folder, or in the environment of
	// "ctrlplane run".
	Private bool
	// Dir is the data folder; empty = a temporary one, written without fsync, that
	// Close removes.
	Dir string
	// Listen is the address for clients outside the process; empty = "127.0.0.1:0".
	// Port 0 is the port that Dir had at the last start, or a free one.
	Listen string
	// Hosts are further names and addresses in the serving certificate; nil = none.
	Hosts []string
	// FromSnapshot is a snapshot file with the initial state of a new control plane;
	// Start fails if the data folder or the etcd cluster holds one already. Empty = no
	// objects but Kubernetes' own.
	FromSnapshot string
	// FromSnapshotData is the content of such a file, in place of FromSnapshot; nil = none.
	FromSnapshotData []byte
	// Manifests are files or folders, without their subfolders, of objects to apply by
	// server-side apply once the API server is ready; Start fails if one is rejected.
	// nil = none.
	Manifests []string
	// ManifestTexts are further objects to apply, as the content of files; nil = none.
	ManifestTexts []ManifestText
	// Kubernetes is the minor version of Kubernetes to emulate, one of
	// KubernetesVersions, for all components; empty = the one that Dir had at the last
	// start, or that of KubernetesVersion.
	Kubernetes string

	Etcd        EtcdConfig
	APIServer   APIServerConfig
	Controllers ControllersConfig
	Scheduler   SchedulerConfig
	Nodes       NodesConfig
	Network     NetworkConfig
	Observe     ObserveConfig

	// Log configures the log of all components; nil = none. An empty Path is
	// ctrlplane.log in the data folder.
	Log *LogConfig
	// KeepGCSettings leaves the garbage collector's settings and the memory of the
	// process alone: see "Process-wide effects" in the package comment.
	KeepGCSettings bool
	// OnWarning receives one line about a problem that does not stop the start, and later
	// about the disk, the database and the data folder; nil = warnings are only logged. It
	// must not block.
	OnWarning func(string)
	// OnStage is called when a stage of the start begins and when it ends; nil = not
	// reported. Stages overlap: it is called from several goroutines. It must not call
	// Close.
	OnStage func(Stage)

	mu      sync.Mutex
	current *controlPlane // nil before Start
}

// Stage is a part of the start.
type Stage struct {
	Name  string
	Ended bool // false when the stage begins
	Took  time.Duration
	Err   error
}

// Start returns when the API server is ready, the controllers run and the nodes
// exist, or are refused by a webhook: then OnWarning says so. If the start fails, it
// returns the reason and leaves nothing behind. ctx bounds the start only.
//
// A Server can be started once: every further Start returns ErrStarted, after Close and after a
// start that failed, too. Only after ErrRunning can it be called again.
func (s *Server) Start(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	p, err := s.newInstance(ctx, cancel)
	if err != nil {
		return err
	}
	defer close(p.startEnded)
	if err := p.start(ctx); err != nil {
		return errors.Join(err, p.close(err))
	}
	return nil
}

func (s *Server) newInstance(ctx context.Context, cancelStart context.CancelCauseFunc) (*controlPlane, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current != nil {
		return nil, ErrStarted
	}
	if err := s.checkFields(); err != nil {
		return nil, err
	}
	if err := upstreamversion.Check(); err != nil {
		return nil, err
	}
	release, err := claimProcess()
	if err != nil {
		return nil, err
	}
	p := newControlPlane(s.copyConfig())
	p.startCanceled, p.cancelStart = ctx.Done(), cancelStart
	p.onClose(release)
	p.startObserver() // before any other goroutine can ask for it
	s.current = p
	return p, nil
}

// Close ends the control plane and returns when all of it has ended. It interrupts a
// Start that is running, is idempotent, and does nothing before Start.
func (s *Server) Close() error {
	p := s.currentInstance()
	if p == nil {
		return nil
	}
	p.cancelStart(errClosed)
	<-p.startEnded
	err := p.close(nil)
	p.watcher.Wait()
	return err
}

func (s *Server) currentInstance() *controlPlane {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.current
}

// readyInstance returns nil before Start has succeeded.
func (s *Server) readyInstance() *controlPlane {
	if p := s.currentInstance(); p != nil && p.ready.Load() {
		return p
	}
	return nil
}

// runningInstance returns an error, with what to do, before Start has succeeded and after the end.
func (s *Server) runningInstance() (*controlPlane, error) {
	p := s.currentInstance()
	if p == nil {
		return nil, errNotStarted
	}
	select {
	case <-p.done:
		return nil, errEnded
	default:
	}
	if !p.ready.Load() {
		return nil, control.ErrNotReady
	}
	return p, nil
}

// Done is closed when the control plane has ended, because of Close or of a failure.
// It is nil before Start.
func (s *Server) Done() <-chan struct{} {
	if p := s.currentInstance(); p != nil {
		return p.done
	}
	return nil
}

// Err returns the failure that has ended the control plane; nil while it runs and
// after Close.
func (s *Server) Err() error {
	p := s.currentInstance()
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

// StartFailed reports whether the start fails or has failed. It is known before Start returns: as soon
// as the start is interrupted, or a part of it has failed. A function for klog.OsExit needs it: see
// "Process-wide effects" in the package comment.
func (s *Server) StartFailed() bool {
	p := s.currentInstance()
	if p == nil || p.ready.Load() {
		return false
	}
	select {
	case <-p.startCanceled:
		return true
	default:
		return p.stepFailed.Load()
	}
}

// RESTConfig returns the administrator's client configuration, over HTTPS and
// without a client-side rate limit; nil before Start has succeeded.
func (s *Server) RESTConfig() *rest.Config {
	if p := s.readyInstance(); p != nil {
		return p.adminConfig()
	}
	return nil
}

func (p *controlPlane) adminConfig() *rest.Config {
	cfg, err := clientcmd.NewDefaultClientConfig(*p.kubeconfig, nil).ClientConfig()
	if err != nil {
		panic("ctrlplane: our own kubeconfig: " + err.Error())
	}
	cfg.QPS = -1
	return cfg
}

// Kubeconfig returns the administrator's kubeconfig file, with its keys; nil before
// Start has succeeded.
func (s *Server) Kubeconfig() []byte {
	p := s.readyInstance()
	if p == nil {
		return nil
	}
	data, err := clientcmd.Write(*p.kubeconfig)
	if err != nil {
		panic("ctrlplane: our own kubeconfig: " + err.Error())
	}
	return data
}

// KubeconfigObject returns what Kubeconfig returns before it is encoded.
func (s *Server) KubeconfigObject() *clientcmdapi.Config {
	if p := s.readyInstance(); p != nil {
		return p.kubeconfig.DeepCopy()
	}
	return nil
}

// URL returns the address of the API server; empty before Start has succeeded.
func (s *Server) URL() string {
	if p := s.readyInstance(); p != nil {
		return p.url
	}
	return ""
}

// DataDir returns the folder that holds the control plane's files; empty until
// the start has opened it.
func (s *Server) DataDir() string {
	if p := s.currentInstance(); p != nil {
		return p.dataDirPath()
	}
	return ""
}

// LogPath returns the file that all components log to; empty without a log, and
// until the start has opened the data folder.
func (s *Server) LogPath() string {
	if p := s.currentInstance(); p != nil && p.config.Log != nil && p.dataDirPath() != "" {
		return p.logPath()
	}
	return ""
}

// ControllerStatuses returns the status of every controller, by name; nil before
// Start has succeeded.
func (s *Server) ControllerStatuses() []controllers.Status {
	if p := s.readyInstance(); p != nil {
		return p.supervisor.Statuses()
	}
	return nil
}

// Observer returns what is known of this control plane and of what happened in it;
// nil before Start. It can be read after Close. Only read from it, with Snapshot,
// SnapshotWithKeys, Records and Wait: its other methods belong to the control plane.
func (s *Server) Observer() *observe.Observer {
	if p := s.currentInstance(); p != nil {
		return p.observer
	}
	return nil
}

// NotRun returns what the Pods on simulated nodes have not run since Start, though their containers have started: programs
// that are not simulated, and probes that were not made. It has up to 1,000 objects, with up to 16 each, shortened to 100 bytes; more means that there are others.
func (s *Server) NotRun() (list []NotRunPrograms, more bool) {
	if p := s.currentInstance(); p != nil {
		return p.notRun.List()
	}
	return nil, false
}

// NotRunPrograms is what the Pods of an object have not run. Its fields are those of the object, Kind, Namespace and Name,
// and Programs: command lines, "image NAME" for the program of an image, and such as "readiness probe".
type NotRunPrograms = nodes.NotRunPrograms

// Interventions returns what pauses, steps, delays, fails, stops and scales the
// controllers while they run; nil before Start has succeeded.
func (s *Server) Interventions() control.Interventions {
	if p := s.readyInstance(); p != nil {
		return p.interventions()
	}
	return nil
}

// ClientInterventions returns the same for the programs outside of the process that use
// the API server. These cannot be stopped, started or scaled.
func (s *Server) ClientInterventions() control.Interventions {
	if p := s.readyInstance(); p != nil {
		return p.clients.Interventions()
	}
	return nil
}

// SaveSnapshot returns the state as a snapshot file: see control.Snapshots.
func (s *Server) SaveSnapshot(ctx context.Context) ([]byte, error) {
	p, err := s.runningInstance()
	if err != nil {
		return nil, err
	}
	return p.snapshots.Save(ctx)
}

// RestoreSnapshot restores the state in a snapshot file: see control.Snapshots.
func (s *Server) RestoreSnapshot(ctx context.Context, file []byte) (control.RestoreResult, error) {
	p, err := s.runningInstance()
	if err != nil {
		return control.RestoreResult{}, err
	}
	return p.snapshots.Restore(ctx, file)
}

// Reset restores the state right after the start: that before the first change from outside of the
// process, or that when the controllers had done their first work, whichever was earlier, but at
// most 10 s after the start.
func (s *Server) Reset(ctx context.Context) (control.RestoreResult, error) {
	p, err := s.runningInstance()
	if err != nil {
		return control.RestoreResult{}, err
	}
	return p.snapshots.Reset(ctx)
}

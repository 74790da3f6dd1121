package ctrlplane

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	netutils "k8s.io/utils/net"

	"github.com/ctrlplane/ctrlplane/apiserver"
	"github.com/ctrlplane/ctrlplane/apiserver/loopback"
	"github.com/ctrlplane/ctrlplane/apiserver/pki"
	"github.com/ctrlplane/ctrlplane/control"
	controlrest "github.com/ctrlplane/ctrlplane/control/rest"
	"github.com/ctrlplane/ctrlplane/controllers"
	"github.com/ctrlplane/ctrlplane/controllers/scheduler"
	"github.com/ctrlplane/ctrlplane/internal/datadir"
	"github.com/ctrlplane/ctrlplane/internal/logfile"
	"github.com/ctrlplane/ctrlplane/internal/manifests"
	"github.com/ctrlplane/ctrlplane/internal/usage"
	"github.com/ctrlplane/ctrlplane/observe"
	"github.com/ctrlplane/ctrlplane/sim/kubelet"
	"github.com/ctrlplane/ctrlplane/sim/volumes"
)

// controlPlane is a control plane that starts, runs or has ended: the parts of a Server.
type controlPlane struct {
	config *Server
	log    *slog.Logger // set before anything that runs beside the start

	closers   []func() error // in the order of the start; run backwards
	closeOnce sync.Once
	closing   chan struct{} // closed when end begins
	closeErr  error
	done      chan struct{} // closed when end is over
	cause     error         // final when done is closed

	started          bool        // the start has succeeded
	ready            atomic.Bool // the same, for other goroutines: nothing below changes any more
	observer         *observe.Observer
	dir              *datadir.Dir
	certs            *pki.Bundle
	apiHandler       *loopback.DeferredHandler // the API server's handler
	etcd             *etcdStarter
	api              *apiserver.Server
	supervisor       *controllers.Supervisor
	runningScheduler atomic.Pointer[scheduler.Scheduler] // nil unless it runs
	nodes            *nodeSimulation
	snapshots        *snapshotService
	lease            *lease // nil without leader election
	kubeconfig       *clientcmdapi.Config
	url              string
}

func newControlPlane(s *Server) *controlPlane {
	p := &controlPlane{config: s, apiHandler: loopback.NewDeferredHandler(), log: slog.New(slog.DiscardHandler), closing: make(chan struct{}), done: make(chan struct{})}
	p.nodes = &nodeSimulation{owner: p}
	p.snapshots = &snapshotService{owner: p}
	return p
}

// start is the order of the start. Each step leaves its closer before the next
// begins; end runs them backwards.
func (p *controlPlane) start(ctx context.Context) error {
	release, err := claimProcess()
	if err != nil {
		return err
	}
	p.onClose(release)
	p.startObserver()
	settle := raiseGCPercent()
	p.onClose(func() error { settle(); return nil })
	steps := []startStep{
		{"data folder", p.openDataDir},              // and the log in it
		{"certificates", p.ensureCertificates},      // the options name their files
		{"options", p.checkOptions},                 // before anything is served
		{"API server", p.startAPIServer},            // serves when this ends; not ready yet
		{"controllers", p.startControllersAndNodes}, // and nodes beside them
		{"readiness", p.waitReady},
		{"kubeconfig", p.publishKubeconfig},
	}
	if len(p.config.Manifests) > 0 {
		objects, err := manifests.Load(p.config.Manifests)
		if err != nil {
			return err
		}
		steps = append(steps, startStep{"manifests", func(ctx context.Context) error {
			return manifests.Apply(ctx, p.adminConfig(), objects)
		}})
	}
	for i, step := range steps {
		if err := p.runStage(step.name, func() error { return step.run(ctx) }); err != nil {
			return p.explainStartError(ctx, err)
		}
		if i == 0 {
			p.startEtcd() // goes on beside the next three
		}
	}
	settle()
	p.started = true
	p.ready.Store(true)
	if err := p.snapshots.recordStartRevision(ctx); err != nil {
		p.warn("reset will not work: " + err.Error())
	}
	go p.governMemory()
	p.watchComponents()
	return nil
}

type startStep struct {
	name string
	run  func(context.Context) error
}

// runStage runs a step of the start and tells what became of it.
func (p *controlPlane) runStage(name string, run func() error) error {
	began := time.Now()
	p.reportStage(Stage{Name: name})
	err := run()
	p.reportStage(Stage{Name: name, Ended: true, Took: time.Since(began), Err: err})
	step := &observe.BootStep{Step: name, Took: time.Since(began)}
	if err != nil {
		step.Error = err.Error()
	}
	p.observer.Append(step)
	p.log.Info("start", "stage", name, "took", time.Since(began), "err", err)
	return err
}

func (p *controlPlane) reportStage(s Stage) {
	if p.config.OnStage != nil {
		p.config.OnStage(s)
	}
}

// onClose adds what end is to undo.
func (p *controlPlane) onClose(undo func() error) { p.closers = append(p.closers, undo) }

func (p *controlPlane) openDataDir(context.Context) (err error) {
	if p.config.Dir == "" {
		p.dir, err = datadir.OpenTemp()
	} else {
		p.dir, err = datadir.Open(p.config.Dir, dataVersion)
	}
	if err != nil {
		return err
	}
	p.onClose(p.closeDataDir)
	if err := p.dir.CleanupError(); err != nil {
		p.warn(err.Error())
	}
	if err := p.clearAddress(); err != nil {
		return err
	}
	if err := p.placeInitialSnapshot(); err != nil {
		return err
	}
	return p.openLog()
}

// closeDataDir leaves nothing half-made behind.
func (p *controlPlane) closeDataDir() error {
	if !p.started {
		return p.dir.Discard()
	}
	return p.dir.Close()
}

func (p *controlPlane) openLog() error {
	if p.config.Log == nil {
		return nil
	}
	cfg := *p.config.Log
	if cfg.Path == "" {
		cfg.Path = p.dir.Join(LogFile)
	}
	level := slog.LevelInfo
	if cfg.Level != nil {
		level = cfg.Level.Level()
	}
	cfg.Level = min(level, slog.Level(-p.config.Verbosity))
	file, err := logfile.Open(cfg)
	if err != nil {
		return err
	}
	p.onClose(file.Close)
	p.log = slog.New(file.Handler())
	return setKlog(p.log.Handler(), p.config.Verbosity)
}

func (p *controlPlane) warn(msg string) {
	p.log.Warn(msg)
	if p.config.OnWarning != nil {
		p.config.OnWarning(msg)
	}
}

func (p *controlPlane) ensureCertificates(context.Context) (err error) {
	host, _, err := net.SplitHostPort(p.listenAddress())
	if err != nil {
		return usage.Errorf("listen address %q: %w: write HOST:PORT", p.config.Listen, err)
	}
	cfg := pki.Config{Dir: p.dir.Join("pki"), NoSync: p.dir.Ephemeral()}
	for _, name := range append([]string{host}, p.config.Hosts...) {
		if ip := net.ParseIP(name); ip != nil {
			cfg.IPs = append(cfg.IPs, ip)
		} else {
			cfg.DNSNames = append(cfg.DNSNames, name)
		}
	}
	primary, _, _ := strings.Cut(p.serviceCIDR(), ",") // a second one is for dual stack
	_, services, err := net.ParseCIDR(primary)
	if err != nil {
		return usage.Errorf("service CIDR: %w", err)
	}
	first, err := netutils.GetIndexedIP(services, 1) // where Pods would find the API server
	if err != nil {
		return usage.Errorf("service CIDR: %w", err)
	}
	cfg.IPs = append(cfg.IPs, first)
	p.certs, err = pki.Ensure(cfg)
	return err
}

func (p *controlPlane) checkOptions(context.Context) (err error) {
	for _, cidr := range strings.Split(p.podCIDR(), ",") {
		if _, _, err := net.ParseCIDR(cidr); err != nil {
			return usage.Errorf("pod CIDR: %w", err)
		}
	}
	if err := p.apiServerConfig().CheckFlags(); err != nil {
		return err
	}
	if err := p.nodesConfig().Check(); err != nil {
		return err
	}
	extra, err := p.extraControllers()
	if err != nil {
		return err
	}
	p.supervisor, err = controllers.New(controllers.Config{
		List:              p.config.Controllers,
		Extra:             extra,
		Args:              p.config.ControllerManagerArgs,
		CACert:            p.certs.CACert,
		CAKey:             p.certs.CAKey,
		ServiceAccountKey: p.certs.ServiceAccountKey,
		PodCIDR:           p.podCIDR(),
		ServiceCIDR:       p.serviceCIDR(),
		Standby:           p.config.LeaderElect,
		SingleAPIServer:   !p.config.LeaderElect && len(p.config.EtcdEndpoints) == 0,
		Logger:            p.log,
		Recorder:          p.recorder,
		Connect:           p.clientConfig,
	})
	return err
}

// clientConfig returns a client configuration for callers inside the process, whose
// requests wait until there is an API server.
func (p *controlPlane) clientConfig(who user.Info) *rest.Config {
	return loopback.ClientConfig(p.apiHandler, who)
}

func (p *controlPlane) apiServerConfig() apiserver.Config {
	role, binding := volumes.Policy()
	return apiserver.Config{
		Handler:       p.apiHandler,
		PKI:           p.certs,
		ServiceCIDR:   p.serviceCIDR(),
		FeatureGates:  p.config.FeatureGates,
		RuntimeConfig: p.config.RuntimeConfig,
		Args:          p.config.APIServerArgs,
		NoMetrics:     p.config.NoMetrics,
		Grants:        []apiserver.Grant{{Role: role, Binding: binding}},
	}
}

func (p *controlPlane) startAPIServer(ctx context.Context) error {
	listener, err := p.openListener(ctx)
	if err != nil {
		return err
	}
	cfg := p.apiServerConfig()
	cfg.Listener = listener
	cfg.ReadyChecks, cfg.LiveChecks = p.supervisor.HealthChecks()
	if cfg.Etcd, err = p.etcd.apiServerEtcd(ctx); err != nil {
		listener.Close()
		return err
	}
	kubelets, err := kubelet.New(kubelet.Config{CACert: p.certs.CACert, CAKey: p.certs.CAKey, Logger: p.log.With("component", kubeletName)})
	if err != nil {
		listener.Close()
		return err
	}
	cfg.DialKubelet = kubelets.Dialer
	prepared := make(chan error, 1)
	go func() { prepared <- p.prepareControllers() }()
	start := func() { p.api, err = apiserver.Start(ctx, cfg) }
	if by := p.recorder(apiServerName); by != nil {
		by.Do(start)
	} else {
		start()
	}
	if failed := <-prepared; err == nil {
		err = failed
	}
	if p.api != nil {
		p.onClose(p.api.Close)
	}
	p.onClose(p.supervisor.Close)
	if err != nil {
		listener.Close()
		return err
	}
	client, err := kubernetes.NewForConfig(p.nodesConfig().Connect("kubelet"))
	if err != nil {
		return err
	}
	kubelets.Start(client)
	p.onClose(kubelets.Close)
	p.api.Handle(controllers.DebugPath, p.supervisor)
	p.api.Handle(controlrest.Path, controlrest.Handler(controlrest.Services{Controllers: p.listControllers, Source: p.observer, Nodes: p.nodes, Interventions: p.supervisor.Interventions(), Snapshots: p.snapshots, Flags: p.supervisor.Flags}))
	p.url = "https://" + localAddress(listener.Addr())
	return nil
}

// listControllers is what control serves of the supervisor's knowledge.
func (p *controlPlane) listControllers() []control.Controller {
	var list []control.Controller
	for _, u := range p.supervisor.Statuses() {
		if u.State == controllers.Off && u.Reason == "" {
			u.Reason = "not started: another process holds the lease, or this one is starting"
		}
		list = append(list, control.Controller{Name: u.Name, Aliases: u.Aliases, State: string(u.State), Reason: u.Reason})
	}
	return list
}

// prepareControllers does what can be done of their start while the API server is
// assembled, which keeps one core busy.
func (p *controlPlane) prepareControllers() error {
	if p.config.LeaderElect {
		return nil // another process may lead for ever
	}
	return p.supervisor.Prepare()
}

// startControllersAndNodes makes the nodes while the controllers start. A leader's are made once
// it leads.
func (p *controlPlane) startControllersAndNodes(ctx context.Context) error {
	if p.config.Nodes == 0 || p.config.LeaderElect {
		return p.startControllers(ctx)
	}
	both, ctx := errgroup.WithContext(ctx)
	both.Go(func() error { return p.startControllers(ctx) })
	both.Go(func() error {
		if err := p.api.WaitServing(ctx); err != nil {
			return err
		}
		return p.runStage("nodes", func() error { return p.startNodes(ctx) })
	})
	return both.Wait()
}

func (p *controlPlane) startControllers(ctx context.Context) error {
	p.onClose(p.supervisor.Close)
	p.onClose(p.nodes.close)
	if p.config.LeaderElect {
		p.lease = newLease(p)
		p.onClose(p.lease.close)
		return p.lease.campaign(ctx)
	}
	return p.supervisor.Start(ctx, p.api)
}

func (p *controlPlane) waitReady(ctx context.Context) error { return p.api.WaitReady(ctx) }

// explainStartError prefers why a part has ended to what that did to the step that was
// under way.
func (p *controlPlane) explainStartError(ctx context.Context, err error) error {
	if p.etcd != nil {
		if cause := p.etcd.failure(); cause != nil {
			return cause
		}
	}
	if cause := context.Cause(ctx); cause != nil && errors.Is(err, ctx.Err()) {
		return fmt.Errorf("start was cut short: %w", cause)
	}
	return err
}

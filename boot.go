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

// plane is a control plane that starts, runs or has ended: the parts of a Server.
type plane struct {
	Server *Server
	log    *slog.Logger // set before anything that runs beside the start

	closers []func() error // in the order of the start; run backwards
	endOnce sync.Once
	ending  chan struct{} // closed when end begins
	endErr  error
	done    chan struct{} // closed when end is over
	cause   error         // final when done is closed

	booted     bool        // the start has succeeded
	ready      atomic.Bool // the same, for other goroutines: nothing below changes any more
	observer   *observe.Observer
	dir        *datadir.Dir
	certs      *pki.Bundle
	itself     *loopback.Late // the API server's handler
	storage    *storage
	api        *apiserver.Server
	supervisor *controllers.Supervisor
	scheduling atomic.Pointer[scheduler.Scheduler] // nil unless it runs
	fleet      *fleet
	states     *states
	lease      *lease // nil without leader election
	kubeconfig *clientcmdapi.Config
	url        string
}

func newPlane(s *Server) *plane {
	p := &plane{Server: s, itself: loopback.NewLate(), log: slog.New(slog.DiscardHandler), ending: make(chan struct{}), done: make(chan struct{})}
	p.fleet = &fleet{plane: p}
	p.states = &states{plane: p}
	return p
}

// boot is the order of the start. Each step leaves its closer before the next
// begins; end runs them backwards.
func (p *plane) boot(ctx context.Context) error {
	release, err := claimProcess()
	if err != nil {
		return err
	}
	p.onEnd(release)
	p.startObserver()
	settle := relaxMemory()
	p.onEnd(func() error { settle(); return nil })
	steps := []step{
		{"data folder", p.openDir},       // and the log in it
		{"certificates", p.ensureCerts},  // the options name their files
		{"options", p.checkOptions},      // before anything is served
		{"API server", p.startAPIServer}, // serves when this ends; not ready yet
		{"controllers", p.startBoth},     // and nodes beside them
		{"readiness", p.waitReady},
		{"kubeconfig", p.writeDown},
	}
	if len(p.Server.Manifests) > 0 {
		objects, err := manifests.Load(p.Server.Manifests)
		if err != nil {
			return err
		}
		steps = append(steps, step{"manifests", func(ctx context.Context) error {
			return manifests.Apply(ctx, p.restConfig(), objects)
		}})
	}
	for i, step := range steps {
		if err := p.stage(step.name, func() error { return step.run(ctx) }); err != nil {
			return p.explain(ctx, err)
		}
		if i == 0 {
			p.startStorage() // goes on beside the next three
		}
	}
	settle()
	p.booted = true
	p.ready.Store(true)
	if err := p.states.note(ctx); err != nil {
		p.warn("reset will not work: " + err.Error())
	}
	go p.governMemory()
	p.watch()
	return nil
}

type step struct {
	name string
	run  func(context.Context) error
}

// stage runs a step of the start and tells what became of it.
func (p *plane) stage(name string, run func() error) error {
	began := time.Now()
	p.tell(Stage{Name: name})
	err := run()
	p.tell(Stage{Name: name, Ended: true, Took: time.Since(began), Err: err})
	step := &observe.BootStep{Step: name, Took: time.Since(began)}
	if err != nil {
		step.Error = err.Error()
	}
	p.observer.Append(step)
	p.log.Info("start", "stage", name, "took", time.Since(began), "err", err)
	return err
}

func (p *plane) tell(s Stage) {
	if p.Server.OnStage != nil {
		p.Server.OnStage(s)
	}
}

// onEnd adds what end is to undo.
func (p *plane) onEnd(undo func() error) { p.closers = append(p.closers, undo) }

func (p *plane) openDir(context.Context) (err error) {
	if p.Server.Dir == "" {
		p.dir, err = datadir.Temp()
	} else {
		p.dir, err = datadir.Open(p.Server.Dir, dataVersion)
	}
	if err != nil {
		return err
	}
	p.onEnd(p.closeDir)
	if err := p.dir.Leftover(); err != nil {
		p.warn(err.Error())
	}
	if err := p.forgetAddress(); err != nil {
		return err
	}
	if err := p.placeFrom(); err != nil {
		return err
	}
	return p.openLog()
}

// closeDir leaves nothing half-made behind.
func (p *plane) closeDir() error {
	if !p.booted {
		return p.dir.Discard()
	}
	return p.dir.Close()
}

func (p *plane) openLog() error {
	if p.Server.Log == nil {
		return nil
	}
	cfg := *p.Server.Log
	if cfg.Path == "" {
		cfg.Path = p.dir.Join(LogFile)
	}
	level := slog.LevelInfo
	if cfg.Level != nil {
		level = cfg.Level.Level()
	}
	cfg.Level = min(level, slog.Level(-p.Server.Verbosity))
	file, err := logfile.Open(cfg)
	if err != nil {
		return err
	}
	p.onEnd(file.Close)
	p.log = slog.New(file.Handler())
	return setKlog(p.log.Handler(), p.Server.Verbosity)
}

func (p *plane) warn(msg string) {
	p.log.Warn(msg)
	if p.Server.OnWarning != nil {
		p.Server.OnWarning(msg)
	}
}

func (p *plane) ensureCerts(context.Context) (err error) {
	host, _, err := net.SplitHostPort(p.listenAddress())
	if err != nil {
		return usage.Errorf("listen address %q: %w: write HOST:PORT", p.Server.Listen, err)
	}
	cfg := pki.Config{Dir: p.dir.Join("pki"), NoSync: p.dir.Ephemeral()}
	for _, name := range append([]string{host}, p.Server.Hosts...) {
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

func (p *plane) checkOptions(context.Context) (err error) {
	for _, cidr := range strings.Split(p.podCIDR(), ",") {
		if _, _, err := net.ParseCIDR(cidr); err != nil {
			return usage.Errorf("pod CIDR: %w", err)
		}
	}
	if err := p.apiConfig().CheckFlags(); err != nil {
		return err
	}
	if err := p.fleetConfig().Check(); err != nil {
		return err
	}
	extra, err := p.extras()
	if err != nil {
		return err
	}
	p.supervisor, err = controllers.New(controllers.Config{
		List:              p.Server.Controllers,
		Extra:             extra,
		Args:              p.Server.ControllerManagerArgs,
		CACert:            p.certs.CACert,
		CAKey:             p.certs.CAKey,
		ServiceAccountKey: p.certs.ServiceAccountKey,
		PodCIDR:           p.podCIDR(),
		ServiceCIDR:       p.serviceCIDR(),
		Standby:           p.Server.LeaderElect,
		Alone:             !p.Server.LeaderElect && len(p.Server.EtcdEndpoints) == 0,
		Logger:            p.log,
		Observe:           p.recorder,
		Connect:           p.connect,
	})
	return err
}

// connect returns a client configuration for callers inside the process, whose
// requests wait until there is an API server.
func (p *plane) connect(who user.Info) *rest.Config { return loopback.Config(p.itself, who) }

func (p *plane) apiConfig() apiserver.Config {
	role, binding := volumes.Policy()
	return apiserver.Config{
		Itself:        p.itself,
		PKI:           p.certs,
		ServiceCIDR:   p.serviceCIDR(),
		FeatureGates:  p.Server.FeatureGates,
		RuntimeConfig: p.Server.RuntimeConfig,
		Args:          p.Server.APIServerArgs,
		NoMetrics:     p.Server.NoMetrics,
		Grants:        []apiserver.Grant{{Role: role, Binding: binding}},
	}
}

func (p *plane) startAPIServer(ctx context.Context) error {
	listener, err := p.listen(ctx)
	if err != nil {
		return err
	}
	cfg := p.apiConfig()
	cfg.Listener = listener
	cfg.Ready, cfg.Alive = p.supervisor.Checks()
	if cfg.Etcd, err = p.storage.forAPIServer(ctx); err != nil {
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
		p.onEnd(p.api.Close)
	}
	p.onEnd(p.supervisor.Close)
	if err != nil {
		listener.Close()
		return err
	}
	client, err := kubernetes.NewForConfig(p.fleetConfig().Connect("kubelet"))
	if err != nil {
		return err
	}
	kubelets.Start(client)
	p.onEnd(kubelets.Close)
	p.api.Handle(controllers.DebugPath, p.supervisor)
	p.api.Handle(control.Path, control.Handler(control.Plane{Controllers: p.controllers, Source: p.observer, Nodes: p.fleet, Gates: p.supervisor.Gates(), Snapshots: p.states, Flags: p.supervisor.Flags}))
	p.url = "https://" + reachable(listener.Addr())
	return nil
}

// controllers is what control serves of the supervisor's knowledge.
func (p *plane) controllers() []control.Controller {
	var list []control.Controller
	for _, u := range p.supervisor.Units() {
		if u.State == controllers.Off && u.Reason == "" {
			u.Reason = "not started: another process holds the lease, or this one is starting"
		}
		list = append(list, control.Controller{Name: u.Name, Aliases: u.Aliases, State: string(u.State), Reason: u.Reason})
	}
	return list
}

// prepareControllers does what can be done of their start while the API server is
// assembled, which keeps one core busy.
func (p *plane) prepareControllers() error {
	if p.Server.LeaderElect {
		return nil // another process may lead for ever
	}
	return p.supervisor.Prepare()
}

// startBoth makes the nodes while the controllers start. A leader's are made once
// it leads.
func (p *plane) startBoth(ctx context.Context) error {
	if p.Server.Nodes == 0 || p.Server.LeaderElect {
		return p.startControllers(ctx)
	}
	both, ctx := errgroup.WithContext(ctx)
	both.Go(func() error { return p.startControllers(ctx) })
	both.Go(func() error {
		if err := p.api.WaitServing(ctx); err != nil {
			return err
		}
		return p.stage("nodes", func() error { return p.startNodes(ctx) })
	})
	return both.Wait()
}

func (p *plane) startControllers(ctx context.Context) error {
	p.onEnd(p.supervisor.Close)
	p.onEnd(p.fleet.close)
	if p.Server.LeaderElect {
		p.lease = newLease(p)
		p.onEnd(p.lease.close)
		return p.lease.start(ctx)
	}
	return p.supervisor.Start(ctx, p.api)
}

func (p *plane) waitReady(ctx context.Context) error { return p.api.WaitReady(ctx) }

// explain prefers why a part has ended to what that did to the step that was
// under way.
func (p *plane) explain(ctx context.Context, err error) error {
	if p.storage != nil {
		if cause := p.storage.failure(); cause != nil {
			return cause
		}
	}
	if cause := context.Cause(ctx); cause != nil && errors.Is(err, ctx.Err()) {
		return fmt.Errorf("start was cut short: %w", cause)
	}
	return err
}

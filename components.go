package ctrlplane

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"github.com/ctrlplane/ctrlplane/controllers"
	"github.com/ctrlplane/ctrlplane/controllers/intervene"
	"github.com/ctrlplane/ctrlplane/controllers/recording"
	"github.com/ctrlplane/ctrlplane/controllers/scheduler"
	"github.com/ctrlplane/ctrlplane/internal/controllernames"
	"github.com/ctrlplane/ctrlplane/internal/usage"
	"github.com/ctrlplane/ctrlplane/internal/useragent"
	"github.com/ctrlplane/ctrlplane/observe"
	"github.com/ctrlplane/ctrlplane/sim/cloud"
	"github.com/ctrlplane/ctrlplane/sim/volumes"
)

// Controllers lists every controller by name, with the reason why it would not run
// in a Server with default fields; the reason is empty if it would run.
func Controllers() []controllers.Status {
	extra, err := newControlPlane(&Server{}).extraControllers()
	if err != nil {
		panic("ctrlplane: our own defaults: " + err.Error())
	}
	return controllers.Catalogue(controllers.DefaultList, extra)
}

// checkOptions fails if a part could not start with the configuration, and creates
// the parts that the API server needs from its first moment on.
func (p *controlPlane) checkOptions(context.Context) (err error) {
	if err := p.apiServerConfig().CheckFlags(); err != nil {
		return err
	}
	if p.etcdPrefix() == "/" {
		return usage.Errorf("--kube-apiserver-arg etcd-prefix=/: snapshots and restores need a prefix with a name, such as /registry")
	}
	if err := p.checkSnapshots(); err != nil && !p.initialSnapshot().IsNone() {
		return err
	}
	if p.scraped, err = newScrapedProcesses(p.config.Observe.With); err != nil {
		return err
	}
	p.nodes = &nodeSimulation{config: p.nodesConfig(), recorder: p.recorderFor(controllernames.SimulatedKubelet), mayStart: p.checkLeader}
	extra, err := p.extraControllers()
	if err != nil {
		return err
	}
	c := p.config.Controllers
	p.supervisor, err = controllers.New(controllers.Config{
		List:              c.Select,
		Extra:             extra,
		Others:            notControllers,
		Args:              c.Args,
		CACert:            p.certs.CACert,
		CAKey:             p.certs.CAKey,
		ServiceAccountKey: p.certs.ServiceAccountKey,
		PodCIDR:           p.podCIDR(),
		ServiceCIDR:       p.serviceCIDR(),
		Standby:           c.LeaderElect,
		SingleAPIServer:   !c.LeaderElect && len(p.config.Etcd.Endpoints) == 0,
		Logger:            p.log,
		Recorder:          p.recorderFor,
		Connect:           p.controllerClientConfig,
		Lent:              p.informerLoan.Wait,
		OnUnlisted:        p.warnOfUnlisted,
		CountsJobs:        func() bool { return p.api.IsEnabled(batchv1.SchemeGroupVersion.WithResource("jobs")) },
		Pace:              p.pace,
		OnNode:            p.nodes.handlerForNodes(p.log),
	})
	if warning := controllers.WarnOnlyExcluded(c.Select); err == nil && warning != "" {
		p.warn(warning)
	}
	if err == nil && c.LeaderElect {
		p.leadership = &leadership{duration: p.supervisor.LeaderElection().LeaseDuration.Truncate(time.Second), now: time.Now} // other processes see whole seconds
	}
	if err == nil {
		p.nodes.config.MonitorGracePeriod = p.supervisor.NodeMonitorGracePeriod()
		p.readyChecks, p.liveChecks = p.supervisor.HealthChecks()
	}
	return err
}

// controllerClientConfig returns a client configuration for the controllers, the
// scheduler and the simulated kubelets. With leader election, they write only while this process is the leader.
func (p *controlPlane) controllerClientConfig(who user.Info) *rest.Config {
	cfg := p.clientConfig(who)
	if !p.config.Controllers.LeaderElect {
		return cfg
	}
	return intervene.RefuseWrites(cfg, p.leadership.check)
}

// prepareControllers builds the controllers that do not need the API server for that.
func (p *controlPlane) prepareControllers(context.Context) error { return p.supervisor.Prepare() }

func (p *controlPlane) closeControllers() error { return p.supervisor.Close() }

// startControllers runs the controllers or, with leader election, starts the campaign
// for the lease in the background: a process that waits for the lease is ready.
func (p *controlPlane) startControllers(ctx context.Context) (err error) {
	if !p.config.Controllers.LeaderElect {
		return p.waitWhileReadable(ctx, func(ctx context.Context) error { return p.supervisor.Start(ctx, p.api) })
	}
	if err := p.waitWhileReadable(ctx, p.api.WaitServing); err != nil {
		return err
	}
	p.lease, err = startCampaign(leaseConfig{
		Election:   p.supervisor.LeaderElection(),
		Client:     p.supervisor.ManagerConfig("leader-election"),
		Name:       filepath.Base(p.dir.Path()),
		Leadership: p.leadership,
		Lead:       p.startLeading,
	})
	return err
}

// startLeading starts what runs only in the process that holds the lease.
func (p *controlPlane) startLeading(ctx context.Context) error {
	if err := p.supervisor.Start(ctx, p.api); err != nil {
		return err
	}
	if p.config.Nodes.Count > 0 {
		if err := p.startNodes(ctx); err != nil {
			return err
		}
	}
	p.leadership.beganToLead()
	return nil
}

func (p *controlPlane) closeLease() error {
	if p.lease == nil {
		return nil
	}
	return p.lease.close()
}

// extraControllers returns the controllers that upstream's controller manager does
// not have: the cloud controllers, the volume provisioner and the scheduler.
func (p *controlPlane) extraControllers() ([]controllers.ExtraController, error) {
	provider, err := cloud.New(cloud.Config{
		Ranges:      p.config.Network.LoadBalancerRange,
		PodCIDR:     p.podCIDR(),
		ServiceCIDR: p.serviceCIDR(),
	})
	if err != nil {
		return nil, err
	}
	sched, err := p.schedulerController()
	if err != nil {
		return nil, err
	}
	vols, err := p.volumeProvisioner()
	if err != nil {
		return nil, err
	}
	extra := []controllers.ExtraController{sched, vols}
	for _, c := range provider.Controllers() {
		extra = append(extra, controllers.ExtraController{
			Name:    c.Name,
			Aliases: c.Aliases,
			Program: useragent.CloudControllerManager,
			Build: func(_ context.Context, e controllers.Environment) (func(context.Context), error) {
				return c.Build(cloud.Environment{Informers: e.Informers, Client: e.Client, Metrics: e.Metrics})
			},
		})
	}
	return extra, nil
}

// volumeProvisioner returns the volume provisioner as one of the controllers. Without
// a scheduler, claims cannot wait until a Pod is scheduled.
func (p *controlPlane) volumeProvisioner() (controllers.ExtraController, error) {
	var cfg volumes.Config
	if p.config.Scheduler.Disabled {
		cfg.BindingMode = storagev1.VolumeBindingImmediate
	}
	provisioner, err := volumes.New(cfg)
	return controllers.ExtraController{
		Name:    volumes.Name,
		Aliases: []string{volumes.Alias},
		Program: useragent.CSIProvisioner,
		Build: func(_ context.Context, e controllers.Environment) (func(context.Context), error) {
			return provisioner.Build(volumes.Environment{Informers: e.Informers, Client: e.Client})
		},
	}, err
}

// schedulerController returns the scheduler as one of the controllers.
func (p *controlPlane) schedulerController() (controllers.ExtraController, error) {
	extra := controllers.ExtraController{Name: scheduler.Name, Aliases: []string{"scheduler"}, Program: useragent.Scheduler}
	c := p.config.Scheduler
	if c.Disabled {
		if c.ConfigFile != "" || len(c.Args) > 0 {
			return extra, usage.Errorf("--scheduler-config and --kube-scheduler-arg have no effect with --no-scheduler: leave out one or the other")
		}
		extra.OffReason = "turned off by --no-scheduler"
		return extra, nil
	}
	cfg := scheduler.Config{
		ConfigFile: c.ConfigFile,
		Args:       c.Args,
		Logger:     p.log.With("controller", scheduler.Name),
		Totals:     &scheduler.Totals{},
		Connect: func(who user.Info) *rest.Config {
			return recording.ObserveCalls(p.supervisor.InterceptCalls(scheduler.Name, p.controllerClientConfig(who)), p.recorderFor(scheduler.Name))
		},
	}
	if _, err := scheduler.New(cfg); err != nil { // reports wrong flags before anything is served
		return extra, err
	}
	extra.Build = func(_ context.Context, e controllers.Environment) (func(context.Context), error) {
		cfg := cfg
		cfg.Recorder, cfg.Informers, cfg.WaitTurn = p.recorderFor(scheduler.Name), e.ViewFiltered, e.WaitTurn
		s, err := scheduler.New(cfg)
		if err != nil {
			return nil, err
		}
		return func(ctx context.Context) { p.runScheduler(ctx, s) }, nil
	}
	return extra, nil
}

// runScheduler runs a scheduler until ctx or the scheduler ends.
func (p *controlPlane) runScheduler(ctx context.Context, s *scheduler.Scheduler) {
	p.scheduler.Store(s)
	defer p.scheduler.Store(nil)
	err := s.Start(ctx)
	if err == nil {
		select {
		case <-ctx.Done():
		case <-s.Done():
		}
	}
	if err = errors.Join(err, s.Err(), s.Close()); err != nil && ctx.Err() == nil {
		klog.FromContext(ctx).Error(err, "scheduler")
	}
}

// schedulerQueues returns the scheduler's queues, which are not of client-go's type.
func (p *controlPlane) schedulerQueues() []observe.Queue {
	s := p.scheduler.Load()
	if s == nil {
		return nil
	}
	list, err := s.Observed()
	if err != nil {
		p.log.Debug("observe", "err", fmt.Errorf("queues of the scheduler: %w", err))
	}
	return list
}

package ctrlplane

import (
	"context"
	"errors"

	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"github.com/ctrlplane/ctrlplane/controllers"
	"github.com/ctrlplane/ctrlplane/controllers/recording"
	"github.com/ctrlplane/ctrlplane/controllers/scheduler"
	"github.com/ctrlplane/ctrlplane/internal/usage"
	"github.com/ctrlplane/ctrlplane/observe"
	"github.com/ctrlplane/ctrlplane/sim/cloud"
	"github.com/ctrlplane/ctrlplane/sim/volumes"
)

// Controllers lists every controller by name, and why it would not run in a
// Server with default fields; an empty reason is that of one that would.
func Controllers() []controllers.Status {
	p := newControlPlane(&Server{})
	extra, err := p.extraControllers()
	if err != nil {
		panic("ctrlplane: our own defaults: " + err.Error())
	}
	return controllers.Catalogue(nil, extra)
}

// extraControllers are the controllers that upstream's controller manager does not have:
// its cloud loops, over a provider of ours, and the scheduler.
func (p *controlPlane) extraControllers() ([]controllers.ExtraController, error) {
	provider, err := cloud.New(cloud.Config{
		Ranges:      p.config.LoadBalancerRange,
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
	for _, l := range provider.Controllers() {
		extra = append(extra, controllers.ExtraController{
			Name:    l.Name,
			Aliases: l.Aliases,
			Build: func(_ context.Context, e controllers.Environment) (func(context.Context), error) {
				return l.Build(cloud.Environment(e))
			},
		})
	}
	return extra, nil
}

// volumeProvisioner is the volume provisioner as one of the controllers. Claims wait
// for a Pod to be scheduled only where there is a scheduler.
func (p *controlPlane) volumeProvisioner() (controllers.ExtraController, error) {
	var cfg volumes.Config
	if p.config.NoScheduler {
		cfg.BindingMode = storagev1.VolumeBindingImmediate
	}
	provisioner, err := volumes.New(cfg)
	return controllers.ExtraController{
		Name:    volumes.Name,
		Aliases: []string{volumes.Alias},
		Build: func(_ context.Context, e controllers.Environment) (func(context.Context), error) {
			return provisioner.Build(volumes.Environment{Informers: e.Informers, Client: e.Client})
		},
	}, err
}

// schedulerController is the scheduler as one of the controllers.
func (p *controlPlane) schedulerController() (controllers.ExtraController, error) {
	extra := controllers.ExtraController{Name: scheduler.Name, Aliases: []string{"scheduler"}}
	if p.config.NoScheduler {
		if p.config.SchedulerConfig != "" || len(p.config.SchedulerArgs) > 0 {
			return extra, usage.Errorf("--no-scheduler leaves nobody whom --scheduler-config and --kube-scheduler-arg could be for: leave it or them out")
		}
		extra.OffReason = "turned off by --no-scheduler"
		return extra, nil
	}
	cfg := scheduler.Config{
		ConfigFile: p.config.SchedulerConfig,
		Args:       p.config.SchedulerArgs,
		Logger:     p.log.With("controller", scheduler.Name),
		Connect: func(who user.Info) *rest.Config {
			return recording.ObserveCalls(p.supervisor.InterceptCalls(scheduler.Name, p.clientConfig(who)), p.recorder(scheduler.Name))
		},
	}
	if _, err := scheduler.New(cfg); err != nil { // tells what is wrong before anything is served
		return extra, err
	}
	extra.Build = func(context.Context, controllers.Environment) (func(context.Context), error) {
		s, err := scheduler.New(cfg)
		if err != nil {
			return nil, err
		}
		return func(ctx context.Context) { p.runScheduler(ctx, s) }, nil
	}
	return extra, nil
}

// runScheduler runs a scheduler until ctx ends, or it does.
func (p *controlPlane) runScheduler(ctx context.Context, s *scheduler.Scheduler) {
	p.runningScheduler.Store(s)
	defer p.runningScheduler.Store(nil)
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

// schedulerQueues are the scheduler's own: it does not use client-go's.
func (p *controlPlane) schedulerQueues() []observe.Queue {
	s := p.runningScheduler.Load()
	if s == nil {
		return nil
	}
	q, err := s.Queues()
	if err != nil {
		p.log.Debug("observe", "err", err)
		return nil
	}
	row := func(name string, depth int, parked bool) observe.Queue {
		return observe.Queue{Controller: scheduler.Name, Name: name, Depth: int64(depth), Delayed: -1, Parked: parked}
	}
	active := row("active", q.Active, false)
	active.InFlight = int64(q.InFlight)
	return []observe.Queue{active, row("backoff", q.Backoff, false), row("gated", q.Gated, true), row("unschedulable", q.Unschedulable, true)}
}

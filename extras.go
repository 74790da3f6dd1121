package ctrlplane

import (
	"context"
	"errors"

	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"github.com/ctrlplane/ctrlplane/controllers"
	"github.com/ctrlplane/ctrlplane/controllers/scheduler"
	"github.com/ctrlplane/ctrlplane/internal/usage"
	"github.com/ctrlplane/ctrlplane/observe"
	"github.com/ctrlplane/ctrlplane/sim/cloud"
	"github.com/ctrlplane/ctrlplane/sim/volumes"
)

// Controllers lists every controller by name, and why it would not run in a
// Server with default fields; an empty reason is that of one that would.
func Controllers() []controllers.Status {
	p := newPlane(&Server{})
	extra, err := p.extras()
	if err != nil {
		panic("ctrlplane: our own defaults: " + err.Error())
	}
	return controllers.Catalogue(nil, extra)
}

// extras are the controllers that upstream's controller manager does not have:
// its cloud loops, over a provider of ours, and the scheduler.
func (p *plane) extras() ([]controllers.Extra, error) {
	provider, err := cloud.New(cloud.Config{
		Ranges:      p.Server.LoadBalancerRange,
		PodCIDR:     p.podCIDR(),
		ServiceCIDR: p.serviceCIDR(),
	})
	if err != nil {
		return nil, err
	}
	sched, err := p.schedulerExtra()
	if err != nil {
		return nil, err
	}
	vols, err := p.volumesExtra()
	if err != nil {
		return nil, err
	}
	extra := []controllers.Extra{sched, vols}
	for _, l := range provider.Loops() {
		extra = append(extra, controllers.Extra{
			Name:    l.Name,
			Aliases: l.Aliases,
			Build: func(_ context.Context, e controllers.Environment) (func(context.Context), error) {
				return l.Build(cloud.Environment(e))
			},
		})
	}
	return extra, nil
}

// volumesExtra is the volume provisioner as one of the controllers. Claims wait
// for a Pod to be scheduled only where there is a scheduler.
func (p *plane) volumesExtra() (controllers.Extra, error) {
	var cfg volumes.Config
	if p.Server.NoScheduler {
		cfg.BindingMode = storagev1.VolumeBindingImmediate
	}
	provisioner, err := volumes.New(cfg)
	return controllers.Extra{
		Name:    volumes.Name,
		Aliases: []string{volumes.Alias},
		Build: func(_ context.Context, e controllers.Environment) (func(context.Context), error) {
			return provisioner.Build(volumes.Environment{Informers: e.Informers, Client: e.Client})
		},
	}, err
}

// schedulerExtra is the scheduler as one of the controllers.
func (p *plane) schedulerExtra() (controllers.Extra, error) {
	extra := controllers.Extra{Name: scheduler.Name, Aliases: []string{"scheduler"}}
	if p.Server.NoScheduler {
		if p.Server.SchedulerConfig != "" || len(p.Server.SchedulerArgs) > 0 {
			return extra, usage.Errorf("--no-scheduler leaves nobody whom --scheduler-config and --kube-scheduler-arg could be for: leave it or them out")
		}
		extra.Off = "turned off by --no-scheduler"
		return extra, nil
	}
	cfg := scheduler.Config{
		ConfigFile: p.Server.SchedulerConfig,
		Args:       p.Server.SchedulerArgs,
		Logger:     p.log.With("controller", scheduler.Name),
		Connect: func(who user.Info) *rest.Config {
			return controllers.Observed(p.supervisor.Gated(scheduler.Name, p.connect(who)), p.recorder(scheduler.Name))
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
		return func(ctx context.Context) { p.schedule(ctx, s) }, nil
	}
	return extra, nil
}

// schedule runs a scheduler until ctx ends, or it does.
func (p *plane) schedule(ctx context.Context, s *scheduler.Scheduler) {
	p.scheduling.Store(s)
	defer p.scheduling.Store(nil)
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
func (p *plane) schedulerQueues() []observe.Queue {
	s := p.scheduling.Load()
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

package ctrlplane

import (
	"context"
	"errors"
	"fmt"
	"os"

	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

var errLeaseLost = errors.New("the controllers' lease was lost to another process or could not be renewed in time")

// lease runs the controllers while this process leads those that share its etcd.
type lease struct {
	plane  *controlPlane
	cancel context.CancelFunc
	ended  chan struct{} // closed when the elector has returned
	lostC  chan struct{} // closed when a lease that was held is lost
}

func newLease(p *controlPlane) *lease {
	return &lease{plane: p, cancel: func() {}, ended: make(chan struct{}), lostC: make(chan struct{})}
}

// campaign waits until the API server serves and then stands for election in the
// background: to wait for the others is no reason not to be ready.
func (l *lease) campaign(ctx context.Context) error {
	if err := l.plane.api.WaitServing(ctx); err != nil {
		close(l.ended)
		return err
	}
	elector, err := l.newElector()
	if err != nil {
		close(l.ended)
		return err
	}
	var run context.Context
	run, l.cancel = context.WithCancel(context.Background())
	go func() {
		defer close(l.ended)
		elector.Run(run)
		if run.Err() == nil {
			close(l.lostC)
		}
	}()
	return nil
}

func (l *lease) newElector() (*leaderelection.LeaderElector, error) {
	host, err := os.Hostname()
	if err != nil {
		return nil, fmt.Errorf("leader election: %w", err)
	}
	timing := l.plane.supervisor.LeaderElection()
	lock, err := resourcelock.NewFromKubeconfig(resourcelock.LeasesResourceLock, timing.ResourceNamespace, timing.ResourceName,
		resourcelock.ResourceLockConfig{Identity: host + "_" + string(uuid.NewUUID())},
		l.plane.supervisor.ManagerConfig("leader-election"), timing.RenewDeadline.Duration)
	if err != nil {
		return nil, fmt.Errorf("leader election: %w", err)
	}
	return leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock:            lock,
		Name:            timing.ResourceName,
		LeaseDuration:   timing.LeaseDuration.Duration,
		RenewDeadline:   timing.RenewDeadline.Duration,
		RetryPeriod:     timing.RetryPeriod.Duration,
		ReleaseOnCancel: true,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: l.startLeading,
			OnStoppedLeading: func() {},
		},
	})
}

// startLeading is called when the lease is held; ctx ends with it.
func (l *lease) startLeading(ctx context.Context) {
	err := l.plane.supervisor.Start(ctx, l.plane.api)
	if err == nil {
		err = l.plane.startNodes(ctx)
	}
	if err != nil && ctx.Err() == nil {
		go l.plane.close(fmt.Errorf("controllers: %w", err))
	}
}

// lost is closed when the lease is; nil without leader election.
func (l *lease) lost() <-chan struct{} {
	if l == nil {
		return nil
	}
	return l.lostC
}

func (l *lease) close() error {
	l.cancel()
	<-l.ended
	return nil
}

package ctrlplane

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	componentbaseconfig "k8s.io/component-base/config"
)

var errLeaseLost = errors.New("the controllers' lease was lost to another process or could not be renewed in time")

// leaseConfig holds what a lease needs from the other parts.
type leaseConfig struct {
	Election componentbaseconfig.LeaderElectionConfiguration
	Client   *rest.Config
	Name     string // of the data folder, a part of the identity of the holder
	// Leadership is kept up to date.
	Leadership *leadership
	// Lead starts what only the leader runs, and returns; ctx ends with the lease.
	Lead func(ctx context.Context) error
}

// lease takes part in the election of one of several processes.
type lease struct {
	cancel  context.CancelFunc
	running sync.WaitGroup
	failed  chan error // receives why the lease was lost, or why Lead has failed
}

// startCampaign takes part in the election, in the background, until close.
func startCampaign(cfg leaseConfig) (*lease, error) {
	elected := make(chan context.Context)
	l := &lease{failed: make(chan error, 3)} // one from each goroutine, and one from the lock
	elector, err := newElector(cfg, func(ctx context.Context) {
		select {
		case elected <- ctx:
		case <-ctx.Done():
		}
	}, func() {
		select {
		case l.failed <- errLeaseLost: // the elector would try for RenewDeadline
		default:
		}
	})
	if err != nil {
		return nil, fmt.Errorf("leader election: %w", err)
	}
	var ctx context.Context
	ctx, l.cancel = context.WithCancel(context.Background())
	electorEnded := make(chan struct{})
	l.running.Go(func() {
		defer close(electorEnded)
		elector.Run(ctx)
		if ctx.Err() == nil {
			l.failed <- errLeaseLost
		}
	})
	// Not in the elector's callback, whose goroutine the elector does not wait for.
	l.running.Go(func() {
		select {
		case leading := <-elected:
			if err := cfg.Lead(leading); err != nil && leading.Err() == nil {
				l.failed <- fmt.Errorf("controllers: %w", err)
			}
		case <-electorEnded:
		}
	})
	return l, nil
}

func newElector(cfg leaseConfig, onElected func(context.Context), onLoss func()) (*leaderelection.LeaderElector, error) {
	host, err := os.Hostname()
	if err != nil {
		return nil, err
	}
	timing := cfg.Election
	lock, err := resourcelock.NewFromKubeconfig(resourcelock.LeasesResourceLock, timing.ResourceNamespace, timing.ResourceName,
		resourcelock.ResourceLockConfig{Identity: strings.Join([]string{host, cfg.Name, string(uuid.NewUUID())}, "_")}, cfg.Client, timing.RenewDeadline.Duration)
	if err != nil {
		return nil, err
	}
	return leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock:            observedLock{lock, cfg.Leadership, onLoss},
		Name:            timing.ResourceName,
		LeaseDuration:   timing.LeaseDuration.Duration,
		RenewDeadline:   timing.RenewDeadline.Duration,
		RetryPeriod:     timing.RetryPeriod.Duration,
		ReleaseOnCancel: true,
		Callbacks:       leaderelection.LeaderCallbacks{OnStartedLeading: onElected, OnStoppedLeading: func() {}},
	})
}

// close releases the lease and returns when nothing of the campaign runs.
func (l *lease) close() error {
	l.cancel()
	l.running.Wait()
	return nil
}

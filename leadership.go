package ctrlplane

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"github.com/ctrlplane/ctrlplane/observe"
)

// leadership knows whether this process holds the lease. Upstream's elector tries for
// RenewDeadline before it gives up. A process that was suspended for longer than the
// lease would act for as long, beside the new leader.
type leadership struct {
	duration time.Duration // of the lease
	now      func() time.Time

	mu      sync.Mutex
	held    bool
	leads   bool      // what only the leader runs has been started
	holder  string    // of the lease, in the newest record that was read or written; empty = none
	renewed time.Time // when the newest renewal was sent that succeeded
}

// check returns an error if another process may hold the lease.
func (l *leadership) check() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.held {
		return errLeaseLost
	}
	if age := l.age(); age >= l.duration {
		return fmt.Errorf("the controllers' lease was last renewed %v ago: another process may hold it", age.Round(time.Millisecond))
	}
	return nil
}

// age returns how long ago the lease was renewed. It needs the lock.
func (l *leadership) age() time.Duration {
	// The monotonic clock stands still while a machine sleeps, the other may be set.
	now := l.now()
	return max(now.Sub(l.renewed), now.Round(0).Sub(l.renewed.Round(0)))
}

// beganToLead notes that what only the leader runs has been started.
func (l *leadership) beganToLead() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.leads = true
}

// isTakingOver reports whether this process holds the lease, but has not started all yet that only the leader
// runs; false for nil.
func (l *leadership) isTakingOver() bool {
	if l == nil {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.held && !l.leads
}

// observedLock is a lock that tells a leadership what happens to it.
type observedLock struct {
	resourcelock.Interface
	leadership *leadership
	onLoss     func() // another process holds the lease that this one held
}

func (o observedLock) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	sent := o.leadership.now()
	err := o.Interface.Create(ctx, record)
	o.written(record, sent, err)
	return err
}

func (o observedLock) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	sent := o.leadership.now()
	if record.HolderIdentity != o.Identity() {
		o.leadership.lose() // before the release: another process may lead before it is answered
	}
	err := o.Interface.Update(ctx, record)
	o.written(record, sent, err)
	return err
}

func (o observedLock) written(record resourcelock.LeaderElectionRecord, sent time.Time, err error) {
	l := o.leadership
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil {
		return
	}
	if l.holder = record.HolderIdentity; l.holder == o.Identity() {
		l.held, l.renewed = true, sent
	}
}

func (o observedLock) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	record, raw, err := o.Interface.Get(ctx)
	if err != nil {
		return record, raw, err
	}
	o.leadership.note(record.HolderIdentity)
	if record.HolderIdentity != o.Identity() && o.leadership.lose() {
		o.onLoss()
	}
	return record, raw, nil
}

// note notes who holds the lease.
func (l *leadership) note(holder string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.holder = holder
}

// leader returns which process holds the lease, and its identity; empty for nil, without leader
// election. One that was suspended for longer than the lease does not know who does.
func (l *leadership) leader() (leader observe.Leader, holder string) {
	if l == nil {
		return "", ""
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.held && l.age() < l.duration:
		return observe.LeaderOwn, l.holder
	case l.held || l.holder == "":
		return observe.LeaderNone, ""
	}
	return observe.LeaderOther, l.holder
}

// lose notes that another process holds the lease, and reports whether this one did.
func (l *leadership) lose() (held bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	held, l.held = l.held, false
	return held
}

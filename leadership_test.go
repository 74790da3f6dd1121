package ctrlplane

import (
	"context"
	"errors"
	"testing"
	"time"

	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"github.com/ctrlplane/ctrlplane/observe"
)

// fakeLock is a lock in memory. Its updates take as long as delay says.
type fakeLock struct {
	resourcelock.Interface
	record resourcelock.LeaderElectionRecord
	err    error
	delay  func()
}

func (f *fakeLock) Identity() string { return "me" }

func (f *fakeLock) Get(context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	return &f.record, nil, f.err
}

func (f *fakeLock) Update(_ context.Context, r resourcelock.LeaderElectionRecord) error {
	f.delay()
	if f.err == nil {
		f.record = r
	}
	return f.err
}

// A leader may write until its newest renewal is as old as the lease, or another holder
// is known.
func TestLeadership(t *testing.T) {
	clock := time.Now()
	l := &leadership{duration: 15 * time.Second, now: func() time.Time { return clock }}
	lock, lost := &fakeLock{delay: func() {}}, 0
	observed := observedLock{lock, l, func() { lost++ }}
	mine := resourcelock.LeaderElectionRecord{HolderIdentity: "me"}
	update := func(r resourcelock.LeaderElectionRecord) { _ = observed.Update(t.Context(), r) }
	expect := func(when string, leads bool) {
		t.Helper()
		if err := l.check(); (err == nil) != leads {
			t.Errorf("%s: leads %v, want %v: %v", when, err == nil, leads, err)
		}
	}
	leader := func(want observe.Leader, holder string) {
		t.Helper()
		if got, who := l.leader(); got != want || who != holder {
			t.Errorf("leader %s, %s; want %s, %s", got, who, want, holder)
		}
	}
	expect("before the election", false)
	leader(observe.LeaderNone, "")
	update(mine)
	expect("elected", true)
	leader(observe.LeaderOwn, "me")
	if !l.isTakingOver() {
		t.Error("the controllers have been started before the election")
	}
	if l.beganToLead(); l.isTakingOver() {
		t.Error("the controllers are started twice")
	}
	clock = clock.Add(14 * time.Second)
	expect("before the lease ends", true)
	clock = clock.Add(time.Second)
	expect("after the lease", false)
	leader(observe.LeaderNone, "") // suspended for as long
	update(mine)
	expect("renewed", true)
	leader(observe.LeaderOwn, "me")
	clock = clock.Add(14 * time.Second)
	lock.err = errors.New("no connection")
	update(mine)
	expect("not renewed, but in time", true)
	clock = clock.Add(time.Second)
	expect("not renewed", false)
	lock.err = nil
	lock.delay = func() { clock = clock.Add(30 * time.Second) } // suspended while the renewal is on its way
	update(mine)
	expect("renewed long ago", false)
	lock.delay = func() {}
	update(mine)
	expect("renewed again", true)
	lock.record.HolderIdentity = "other"
	if _, _, err := observed.Get(t.Context()); err != nil || lost != 1 {
		t.Errorf("got %v, %d losses, want 1", err, lost)
	}
	expect("another holder", false)
	leader(observe.LeaderOther, "other")
	update(mine)
	update(resourcelock.LeaderElectionRecord{})
	expect("released", false)
	leader(observe.LeaderNone, "")
	if lost != 1 {
		t.Errorf("%d losses, want 1", lost)
	}
}

package intervene

import (
	"container/list"
	"context"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ctrlplane/ctrlplane/control"
	"github.com/ctrlplane/ctrlplane/internal/usage"
	"github.com/ctrlplane/ctrlplane/observe"
)

// Pace makes syncs wait before they begin, so that a person can follow them. All
// controllers of a control plane share one. A nil Pace never waits.
type Pace struct {
	isSlow atomic.Bool // the speed is not full

	mu      sync.Mutex
	speed   observe.Speed
	turns   list.List     // of *turn that wait, the oldest first
	changed chan struct{} // closed when the speed changes
	arrived chan struct{} // closed when a turn begins to wait, or the speed changes
}

var _ control.SpeedControl = (*Pace)(nil)

// turn is a sync that waits.
type turn struct {
	sync     observe.SyncTurn
	since    time.Time
	released chan struct{}
}

// NewPace returns a pace of full speed.
func NewPace() *Pace {
	return &Pace{speed: observe.SpeedFull, changed: make(chan struct{}), arrived: make(chan struct{})}
}

// Speed returns the current speed.
func (p *Pace) Speed() observe.Speed {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.speed
}

// SetSpeed implements control.SpeedControl.
func (p *Pace) SetSpeed(_ context.Context, s observe.Speed) error {
	if !slices.Contains(observe.Speeds, s) {
		return usage.Errorf("speed %q: choose one of %s", string(s), speedNames())
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if s != p.speed {
		p.speed = s
		p.isSlow.Store(s != observe.SpeedFull)
		signal(&p.changed)
		signal(&p.arrived)
	}
	return nil
}

func speedNames() string {
	var names []string
	for _, s := range observe.Speeds {
		names = append(names, string(s))
	}
	return strings.Join(names, ", ")
}

// signal wakes those that wait for a channel. The caller holds the lock.
func signal(c *chan struct{}) {
	close(*c)
	*c = make(chan struct{})
}

// WaitTurn makes the sync of the calling goroutine wait, once, as long as the speed
// demands. It does nothing outside of a sync. It returns early when ctx ends or ended is
// closed, which may be nil.
func (p *Pace) WaitTurn(ctx context.Context, ended <-chan struct{}) {
	if p == nil || !p.isSlow.Load() {
		return
	}
	sync := observe.CurrentSync()
	if !sync.Take() {
		return
	}
	sync.SetWaiting(true)
	defer sync.SetWaiting(false)
	t, leave := p.join(sync)
	defer leave()
	for p.waitOnce(ctx, ended, t) {
	}
}

func (p *Pace) join(sync observe.SyncTurn) (t *turn, leave func()) {
	t = &turn{sync, time.Now(), make(chan struct{})}
	p.mu.Lock()
	defer p.mu.Unlock()
	e := p.turns.PushBack(t)
	signal(&p.arrived)
	return t, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.turns.Remove(e) // StepKey may have removed it
	}
}

// waitOnce waits until the turn has come, and reports whether it has to wait again
// because the speed may have changed.
func (p *Pace) waitOnce(ctx context.Context, ended <-chan struct{}, t *turn) (again bool) {
	p.mu.Lock()
	speed, changed := p.speed, p.changed
	p.mu.Unlock()
	var due <-chan time.Time
	if speed != observe.SpeedStep {
		timer := time.NewTimer(time.Until(t.since.Add(speed.Delay())))
		defer timer.Stop()
		due = timer.C
	}
	select {
	case <-changed:
		return true
	case <-due:
	case <-t.released:
	case <-ctx.Done():
	case <-ended:
	}
	return false
}

// StepKey implements control.SpeedControl.
func (p *Pace) StepKey(ctx context.Context) (*control.ReleasedKey, error) {
	wait, cancel := context.WithTimeout(ctx, control.StepTimeout)
	defer cancel()
	for {
		key, arrived, err := p.releaseOldest()
		if key != nil || err != nil {
			return key, err
		}
		select {
		case <-arrived:
		case <-wait.Done():
			return nil, ctx.Err()
		}
	}
}

// releaseOldest releases the turn that has waited longest; nil if none waits.
func (p *Pace) releaseOldest() (key *control.ReleasedKey, arrived <-chan struct{}, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.speed != observe.SpeedStep {
		return nil, nil, usage.Errorf("the speed is %s: set it to %q first", p.speed, string(observe.SpeedStep))
	}
	front := p.turns.Front()
	if front == nil {
		return nil, p.arrived, nil
	}
	t := p.turns.Remove(front).(*turn)
	t.sync.SetWaiting(false)
	key = &control.ReleasedKey{}
	key.Controller, key.RunningSync = t.sync.Describe()
	close(t.released)
	return key, nil, nil
}

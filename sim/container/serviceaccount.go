package container

import (
	"context"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/ctrlplane/ctrlplane/sim/podconfig"
	"github.com/ctrlplane/ctrlplane/sim/shell"
)

// serviceAccountVolume returns the volume that every Pod has. It is filled when
// something uses it: most commands do not, and a token costs more than they do.
func (s *session) serviceAccountVolume(ctx context.Context, of *corev1.Pod, v *corev1.Volume, p *pod, all *volumes) (*shell.Dir, error) {
	if err := s.awaitRootCA(ctx, of.Namespace); err != nil {
		return nil, err
	}
	dir := shell.NewDir(0)
	dir.FillOnUse(func() error {
		files, renewAt, err := p.volumeFiles(s.ctx, of, v, s)
		if err != nil {
			return err
		}
		all.mu.Lock()
		defer all.mu.Unlock()
		if err := all.take(files); err != nil {
			return err
		}
		s.renewTokens(p, renewAt)
		if err := setGroup(dir, fsGroup(of)); err != nil {
			return err
		}
		return writeFiles(dir, files, fsGroup(of))
	})
	return dir, nil
}

// namespaceUse is what is known of a namespace as long as a Pod of it exists: without
// one, the namespace may be deleted and created again.
type namespaceUse struct {
	pods   int
	rootCA bool // it has the certificate of the API server
}

// use counts a Pod of a namespace.
func (o *objects) use(namespace string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.namespaces[namespace] == nil {
		o.namespaces[namespace] = &namespaceUse{}
	}
	o.namespaces[namespace].pods++
}

// release ends what use began, when a Pod has been deleted. One that has finished still
// shows that its namespace exists.
func (o *objects) release(namespace string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	n := o.namespaces[namespace]
	if n == nil {
		return
	}
	if n.pods--; n.pods <= 0 {
		delete(o.namespaces, namespace)
	}
}

// awaitRootCA returns why the certificate of the API server is missing in a namespace.
// Each namespace gets it once.
func (o *objects) awaitRootCA(ctx context.Context, namespace string) error {
	if o.hasRootCA(namespace) {
		return nil
	}
	if _, err := o.ConfigMap(ctx, namespace, podconfig.RootCAConfigMap); err != nil {
		return err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if n := o.namespaces[namespace]; n != nil {
		n.rootCA = true
	}
	return nil
}

func (o *objects) hasRootCA(namespace string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	n := o.namespaces[namespace]
	return n != nil && n.rootCA
}

// renewalCheckInterval is how often a renewal compares the time with the clock: timers stand still
// while the machine sleeps, and tokens expire by the clock.
const renewalCheckInterval = time.Minute

// refreshRetryInterval is about as often as a kubelet syncs a Pod (syncFrequency of its configuration).
const refreshRetryInterval = time.Minute

// renewal is the timer for the tokens of a Pod, and for content of its volumes that could not be read.
type renewal struct {
	now func() time.Time // nil = time.Now

	mu     sync.Mutex
	timer  *time.Timer // nil if none is due
	at     time.Time
	closed bool
}

// schedule makes renew run at a time, unless it does so earlier.
func (r *renewal) schedule(at time.Time, renew func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed || r.timer != nil && !at.Before(r.at) {
		return
	}
	r.stopLocked()
	r.at = at
	r.startTimerLocked(renew)
}

func (r *renewal) startTimerLocked(renew func()) {
	var timer *time.Timer
	timer = time.AfterFunc(min(r.at.Sub(r.clock()), renewalCheckInterval), func() {
		r.mu.Lock()
		isCurrent, isDue := r.timer == timer, !r.clock().Before(r.at)
		if isCurrent && !isDue {
			r.startTimerLocked(renew)
		}
		r.mu.Unlock()
		if isCurrent && isDue {
			renew()
		}
	})
	r.timer = timer
}

// time is clock for callers without the lock.
func (r *renewal) time() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.clock()
}

// clock returns the time without the reading of the monotonic clock, which may stand still.
func (r *renewal) clock() time.Time {
	if r.now != nil {
		return r.now().Round(0)
	}
	return time.Now().Round(0)
}

// stop forgets the timer.
func (r *renewal) stop() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stopLocked()
}

// close stops the timer for good: a request for a token may end after that.
func (r *renewal) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	r.stopLocked()
}

func (r *renewal) stopLocked() {
	if r.timer != nil {
		r.timer.Stop()
		r.timer = nil
	}
}

// renewTokens makes the tokens of a volume be replaced at a time; zero = it has none.
func (s *session) renewTokens(p *pod, at time.Time) {
	if !at.IsZero() {
		p.renewal.schedule(at, func() { s.renew(p) })
	}
}

// retryRefresh makes the volumes of a Pod be read again in a while, as a kubelet does with each sync of the Pod.
func (s *session) retryRefresh(p *pod) {
	s.renewTokens(p, p.renewal.time().Add(refreshRetryInterval))
}

// renew replaces the tokens of the volumes of a Pod, and reads what they have from the API again.
func (s *session) renew(p *pod) {
	s.mu.Lock()
	if s.ctx.Err() != nil || s.pods[p.uid] != p || p.volumes == nil {
		s.mu.Unlock()
		return
	}
	s.wg.Add(1)
	s.mu.Unlock()
	defer s.wg.Done()
	p.renewal.stop()
	s.refresh(p)
}

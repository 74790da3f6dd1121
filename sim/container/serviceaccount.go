package container

import (
	"context"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

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
		files, err := podconfig.VolumeFiles(s.ctx, of, v, s)
		if err != nil {
			return err
		}
		all.mu.Lock()
		defer all.mu.Unlock()
		if err := all.take(files); err != nil {
			return err
		}
		s.renewTokens(p, v)
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

// renewal is the timer for the tokens of a Pod.
type renewal struct {
	mu    sync.Mutex
	timer *time.Timer // nil if none is due
	at    time.Time
}

// schedule makes renew run after a time, unless it does so earlier.
func (r *renewal) schedule(after time.Duration, renew func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.timer != nil && time.Until(r.at) <= after {
		return
	}
	r.stopLocked()
	r.at = time.Now().Add(after)
	r.timer = time.AfterFunc(after, renew)
}

// stop forgets the timer.
func (r *renewal) stop() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stopLocked()
}

func (r *renewal) stopLocked() {
	if r.timer != nil {
		r.timer.Stop()
		r.timer = nil
	}
}

// renewTokens makes the tokens of a volume be replaced before they expire: as with a
// kubelet, after 80 % of their time, and at least once a day.
func (s *session) renewTokens(p *pod, v *corev1.Volume) {
	if !podconfig.HasToken(v) {
		return
	}
	after := 24 * time.Hour
	for _, source := range v.Projected.Sources {
		if t := source.ServiceAccountToken; t != nil {
			after = min(after, tokenLifetime(t)*8/10)
		}
	}
	p.renewal.schedule(after, func() { s.renew(p) })
}

func tokenLifetime(t *corev1.ServiceAccountTokenProjection) time.Duration {
	return time.Duration(ptr.Deref(t.ExpirationSeconds, 3600)) * time.Second
}

// renew replaces the tokens of the volumes of a Pod.
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

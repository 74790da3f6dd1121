package nodes

import (
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	kubecontainer "k8s.io/kubernetes/pkg/kubelet/container"
)

// The delays before restarts are those of upstream's kubelet.
const (
	restartBackOff    = 10 * time.Second // the first; it doubles
	maxRestartBackOff = 5 * time.Minute
	backOffReset      = 2 * maxRestartBackOff // a run of this length begins again with no delay
)

var reasonCrashLoopBackOff = kubecontainer.ErrCrashLoopBackOff.Error()

// restartBackoffs knows after how many restarts the delays of the containers of a Pod
// began again, and which restarts were reported. Like a kubelet's, it is lost when the
// process ends. A nil value has no history.
type restartBackoffs struct {
	mu sync.Mutex
	of map[string]restartBackoff // by the name of the container
}

type restartBackoff struct {
	key  string // what resets it when it changes; empty if not known
	from int32  // after this many restarts the delays began

	delayReported, imageReported int32 // after this many restarts, and 1 more; 0 if never
}

// reset makes the next restart of a container, after that many, one without a delay.
func (b *restartBackoffs) reset(container string, restarts int32) {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	of := b.of[container]
	of.from = restarts
	b.set(container, of)
}

// set needs the lock.
func (b *restartBackoffs) set(container string, to restartBackoff) {
	if b.of == nil {
		b.of = map[string]restartBackoff{}
	}
	b.of[container] = to
}

// setKey resets the delays of a container whose image or resources have changed, which are
// part of the key of a kubelet's backoff.
func (b *restartBackoffs) setKey(c *corev1.Container, restarts int32) {
	if b == nil {
		return
	}
	key := c.Image + " " + describeResources(&c.Resources)
	b.mu.Lock()
	defer b.mu.Unlock()
	of := b.of[c.Name]
	switch of.key {
	case key:
		return
	case "":
	default:
		of.from = restarts
	}
	of.key = key
	b.set(c.Name, of)
}

// noteRun resets the delays of a container whose last run was long.
func (b *restartBackoffs) noteRun(container string, restarts int32, last *corev1.ContainerStateTerminated) {
	if last.FinishedAt.Sub(last.StartedAt.Time) > backOffReset {
		b.reset(container, restarts)
	}
}

// delay returns how long a container waits between its last exit and its next start,
// after that many restarts.
func (b *restartBackoffs) delay(container string, restarts int32) time.Duration {
	if b != nil {
		b.mu.Lock()
		restarts -= b.of[container].from
		b.mu.Unlock()
	}
	if restarts <= 0 {
		return 0
	}
	return min(restartBackOff<<min(restarts-1, 10), maxRestartBackOff)
}

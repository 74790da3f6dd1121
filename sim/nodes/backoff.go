package nodes

import (
	"time"

	corev1 "k8s.io/api/core/v1"
)

// The delays before restarts are those of upstream's kubelet.
const (
	restartBackOff    = 10 * time.Second // the first; it doubles
	maxRestartBackOff = 5 * time.Minute
	backOffReset      = 2 * maxRestartBackOff // a run of this length begins again with no delay
)

// restartBackoffs knows after how many restarts the delays of the containers of a Pod
// began again. Like a kubelet's, it is lost when the process ends. nil knows nothing.
type restartBackoffs struct{ from map[string]int32 }

// reset makes the next restart of a container, after that many, one without a delay.
func (b *restartBackoffs) reset(container string, restarts int32) {
	if b == nil {
		return
	}
	if b.from == nil {
		b.from = map[string]int32{}
	}
	b.from[container] = restarts
}

// delay returns how long a container waits between its last exit and its next start,
// after that many restarts.
func (b *restartBackoffs) delay(container string, restarts int32, last *corev1.ContainerStateTerminated) time.Duration {
	if last.FinishedAt.Sub(last.StartedAt.Time) > backOffReset {
		b.reset(container, restarts)
		return 0
	}
	if b != nil {
		restarts -= b.from[container]
	}
	if restarts <= 0 {
		return 0
	}
	return min(restartBackOff<<min(restarts-1, 10), maxRestartBackOff)
}

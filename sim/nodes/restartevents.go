package nodes

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"
	"k8s.io/kubernetes/pkg/kubelet/events"
	"k8s.io/kubernetes/pkg/kubelet/util/format"
)

// takeEvents returns the events of a kubelet about the containers of a Pod that have begun to
// wait for a restart, or that restart for another image.
func (b *restartBackoffs) takeEvents(pod *corev1.Pod) (list []podEvent) {
	if podutil.IsPodTerminal(pod) || pod.DeletionTimestamp != nil { // its containers do not restart
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for c, s := range containersWithStatus(pod) {
		_, kind, _ := findContainer(pod, c.Name)
		of, now := b.of[c.Name], s.RestartCount+1
		switch {
		case s.State.Waiting != nil && s.State.Waiting.Reason == reasonCrashLoopBackOff && of.delayReported != now:
			of.delayReported = now
			list = append(list, podEvent{
				warning: true, container: c.Name, reason: events.BackOffStartContainer,
				message: fmt.Sprintf("Back-off restarting failed container %s in pod %s", c.Name, format.Pod(pod)),
			})
		case restartsForImage(c, kind, s) && of.imageReported != now:
			of.imageReported = now
			message := fmt.Sprintf("Container %s definition changed, will be restarted", c.Name)
			if kind == sidecar {
				message = fmt.Sprintf("Init container %s definition changed", c.Name)
			}
			list = append(list, podEvent{container: c.Name, reason: events.KillingContainer, message: message})
		default:
			continue
		}
		b.set(c.Name, of)
	}
	return list
}

package kubelet

import (
	"fmt"
	"net/http"
)

// refuseProcess answers what needs a process: exec, attach, run.
func (a *kubeletAPI) refuseProcess(_ http.ResponseWriter, r *http.Request) error {
	pod, err := a.getPod(r.Context(), r.PathValue("namespace"), r.PathValue("pod"))
	if err != nil {
		return err
	}
	container := r.PathValue("container")
	if !hasContainer(pod, container) {
		return statusError{http.StatusNotFound, fmt.Sprintf("container %q not found in pod %q", container, pod.Name)}
	}
	return statusError{http.StatusNotImplemented, fmt.Sprintf("pod %s is simulated: no process runs in its container %s that could be reached", pod.Name, container)}
}

// refusePortForward answers who wants to talk to a pod.
func (a *kubeletAPI) refusePortForward(_ http.ResponseWriter, r *http.Request) error {
	pod, err := a.getPod(r.Context(), r.PathValue("namespace"), r.PathValue("pod"))
	if err != nil {
		return err
	}
	return statusError{http.StatusNotImplemented, fmt.Sprintf("pod %s is simulated: no process listens on its ports", pod.Name)}
}

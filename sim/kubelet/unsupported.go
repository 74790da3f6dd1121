package kubelet

import (
	"fmt"
	"net/http"
)

// refuseProcess responds to exec, attach and run, which need a process.
func (a *kubeletAPI) refuseProcess(_ http.ResponseWriter, r *http.Request) error {
	pod, err := a.getPod(r.Context(), r.PathValue("namespace"), r.PathValue("pod"))
	if err != nil {
		return err
	}
	container := r.PathValue("container")
	if !hasContainer(pod, container) {
		return statusError{http.StatusNotFound, fmt.Sprintf("container %q not found in pod %q", container, pod.Name)}
	}
	return statusError{http.StatusNotImplemented, fmt.Sprintf("pod %s is simulated: no process is running in container %s", pod.Name, container)}
}

// refusePortForward responds to port forwarding, which needs a process.
func (a *kubeletAPI) refusePortForward(_ http.ResponseWriter, r *http.Request) error {
	pod, err := a.getPod(r.Context(), r.PathValue("namespace"), r.PathValue("pod"))
	if err != nil {
		return err
	}
	return statusError{http.StatusNotImplemented, fmt.Sprintf("pod %s is simulated: no process is listening on its ports", pod.Name)}
}

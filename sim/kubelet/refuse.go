package kubelet

import (
	"fmt"
	"net/http"
)

// refuseContainer answers what needs a process: exec, attach, run.
func (a *api) refuseContainer(_ http.ResponseWriter, r *http.Request) error {
	pod, err := a.pod(r.Context(), r.PathValue("namespace"), r.PathValue("pod"))
	if err != nil {
		return err
	}
	container := r.PathValue("container")
	if !hasContainer(pod, container) {
		return refusal{http.StatusNotFound, fmt.Sprintf("container %q not found in pod %q", container, pod.Name)}
	}
	return refusal{http.StatusNotImplemented, fmt.Sprintf("pod %s is simulated: no process runs in its container %s that could be reached", pod.Name, container)}
}

// refusePort answers who wants to talk to a pod.
func (a *api) refusePort(_ http.ResponseWriter, r *http.Request) error {
	pod, err := a.pod(r.Context(), r.PathValue("namespace"), r.PathValue("pod"))
	if err != nil {
		return err
	}
	return refusal{http.StatusNotImplemented, fmt.Sprintf("pod %s is simulated: no process listens on its ports", pod.Name)}
}

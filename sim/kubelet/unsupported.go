package kubelet

import (
	"fmt"
	"net/http"
)

// refusePortForward responds to port forwarding, which needs a process that listens.
func (a *kubeletAPI) refusePortForward(_ http.ResponseWriter, r *http.Request) error {
	pod, err := a.getPod(r.Context(), r.PathValue("namespace"), r.PathValue("pod"))
	if err != nil {
		return err
	}
	return statusError{http.StatusNotImplemented, fmt.Sprintf("pod %s is simulated: no process is listening on its ports", pod.Name)}
}

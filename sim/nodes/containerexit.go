package nodes

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"github.com/ctrlplane/ctrlplane/observe"
)

// maxReadPatch is the longest status that is searched for containers that have failed.
const maxReadPatch = 256 << 10

// recordExits records, for the sync of the calling goroutine, how containers have failed:
// why a Pod is replaced is in its status, which no record has.
func (p *played) recordExits(r *http.Request) {
	for _, c := range failedContainers(r) {
		p.recorder.RecordLog(describeExit(c), "", "")
	}
}

func describeExit(c corev1.ContainerStatus) *observe.Logged {
	end := c.State.Terminated
	l := &observe.Logged{Level: -2, Message: "Container failed", Attrs: []observe.Attr{{Key: "container", Value: c.Name}, {Key: "exitCode", Value: strconv.Itoa(int(end.ExitCode))}}}
	switch {
	case end.Reason != "" && end.Reason != "Error": // which says no more than the code
		l.Attrs = append(l.Attrs, observe.Attr{Key: "reason", Value: end.Reason})
	case end.ExitCode == sigtermExitCode || end.ExitCode == sigkillExitCode: // as when its Pod is deleted
		l.Message = "Container stopped"
	}
	return l
}

// failedContainers returns the containers that have failed by a patch of a Pod's status.
func failedContainers(r *http.Request) (failed []corev1.ContainerStatus) {
	if r.Method != http.MethodPatch || r.GetBody == nil || r.ContentLength > maxReadPatch {
		return nil
	}
	body, err := r.GetBody()
	if err != nil {
		return nil
	}
	defer body.Close()
	data, err := io.ReadAll(io.LimitReader(body, maxReadPatch))
	if err != nil || !bytes.Contains(data, []byte(`"terminated":`)) {
		return nil
	}
	var patch struct {
		Status struct {
			ContainerStatuses     []corev1.ContainerStatus `json:"containerStatuses"`
			InitContainerStatuses []corev1.ContainerStatus `json:"initContainerStatuses"`
		} `json:"status"`
	}
	if json.Unmarshal(data, &patch) != nil {
		return nil // a stage of a user
	}
	for _, c := range append(patch.Status.InitContainerStatuses, patch.Status.ContainerStatuses...) {
		if end := c.State.Terminated; end != nil && end.ExitCode != 0 {
			failed = append(failed, c)
		}
	}
	return failed
}

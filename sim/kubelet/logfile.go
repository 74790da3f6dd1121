package kubelet

import (
	"bytes"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/ctrlplane/ctrlplane/internal/kubeletlogs"
)

// serveLogFile serves the log of a run as a kubelet serves its file in /var/log/pods, in the format of container runtimes. The
// path has the UID of the Pod, so that the log of one that was deleted is found, too.
func (a *kubeletAPI) serveLogFile(w http.ResponseWriter, r *http.Request) error {
	if err := a.checkStandby(); err != nil {
		return err
	}
	folder, file := r.PathValue("pod"), r.PathValue("file")
	uid := types.UID(folder[strings.LastIndexByte(folder, '_')+1:])
	notFound := statusError{http.StatusNotFound, fmt.Sprintf("no log %s/%s/%s", folder, r.PathValue("container"), file)}
	number, err := strconv.ParseInt(strings.TrimSuffix(file, ".log"), 10, 32)
	if err != nil {
		return notFound
	}
	lines := logLines(a.commands.LogEnd(uid, r.PathValue("container"), int32(number)))
	if len(lines) == 0 {
		return notFound
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	if _, err := w.Write(encodeLogFile(lines)); err != nil {
		return abortedError{err}
	}
	return nil
}

func encodeLogFile(lines []logLine) []byte {
	var b bytes.Buffer
	for _, l := range lines {
		kubeletlogs.AppendFileLine(&b, l.at, l.stderr, l.text)
	}
	return b.Bytes()
}

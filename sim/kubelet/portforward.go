package kubelet

import (
	"context"
	"fmt"
	"io"
	"net/http"

	"k8s.io/cri-streaming/pkg/streaming/portforward"

	"github.com/ctrlplane/ctrlplane/sim/annotations"
	"github.com/ctrlplane/ctrlplane/sim/podhttp"
)

// servePortForward forwards ports of a Pod. That it listens on none is said for each connection: not all clients show why a
// handshake is refused.
func (a *kubeletAPI) servePortForward(w http.ResponseWriter, r *http.Request) error {
	pod, err := a.getPod(r.Context(), r.PathValue("namespace"), r.PathValue("pod"))
	if err != nil {
		return err
	}
	if err := a.checkStandby(); err != nil {
		return err
	}
	options, err := portforward.NewV4Options(r)
	if err != nil {
		return statusError{http.StatusBadRequest, err.Error()}
	}
	ctx, cancel := contextUntilHangup(r.Context())
	defer cancel()
	to := portForwarder{ctx, a, podhttp.Pod{Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID}}
	portforward.ServePortForward(w, r.WithContext(ctx), to, pod.Name, string(pod.UID), options, streamIdleTimeout, streamCreationTimeout, portforward.SupportedProtocols)
	return nil
}

// portForwarder forwards to the HTTP table of a Pod.
type portForwarder struct {
	hangup context.Context
	api    *kubeletAPI
	pod    podhttp.Pod
}

var _ portforward.PortForwarder = portForwarder{}

// PortForward implements portforward.PortForwarder.
func (f portForwarder) PortForward(ctx context.Context, _, _ string, port int32, stream io.ReadWriteCloser) error {
	server, ok := f.api.commands.HTTP.Pod(f.pod.UID)
	if !ok {
		return fmt.Errorf("pod %s is simulated and listens on no port: give it an annotation %s", f.pod.Name, annotations.HTTP)
	}
	if !server.Running || !server.Table.Listens(int(port)) {
		return fmt.Errorf("pod %s, port %d: %w", f.pod.Name, port, podhttp.ErrRefused)
	}
	conn := f.api.commands.HTTP.Connect(f.pod.UID, int(port))
	defer conn.Close()
	for _, ended := range []context.Context{ctx, f.hangup} {
		defer context.AfterFunc(ended, func() { conn.Close() })()
	}
	go func() { _, _ = io.Copy(conn, stream) }() // ends with the stream
	_, err := io.Copy(stream, conn)
	return err
}

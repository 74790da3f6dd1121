package kubelet

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/cri-streaming/pkg/streaming/remotecommand"
	kubecontainer "k8s.io/kubernetes/pkg/kubelet/container"

	"github.com/ctrlplane/ctrlplane/sim/container"
)

// The timeouts of a kubelet.
const (
	streamIdleTimeout     = 4 * time.Hour
	streamCreationTimeout = 30 * time.Second
)

// target is the running container that a request is for.
type target struct {
	api    *kubeletAPI
	pod    *corev1.Pod
	name   string
	number int32 // of its run
}

// runningTarget returns the container that a request is for. It is the error notFound if it
// is not running.
func (a *kubeletAPI) runningTarget(r *http.Request, notFound func(pod *corev1.Pod, name string) error) (*target, error) {
	pod, err := a.getPod(r.Context(), r.PathValue("namespace"), r.PathValue("pod"))
	if err != nil {
		return nil, err
	}
	name, uid := r.PathValue("container"), r.PathValue("uid")
	status, _ := containerStatus(pod, name)
	if kubecontainer.GetContainerSpec(pod, name) == nil || status.State.Running == nil || uid != "" && uid != string(pod.UID) {
		return nil, notFound(pod, name)
	}
	if err := a.checkStandby(); err != nil {
		return nil, err
	}
	return &target{a, pod, name, status.RestartCount}, nil
}

// The errors of a kubelet about a container that is not running, when a command is to run in it, and when a client
// is to be attached to it. A kubelet responds with status 500.

func noContainerForExec(_ *corev1.Pod, name string) error {
	return fmt.Errorf("container not found (%q)", name)
}

func noContainerForAttach(pod *corev1.Pod, name string) error {
	return fmt.Errorf("container %s not found in pod %s", name, kubecontainer.GetPodFullName(pod))
}

func (a *kubeletAPI) serveExec(w http.ResponseWriter, r *http.Request) error {
	to, options, err := a.streamTarget(r, noContainerForExec)
	if err != nil {
		return err
	}
	ctx, cancel := contextUntilHangup(r.Context())
	defer cancel()
	remotecommand.ServeExec(w, r.WithContext(ctx), to, to.pod.Name, string(to.pod.UID), to.name, r.Form["command"], options,
		streamIdleTimeout, streamCreationTimeout, remotecommand.SupportedStreamingProtocols)
	return nil
}

func (a *kubeletAPI) serveAttach(w http.ResponseWriter, r *http.Request) error {
	to, options, err := a.streamTarget(r, noContainerForAttach)
	if err != nil {
		return err
	}
	ctx, cancel := contextUntilHangup(r.Context())
	defer cancel()
	remotecommand.ServeAttach(w, r.WithContext(ctx), to, to.pod.Name, string(to.pod.UID), to.name, options,
		streamIdleTimeout, streamCreationTimeout, remotecommand.SupportedStreamingProtocols)
	return nil
}

// streamTarget reads a request for exec or attach.
func (a *kubeletAPI) streamTarget(r *http.Request, notFound func(pod *corev1.Pod, name string) error) (*target, *remotecommand.Options, error) {
	to, err := a.runningTarget(r, notFound)
	if err != nil {
		return nil, nil, err
	}
	options, err := remotecommand.NewOptions(r)
	if err != nil {
		return nil, nil, statusError{http.StatusBadRequest, err.Error()}
	}
	return to, options, nil
}

// serveRun runs a command and responds with its output.
func (a *kubeletAPI) serveRun(w http.ResponseWriter, r *http.Request) error {
	to, err := a.runningTarget(r, noContainerForExec)
	if err != nil {
		return err
	}
	if err := r.ParseForm(); err != nil {
		return statusError{http.StatusBadRequest, err.Error()}
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	return a.commands.Exec(r.Context(), to.pod, to.name, to.number, r.Form["cmd"], container.Streams{Stdout: w, Stderr: w})
}

var (
	_ remotecommand.Executor = (*target)(nil)
	_ remotecommand.Attacher = (*target)(nil)
)

// ExecInContainer implements remotecommand.Executor.
func (t *target) ExecInContainer(ctx context.Context, _, _, _ string, cmd []string, in io.Reader, out, errs io.WriteCloser, tty bool, resize <-chan remotecommand.TerminalSize, _ time.Duration) error {
	return t.api.commands.Exec(ctx, t.pod, t.name, t.number, cmd, streams(in, out, errs, tty, resize))
}

// AttachContainer implements remotecommand.Attacher. Without a command its error goes to the client's error stream: not all clients
// show why a handshake is refused.
func (t *target) AttachContainer(ctx context.Context, _, _, _ string, in io.Reader, out, errs io.WriteCloser, tty bool, resize <-chan remotecommand.TerminalSize) error {
	err := t.api.commands.Attach(ctx, t.pod, t.name, t.number, streams(in, out, errs, tty, resize))
	if errors.Is(err, container.ErrNoCommand) {
		return fmt.Errorf("pod %s is simulated: %w in container %s", t.pod.Name, err, t.name)
	}
	return err
}

// streams leaves out the streams that the client did not ask for.
func streams(in io.Reader, out, errs io.WriteCloser, tty bool, resize <-chan remotecommand.TerminalSize) container.Streams {
	s := container.Streams{TTY: tty, Sizes: resize}
	if in != nil {
		s.Stdin = in
	}
	if out != nil {
		s.Stdout = out
	}
	if errs != nil {
		s.Stderr = errs
	}
	return s
}

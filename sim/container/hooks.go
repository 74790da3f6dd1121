package container

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	kubecontainer "k8s.io/kubernetes/pkg/kubelet/container"
	"k8s.io/kubernetes/pkg/kubelet/util/format"

	"github.com/ctrlplane/ctrlplane/internal/sleep"
	"github.com/ctrlplane/ctrlplane/sim/shell"
)

// hook returns the postStart or the preStop hook of a container if it can run; nil
// otherwise.
func hook(c *corev1.Container, postStart bool) *corev1.LifecycleHandler {
	if c.Lifecycle == nil {
		return nil
	}
	h := c.Lifecycle.PreStop
	if postStart {
		h = c.Lifecycle.PostStart
	}
	if h == nil || h.Sleep == nil && (h.Exec == nil || !canExec(c, h.Exec.Command)) && findPort(c, h.HTTPGet, nil) == nil {
		return nil
	}
	return h
}

// failsPostStart reports whether the postStart hook of a container asks a port that it does not have.
func failsPostStart(c *corev1.Container) bool {
	return c.Lifecycle != nil && c.Lifecycle.PostStart != nil && findPort(c, c.Lifecycle.PostStart.HTTPGet, nil) != nil
}

// runsHook reports whether a run has a postStart hook that runs, unless its command turns out to be unknown.
func (r *run) runsHook(c *corev1.Container) bool {
	return hook(c, true) != nil && mayExecute(c, r.args) || r.serves && failsPostStart(c)
}

// Skipped returns which hooks and probes of a container are skipped if nothing runs in it.
func Skipped(of *corev1.Pod, c *corev1.Container) (list []string) {
	if c.Lifecycle != nil && c.Lifecycle.PostStart != nil && !failsPostStart(c) {
		list = append(list, "postStart hook")
	}
	if c.Lifecycle != nil && c.Lifecycle.PreStop != nil && c.Lifecycle.PreStop.Sleep == nil && StopDelay(c) == 0 {
		list = append(list, "preStop hook")
	}
	for _, p := range []*corev1.Probe{c.StartupProbe, c.ReadinessProbe, c.LivenessProbe} {
		if p != nil && p.Exec != nil && !DecidesWithoutCommand(of, c) {
			return append(list, "exec probes")
		}
	}
	return list
}

// StopDelay returns how long the preStop hook of a container sleeps, 0 if it does anything else: that may need the
// image of the container.
func StopDelay(c *corev1.Container) time.Duration {
	if c.Lifecycle == nil || c.Lifecycle.PreStop == nil {
		return 0
	}
	h := c.Lifecycle.PreStop
	if h.Sleep != nil {
		return Seconds(h.Sleep.Seconds)
	}
	if h.Exec == nil {
		return 0
	}
	d, sleeps := shell.OnlySleeps(h.Exec.Command)
	if sleeps && d < 0 { // until it is killed
		d = math.MaxInt64
	}
	return d
}

// runHook runs a hook. Its error is what a kubelet says of a hook that has failed.
func (s *session) runHook(ctx context.Context, r *run, of *corev1.Pod, c *corev1.Container, h *corev1.LifecycleHandler) error {
	if h.Sleep != nil {
		if !sleep.For(ctx, Seconds(h.Sleep.Seconds)) {
			return context.Cause(ctx)
		}
		return nil
	}
	if err := findPort(c, h.HTTPGet, nil); err != nil {
		return fmt.Errorf("HTTP lifecycle hook (%s) for Container %q in Pod %q failed - error: %w", h.HTTPGet.Path, c.Name, format.Pod(of), err)
	}
	stdout, stderr := &limitedBuffer{}, &limitedBuffer{}
	code, err := s.runBeside(ctx, r, of, c, h.Exec.Command, stdout, stderr)
	if err == nil && code != 0 {
		err = fmt.Errorf("command '%s' exited with %d: %s", strings.Join(h.Exec.Command, " "), code, stderr)
	}
	if err == nil {
		return nil
	}
	return fmt.Errorf("Exec lifecycle hook (%v) for Container %q in Pod %q failed - error: %w, message: %q",
		h.Exec.Command, c.Name, format.Pod(of), err, stdout.String()+stderr.String())
}

const maxCaptured = 10 << 10 // as the kubelet captures of a probe

// capture runs a command in a container and returns its exit code and its output.
func (s *session) capture(ctx context.Context, r *run, of *corev1.Pod, c *corev1.Container, args []string) (int, string, error) {
	output := &limitedBuffer{}
	code, err := s.runBeside(ctx, r, of, c, args, output, output)
	return code, output.String(), err
}

// runBeside runs a command in a container beside that of the container, and returns its exit code.
func (s *session) runBeside(ctx context.Context, r *run, of *corev1.Pod, c *corev1.Container, args []string, stdout, stderr io.Writer) (int, error) {
	b, err := s.openBox(r, of, c)
	if err != nil {
		return 0, err
	}
	config := b.config(args)
	config.Stdout, config.Stderr = stdout, stderr
	result, err := shell.Run(ctx, config)
	return result.ExitCode, err
}

// limitedBuffer keeps the beginning of what is written to it.
type limitedBuffer struct{ bytes.Buffer }

// Write implements io.Writer.
func (b *limitedBuffer) Write(p []byte) (int, error) {
	b.Buffer.Write(p[:min(len(p), max(maxCaptured-b.Len(), 0))])
	return len(p), nil
}

// runPostStart runs the postStart hook of a run, which may be running after that.
func (s *session) runPostStart(r *run, of *corev1.Pod, c *corev1.Container, ended <-chan struct{}) {
	ctx, cancel := context.WithCancel(r.ctx)
	defer cancel()
	s.wg.Go(func() {
		select {
		case <-ended:
			cancel()
		case <-ctx.Done():
		}
	})
	err := s.runHook(ctx, r, of, c, hook(c, true))
	if ctx.Err() != nil { // the run has ended
		return
	}
	if err != nil {
		s.mu.Lock()
		r.state.HookError = err.Error()
		s.mu.Unlock()
		s.cfg.RecordEvent(of, r.name, corev1.EventTypeWarning, "FailedPostStartHook", "PostStartHook failed"+unknownPort(c, hook(c, true)))
		s.cfg.RecordEvent(of, r.name, corev1.EventTypeNormal, "Killing", "FailedPostStartHook")
		s.stopRun(r, of, c, time.Now().Add(gracePeriod(of, nil)))
		return
	}
	s.mu.Lock()
	s.begin(r, of, c)
	s.mu.Unlock()
	s.changed(r.pod) // also of containers that wait for the hook
}

// preStop runs the preStop hook of a run until ctx ends, with its grace period.
func (s *session) preStop(ctx context.Context, r *run, of *corev1.Pod, c *corev1.Container) {
	h := hook(c, false)
	if h == nil || ctx.Err() != nil {
		return
	}
	// A hook that sleeps does not fail when the grace period ends: upstream does not end it.
	if err := s.runHook(ctx, r, of, c, h); err != nil && r.ctx.Err() == nil && h.Sleep == nil {
		s.cfg.RecordEvent(of, r.name, corev1.EventTypeWarning, "FailedPreStopHook", "PreStopHook failed"+unknownPort(c, h))
	}
}

// unknownPort returns what the event of a failed hook says besides upstream's words: that a port is not found, as the status
// says so for a moment at most. Other errors stay out of events, as upstream's do: they may contain secrets.
func unknownPort(c *corev1.Container, h *corev1.LifecycleHandler) string {
	if err := findPort(c, h.HTTPGet, nil); err != nil {
		return ": " + err.Error()
	}
	return ""
}

// containerOf returns a container of a Pod, also an ephemeral one.
func containerOf(of *corev1.Pod, name string) *corev1.Container {
	if c := kubecontainer.GetContainerSpec(of, name); c != nil {
		return c
	}
	return &corev1.Container{Name: name}
}

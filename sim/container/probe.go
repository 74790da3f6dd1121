package container

import (
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	kubecontainer "k8s.io/kubernetes/pkg/kubelet/container"

	"github.com/ctrlplane/ctrlplane/sim/podconfig"
)

// The kinds of probes, as events name them.
const (
	startupProbe   = "Startup"
	readinessProbe = "Readiness"
	livenessProbe  = "Liveness"
)

// runsProbe reports whether a probe is really made. Upstream's prober is not used: it
// would connect to the addresses of Pods, which do not exist, and its goroutines
// cannot be joined.
func runsProbe(of *corev1.Pod, c *corev1.Container, p *corev1.Probe) bool {
	switch {
	case p == nil:
		return false
	case p.Exec != nil:
		return canExec(c, p.Exec.Command)
	}
	return isAnswered(of, c, p)
}

// ProbesNotMade names the probes of a container that succeed without being made, though its command runs.
func ProbesNotMade(of *corev1.Pod, c *corev1.Container) (names []string) {
	for _, probe := range []struct {
		kind string
		*corev1.Probe
	}{{startupProbe, c.StartupProbe}, {readinessProbe, c.ReadinessProbe}, {livenessProbe, c.LivenessProbe}} {
		if probe.Probe != nil && !runsProbe(of, c, probe.Probe) {
			names = append(names, strings.ToLower(probe.kind)+" probe")
		}
	}
	return names
}

// probe starts the probes of a run that can run. It needs the lock.
func (s *session) probe(r *run, of *corev1.Pod, c *corev1.Container) {
	startup, readiness, liveness := runsProbe(of, c, c.StartupProbe), runsProbe(of, c, c.ReadinessProbe), runsProbe(of, c, c.LivenessProbe)
	if !startup && !readiness && !liveness {
		return
	}
	s.wg.Go(func() {
		if startup && !s.awaitStartup(r, of, c) {
			return
		}
		if readiness {
			s.wg.Go(func() { s.probeReadiness(r, of, c) })
		}
		if liveness {
			s.probeLiveness(r, of, c)
		}
	})
}

// awaitStartup returns true when the startup probe has succeeded. If it fails, it
// stops the container.
func (s *session) awaitStartup(r *run, of *corev1.Pod, c *corev1.Container) (started bool) {
	s.repeat(r, of, c, startupProbe, c.StartupProbe, func(success bool) bool {
		if !success {
			s.killUnhealthy(r, of, c, "startup", c.StartupProbe)
			return false
		}
		s.mu.Lock()
		r.state.Started, r.state.Ready = true, !runsProbe(of, c, c.ReadinessProbe)
		s.mu.Unlock()
		s.changed(r.pod)
		started = true
		return false
	})
	return started
}

func (s *session) probeReadiness(r *run, of *corev1.Pod, c *corev1.Container) {
	s.repeat(r, of, c, readinessProbe, c.ReadinessProbe, func(success bool) bool {
		s.mu.Lock()
		changed := r.state.Phase == Running && r.state.Ready != success
		if changed {
			r.state.Ready = success
		}
		s.mu.Unlock()
		if changed {
			s.changed(r.pod)
		}
		return true
	})
}

func (s *session) probeLiveness(r *run, of *corev1.Pod, c *corev1.Container) {
	s.repeat(r, of, c, livenessProbe, c.LivenessProbe, func(success bool) bool {
		if !success {
			s.killUnhealthy(r, of, c, "liveness", c.LivenessProbe)
		}
		return success
	})
	s.noteResult(r, of, 0, 0, time.Time{}, 0)
}

// killUnhealthy stops a run whose probe has failed. As with a kubelet, the policy decides
// before that whether the container restarts, without its rules.
func (s *session) killUnhealthy(r *run, of *corev1.Pod, c *corev1.Container, kind string, p *corev1.Probe) {
	s.mu.Lock()
	if r.stopping || r.pod.stopping || r.state.Phase == Ended {
		s.mu.Unlock()
		return
	}
	r.state.Unhealthy = restartPolicy(of, c) != corev1.ContainerRestartPolicyNever
	message := unhealthyMessage(r, kind)
	s.mu.Unlock()
	s.cfg.RecordEvent(of, r.name, corev1.EventTypeNormal, "Killing", message)
	s.stopRun(r, of, c, time.Now().Add(gracePeriod(of, p)))
}

// unhealthyMessage returns what a kubelet says of a run that it kills because of a probe.
func unhealthyMessage(r *run, kind string) string {
	switch {
	case r.sidecar:
		return fmt.Sprintf("Init container %s failed %s probe", r.name, kind)
	case r.state.Unhealthy:
		return fmt.Sprintf("Container %s failed %s probe, will be restarted", r.name, kind)
	}
	return fmt.Sprintf("Container %s failed %s probe", r.name, kind)
}

// restartPolicy returns the restart policy of a container: its own, or else that of its Pod.
func restartPolicy(of *corev1.Pod, c *corev1.Container) corev1.ContainerRestartPolicy {
	if c.RestartPolicy != nil {
		return *c.RestartPolicy
	}
	return corev1.ContainerRestartPolicy(of.Spec.RestartPolicy)
}

// repeat makes a probe until its run ends or report returns false. It reports each
// result that has been seen as often as the threshold asks for. As with a kubelet, the initial delay
// begins when the container starts, and only readiness is probed while the Pod stops.
func (s *session) repeat(r *run, of *corev1.Pod, c *corev1.Container, kind string, p *corev1.Probe, report func(success bool) bool) {
	period := time.Duration(max(p.PeriodSeconds, 1)) * time.Second
	s.mu.Lock()
	first := r.state.StartedAt.Add(time.Duration(p.InitialDelaySeconds) * time.Second)
	s.mu.Unlock()
	timer := time.NewTimer(time.Until(first))
	defer timer.Stop()
	times, last := int32(0), false
	for {
		select {
		case <-timer.C:
		case <-r.ctx.Done():
			return
		}
		timer.Reset(period)
		next := time.Now().Add(period)
		if kind != readinessProbe && s.isStopping(r.pod) {
			return
		}
		success, err := s.probeOnce(r, of, c, kind, p)
		if r.ctx.Err() != nil {
			return
		}
		if err != nil {
			continue
		}
		if success != last {
			times, last = 0, success
		}
		threshold := max(p.FailureThreshold, 1)
		if success {
			threshold = max(p.SuccessThreshold, 1)
		}
		times++
		if kind == livenessProbe {
			failures := times
			if success {
				failures = 0
			}
			s.noteResult(r, of, failures, threshold, next, period)
		}
		if times >= threshold && !report(success) {
			return
		}
	}
}

func (s *session) isStopping(p *pod) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return p.stopping
}

// probeOnce makes a probe. An error says why it cannot be made: as with a kubelet, it has neither succeeded nor failed then.
func (s *session) probeOnce(r *run, of *corev1.Pod, c *corev1.Container, kind string, p *corev1.Probe) (success bool, err error) {
	timeout := time.Duration(max(p.TimeoutSeconds, 1)) * time.Second
	ctx, cancel := context.WithTimeout(r.ctx, timeout)
	defer cancel()
	output, outcome := "", "failed"
	if p.Exec == nil {
		success, output, err = s.probeTable(of, c, p)
	} else {
		success, output = s.probeExec(ctx, r, of, c, p)
	}
	if err != nil {
		outcome, output = "errored and resulted in unknown state", err.Error()
	}
	if r.ctx.Err() == nil && !success {
		s.cfg.RecordEvent(of, r.name, corev1.EventTypeWarning, "Unhealthy", fmt.Sprintf("%s probe %s: %s", kind, outcome, output))
	}
	return success, err
}

// probeExec makes a probe with a command.
func (s *session) probeExec(ctx context.Context, r *run, of *corev1.Pod, c *corev1.Container, p *corev1.Probe) (success bool, output string) {
	static := make([]kubecontainer.EnvVar, len(c.Env)) // a probe sees no other values
	for i, v := range c.Env {
		static[i] = kubecontainer.EnvVar{Name: v.Name, Value: v.Value}
	}
	args, err := podconfig.ExpandCommand(p.Exec.Command, static)
	code := 0
	if err == nil {
		code, output, err = s.capture(ctx, r, of, c, args)
	}
	switch {
	case ctx.Err() != nil:
		return false, fmt.Sprintf("command timed out: \"%s\" timed out after %v", strings.Join(p.Exec.Command, " "), time.Duration(max(p.TimeoutSeconds, 1))*time.Second)
	case err != nil:
		return false, err.Error()
	}
	return code == 0, output
}

package container

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/kubelet/events"

	"github.com/ctrlplane/ctrlplane/sim/podconfig"
	"github.com/ctrlplane/ctrlplane/sim/shell"
)

// needsPreparation reports whether a run can start only after a look at the API, or
// after a hook.
func needsPreparation(spec Spec) bool {
	c := spec.Container
	return NeedsPreparation(spec.Pod, c) || MayRun(c, spec.Args) || CanRun(c, spec.Args) && hook(c, true) != nil
}

// mountsObjects reports whether a container mounts a volume that may not exist yet.
func (s *session) mountsObjects(of *corev1.Pod, c *corev1.Container) bool {
	return slices.ContainsFunc(of.Spec.Volumes, func(v corev1.Volume) bool {
		if podconfig.IsServiceAccount(&v) && s.hasRootCA(of.Namespace) {
			return false
		}
		return (podconfig.HasFiles(&v) || v.PersistentVolumeClaim != nil || v.Ephemeral != nil) &&
			isMountedBy(c, &v)
	})
}

// How long a blocked run waits until it tries again, as a kubelet does for a volume.
const (
	firstRetry = 500 * time.Millisecond
	maxRetry   = 2 * time.Minute
)

// wake makes a blocked run check again whether it can start.
func (r *run) wake() {
	select {
	case r.retry <- struct{}{}:
	default:
	}
}

// prepare waits until all that a run needs exists, and starts it.
func (s *session) prepare(r *run, of *corev1.Pod, c *corev1.Container) {
	for wait := firstRetry; ; wait = min(2*wait, maxRetry) {
		err := s.check(r, of, c)
		if err == nil && mayExecute(c, r.args) {
			_, err = s.openBox(r, of, c)
		}
		if err == nil {
			s.startPrepared(r, of, c)
			return
		}
		if r.ctx.Err() != nil {
			return
		}
		s.block(r, of, err)
		again := time.NewTimer(wait)
		select {
		case <-r.retry:
		case <-again.C:
		case <-r.ctx.Done():
		}
		if again.Stop(); r.ctx.Err() != nil {
			return
		}
		s.mu.Lock()
		if n := r.pod.newest; n != nil { // another container may have started, which drops it
			of = n
		}
		s.mu.Unlock()
		c = containerOf(of, r.name) // its image may be another
	}
}

// check returns why a run cannot start.
func (s *session) check(r *run, of *corev1.Pod, c *corev1.Container) error {
	for on := range podconfig.References(of, c) {
		if err := s.depend(r.ctx, of.UID, on); err != nil {
			return err
		}
	}
	if err := s.mountVolumes(r, of, c); err != nil {
		return err
	}
	if err := checkImageName(c.Image); err != nil {
		return err
	}
	env, err := podconfig.Environment(r.ctx, of, c, s)
	if err != nil {
		return err
	}
	for i := range c.VolumeMounts {
		if _, err := subPathOf(&c.VolumeMounts[i], env); err != nil {
			return err
		}
	}
	return checkNonRoot(of, c)
}

// block makes a run wait, for the reason that its status shows.
func (s *session) block(r *run, of *corev1.Pod, err error) {
	s.mu.Lock()
	was := r.state
	r.state.Phase, r.state.Reason, r.state.Message, r.state.Temporary = Blocked, "CreateContainerConfigError", err.Error(), isTemporary(err)
	switch {
	case isMountError(err):
		r.state.Reason, r.state.Message = "", ""
	case isImageError(err):
		r.state.Reason = "InvalidImageName"
	}
	changed, reason := was != r.state, r.state.Reason
	s.mu.Unlock()
	if !changed {
		return
	}
	switch {
	case isMountError(err):
		s.cfg.RecordEvent(of, "", corev1.EventTypeWarning, events.FailedMountVolume, err.Error())
	case isImageError(err):
		s.cfg.RecordEvent(of, r.name, corev1.EventTypeWarning, events.FailedToInspectImage, err.Error())
		s.cfg.RecordEvent(of, r.name, corev1.EventTypeWarning, events.FailedToCreateContainer, "Error: "+reason)
	default:
		s.cfg.RecordEvent(of, r.name, corev1.EventTypeWarning, events.FailedToCreateContainer, "Error: "+err.Error())
	}
	s.changed(r.pod)
}

// startPrepared starts a run that was blocked.
func (s *session) startPrepared(r *run, of *corev1.Pod, c *corev1.Container) {
	canRun := CanRun(c, r.args)
	if !canRun && MayRun(c, r.args) {
		if b, err := s.openBox(r, of, c); err == nil {
			args, err := b.expand(r.args)
			canRun = err == nil && shell.CanRunIn(b.files, args) && len(shell.UnknownProgramsIn(b.files, args)) == 0
		}
	}
	if canRun {
		s.mu.Lock()
		r.state.Command = true
		s.mu.Unlock()
		s.execute(r, of, c)
		return
	}
	s.mu.Lock()
	s.beginWithoutCommand(r, of, c)
	s.mu.Unlock()
	s.changed(r.pod)
}

package container

import (
	"context"
	"slices"
	"strings"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	kubecontainer "k8s.io/kubernetes/pkg/kubelet/container"
	"k8s.io/kubernetes/pkg/kubelet/events"
	"k8s.io/kubernetes/third_party/forked/golang/expansion"

	"github.com/ctrlplane/ctrlplane/sim/podconfig"
	"github.com/ctrlplane/ctrlplane/sim/shell"
)

// Exit codes of commands that a signal ended.
const (
	exitSIGTERM = 128 + int(syscall.SIGTERM)
	exitSIGKILL = 128 + int(syscall.SIGKILL)
)

// CanRun reports whether all programs of a command of a container are known.
func CanRun(c *corev1.Container, args []string) bool {
	if len(args) == 0 {
		return false
	}
	args = guessVariables(c, args)
	return shell.Runs(args) && len(unknownPrograms(args)) == 0
}

// UnknownPrograms returns the programs of a command of a container that are not known.
func UnknownPrograms(c *corev1.Container, args []string) []string {
	return unknownPrograms(guessVariables(c, args))
}

// maxGuessedBytes is how much the values of variables may add to a command. Beyond it
// they are not part of the guess.
const maxGuessedBytes = 128 << 10

// guessVariables replaces the variables in a command before their values are known:
// to a shell, $(NAME) is a command.
func guessVariables(c *corev1.Container, args []string) []string {
	if !refersToVariables(args) {
		return args
	}
	values := make(map[string]string, len(c.Env))
	for _, v := range c.Env {
		values[v.Name] = v.Value
	}
	room := maxGuessedBytes
	mapping := func(name string) string {
		if value, set := values[name]; set {
			if room -= len(value); value == "" || room < 0 {
				return "x"
			}
			return value
		}
		isSource := len(c.EnvFrom) > 0 || strings.Contains(name, "_SERVICE_") || strings.Contains(name, "_PORT")
		if isSource && !shell.Runs([]string{name}) {
			return "x"
		}
		return "$(" + name + ")"
	}
	guessed := make([]string, len(args))
	for i, arg := range args {
		guessed[i] = expansion.Expand(arg, mapping)
	}
	return guessed
}

// MayRun reports whether a command may turn out to be one that can run, because the
// programs that are not known are files of its volumes.
func MayRun(c *corev1.Container, args []string) bool {
	if len(args) == 0 || len(c.VolumeMounts) == 0 {
		return false
	}
	unknown := UnknownPrograms(c, args)
	return len(unknown) > 0 && !slices.ContainsFunc(unknown, func(name string) bool { return !isMounted(c, name) })
}

// isMounted reports whether a file is in a volume of a container.
func isMounted(c *corev1.Container, name string) bool {
	return slices.ContainsFunc(c.VolumeMounts, func(m corev1.VolumeMount) bool {
		return name == m.MountPath || strings.HasPrefix(name, strings.TrimSuffix(m.MountPath, "/")+"/")
	})
}

// NeedsPreparation reports whether a container can start only after a look at the API.
func NeedsPreparation(pod *corev1.Pod, c *corev1.Container) bool {
	for range podconfig.References(pod, c) {
		return true
	}
	if podconfig.NeedsFiles(c) || checkImageName(c.Image) != nil || checkNonRoot(pod, c) != nil {
		return true
	}
	for i := range pod.Spec.Volumes {
		if podconfig.HasTrustBundle(&pod.Spec.Volumes[i]) {
			return true
		}
	}
	return slices.ContainsFunc(c.VolumeMounts, func(m corev1.VolumeMount) bool { return m.SubPathExpr != "" })
}

// run is a run of a container. The lock of its session guards its fields, except for
// those that never change.
type run struct {
	pod      *pod
	name     string // of the container
	number   int32
	sidecar  bool
	args     []string
	serves   bool
	tty      bool
	ctx      context.Context // ends when the command is killed
	cancel   context.CancelFunc
	log      Log
	state    State
	stopping bool // it was asked to end

	cancelHook context.CancelFunc // while its preStop hook runs
	graceUntil time.Time          // after its preStop hook: it is not killed before

	retry   chan struct{}       // while it is blocked: receives when it may be no longer
	signals chan syscall.Signal // while its command runs in the shell
	timer   *time.Timer         // while its command sleeps
	done    chan struct{}       // closed when its command has ended; nil until something waits
	box     *box                // its files; nil until something needs them
	stdio   *stdio              // nil unless clients can attach
}

// run implements Runtime.Run.
func (s *session) run(spec Spec) State {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.find(spec.Pod.UID, spec.Container.Name, spec.Number); r != nil {
		if r.state.Phase == Blocked {
			r.pod.newest = spec.Pod
			r.wake()
		}
		return r.state
	}
	if p := s.pods[spec.Pod.UID]; p != nil && p.stopping || s.ctx.Err() != nil {
		return State{}
	}
	r := &run{name: spec.Container.Name, number: spec.Number, args: spec.Args, sidecar: spec.Sidecar, serves: spec.Serves, tty: spec.Container.TTY}
	r.ctx, r.cancel = context.WithCancel(s.ctx)
	s.add(spec.Pod, r)
	c := spec.Container
	d, sleeps := time.Duration(0), false
	if CanRun(c, r.args) && !refersToVariables(r.args) && !c.Stdin && !c.TTY {
		d, sleeps = shell.Sleeps(r.args)
	}
	prepared := !needsPreparation(spec) && (sleeps || !CanRun(c, r.args) || !s.mountsObjects(spec.Pod, c))
	if len(r.args) > 0 && !(prepared && sleeps) {
		r.stdio = newStdio(c.Stdin, c.StdinOnce)
	}
	switch {
	case !prepared:
		r.retry = make(chan struct{}, 1)
		r.pod.newest = spec.Pod
		s.wg.Go(func() { s.prepare(r, spec.Pod, c) })
	case sleeps:
		r.state.Command = true
		s.begin(r, spec.Pod, c)
		s.sleep(r, d)
	case CanRun(c, r.args):
		r.state.Command = true
		s.begin(r, spec.Pod, c)
		s.wg.Go(func() { s.execute(r, spec.Pod, c, nil) })
	default:
		s.begin(r, spec.Pod, c)
	}
	return r.state
}

func refersToVariables(args []string) bool {
	return slices.ContainsFunc(args, func(a string) bool { return strings.Contains(a, "$(") })
}

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
			slices.ContainsFunc(c.VolumeMounts, func(m corev1.VolumeMount) bool { return m.Name == v.Name })
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

// sourcesChanged is called when objects have changed that Pods depend on.
func (s *session) sourcesChanged(pods []types.UID) {
	for _, uid := range pods {
		s.mu.Lock()
		p := s.pods[uid]
		var refresh bool
		if p != nil {
			refresh = p.volumes != nil
			for _, c := range p.containers {
				if c.current.state.Phase == Blocked {
					c.current.wake()
				}
			}
		}
		s.mu.Unlock()
		if refresh {
			s.wg.Go(func() { s.refresh(p) })
		}
	}
}

// prepare waits until all that a run needs exists, and starts it.
func (s *session) prepare(r *run, of *corev1.Pod, c *corev1.Container) {
	for wait := firstRetry; ; wait = min(2*wait, maxRetry) {
		env, err := s.check(r, of, c)
		if err == nil && (CanRun(c, r.args) || MayRun(c, r.args)) {
			_, err = s.openBox(r, of, c)
		}
		if err == nil {
			s.startPrepared(r, of, c, env)
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

// check returns the environment of a run, or why it cannot start.
func (s *session) check(r *run, of *corev1.Pod, c *corev1.Container) ([]kubecontainer.EnvVar, error) {
	for on := range podconfig.References(of, c) {
		if err := s.depend(r.ctx, of.UID, on); err != nil {
			return nil, err
		}
	}
	if err := s.checkVolumes(r.ctx, of); err != nil {
		return nil, err
	}
	if err := checkImageName(c.Image); err != nil {
		return nil, err
	}
	env, err := podconfig.Environment(r.ctx, of, c, s)
	if err != nil {
		return nil, err
	}
	for i := range c.VolumeMounts {
		if _, err := subPathOf(&c.VolumeMounts[i], env); err != nil {
			return nil, err
		}
	}
	return env, checkNonRoot(of, c)
}

// block makes a run wait, for the reason that its status shows.
func (s *session) block(r *run, of *corev1.Pod, err error) {
	s.mu.Lock()
	was := r.state
	r.state.Phase, r.state.Reason, r.state.Message = Blocked, "CreateContainerConfigError", err.Error()
	switch {
	case isMountError(err):
		r.state.Reason, r.state.Message = "ContainerCreating", ""
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

// startPrepared starts a run that is no longer blocked.
func (s *session) startPrepared(r *run, of *corev1.Pod, c *corev1.Container, env []kubecontainer.EnvVar) {
	canRun := CanRun(c, r.args)
	if !canRun && MayRun(c, r.args) {
		if b, err := s.openBox(r, of, c); err == nil {
			args, err := b.expand(r.args)
			canRun = err == nil && shell.RunsFile(b.files, args) && len(shell.UnknownFile(b.files, args)) == 0
		}
	}
	if canRun {
		s.mu.Lock()
		r.state.Command = true
		s.mu.Unlock()
		s.execute(r, of, c, env)
		return
	}
	s.mu.Lock()
	s.begin(r, of, c)
	s.mu.Unlock()
	s.changed(r.pod)
}

// begin makes a run running. It needs the lock.
func (s *session) begin(r *run, of *corev1.Pod, c *corev1.Container) {
	if r.state.Phase == Ended {
		return
	}
	r.state.Phase, r.state.Reason, r.state.Message, r.state.StartedAt = Running, "", "", time.Now()
	if r.pod.volumes == nil {
		r.pod.newest = nil
	}
	r.state.Probed = r.serves && !r.state.Command
	if !r.state.Decides() {
		r.state.Started, r.state.Ready = true, true
		return
	}
	r.state.Started = !runsProbe(of, c, c.StartupProbe)
	r.state.Ready = r.state.Started && !runsProbe(of, c, c.ReadinessProbe)
	s.probe(r, of, c)
}

// sleep makes a timer the command of a run. It needs the lock.
func (s *session) sleep(r *run, d time.Duration) {
	if d < 0 {
		d = 1<<63 - 1
	}
	r.timer = time.AfterFunc(d, func() { s.end(r, nil, 0, "", "") })
}

// execute runs the command of a run until it ends. env is nil if it is not known yet.
func (s *session) execute(r *run, of *corev1.Pod, c *corev1.Container, env []kubecontainer.EnvVar) {
	b, err := s.openBox(r, of, c)
	if err != nil {
		s.end(r, c, 128, "ContainerCannotRun", err.Error())
		return
	}
	args, err := b.expand(r.args)
	if err != nil {
		s.end(r, c, 128, "ContainerCannotRun", err.Error())
		return
	}
	signals := make(chan syscall.Signal, 8)
	config := b.config(args)
	config.Signals, config.TTY = signals, r.tty
	config.Stdout, config.Stderr = r.output(false), r.output(true)
	if r.tty {
		config.Stderr = config.Stdout
	}
	if r.stdio != nil {
		config.Stdin = r.stdio.stdin()
	}
	s.mu.Lock()
	r.signals = signals
	running := r.state.Phase == Running
	s.mu.Unlock()
	ended := make(chan struct{})
	if !running {
		s.wg.Go(func() { s.runPostStart(r, of, c, ended) })
	}
	result, err := shell.Run(r.ctx, config)
	close(ended)
	if err != nil {
		s.end(r, c, 128, "ContainerCannotRun", err.Error())
		return
	}
	s.end(r, c, int32(result.ExitCode), result.Reason, "")
}

// end records the end of a run. c is nil if the run has no files of its own.
func (s *session) end(r *run, c *corev1.Container, code int32, reason, message string) {
	s.mu.Lock()
	b := r.box
	s.mu.Unlock()
	r.log.close()
	if c != nil && message == "" {
		message = terminationMessage(b, c, code, &r.log)
	}
	s.mu.Lock()
	if r.state.Phase == Ended {
		s.mu.Unlock()
		return
	}
	if r.state.StartedAt.IsZero() { // before a hook has completed
		r.state.StartedAt = time.Now()
	}
	r.state.Phase, r.state.ExitCode, r.state.Message, r.state.FinishedAt = Ended, code, message, time.Now()
	r.state.Started, r.state.Ready = false, false
	if r.state.Reason = reason; reason == "" {
		r.state.Reason = shell.Completed
		if code != 0 {
			r.state.Reason = shell.Error
		}
	}
	r.box = nil
	if r.done != nil {
		close(r.done)
	}
	if r.stdio != nil {
		r.stdio.close()
	}
	r.cancel()
	s.mu.Unlock()
	if s.ctx.Err() == nil {
		s.changed(r.pod)
	}
}

// terminationMessage returns what a run has left for its status.
func terminationMessage(b *box, c *corev1.Container, code int32, log *Log) string {
	if b != nil && c.TerminationMessagePath != "" {
		if data, err := b.files.ReadFile(c.TerminationMessagePath); err == nil && len(data) > 0 {
			return string(data[max(len(data)-kubecontainer.MaxContainerTerminationMessageLength, 0):])
		}
	}
	if c.TerminationMessagePolicy == corev1.TerminationMessageFallbackToLogsOnError && code != 0 {
		return log.tail(kubecontainer.MaxContainerTerminationMessageLogLines, kubecontainer.MaxContainerTerminationMessageLogLength)
	}
	return ""
}

// ended returns a channel that is closed when a run has ended. It needs the lock.
func (r *run) ended() <-chan struct{} {
	if r.done == nil {
		r.done = make(chan struct{})
		if r.state.Phase == Ended {
			close(r.done)
		}
	}
	return r.done
}

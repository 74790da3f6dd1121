package nodes

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/ctrlplane/ctrlplane/internal/words"
)

// Due is a change that the simulated kubelets will make to a Pod without being triggered.
type Due struct {
	What   string // the Pod
	At     time.Time
	Reason string // why the Pod waits, if a container has failed: CrashLoopBackOff
	// Awaited says that it decides soon whether the Pod is healthy: a liveness probe has failed, and its container restarts or
	// it succeeds again.
	Awaited bool
}

// maxDue is how many Pods that wait for a restart NextDue returns, and how many failing probes.
const maxDue = 10

// NextDue returns the next change, and the next ones of Pods that wait for a restart, soonest first, and then the next
// liveness probes of containers that are about to be stopped for it.
func (f *Fleet) NextDue() []Due { return append(f.registry.nextDue(), f.registry.failingProbes()...) }

func (r *podRegistry) failingProbes() (due []Due) {
	if r.commands == nil {
		return nil
	}
	for _, p := range r.commands.FailingProbes(maxDue) {
		of := fmt.Sprintf("container %s of Pod %s/%s", p.Container, p.Namespace, p.Pod)
		what := fmt.Sprintf("the liveness probe of %s (failed %d of %s)", of, p.Failures, words.Count(p.Threshold, "time"))
		if p.Failures >= p.Threshold {
			what = fmt.Sprintf("the restart of %s (its liveness probe failed %s)", of, words.Count(p.Failures, "time"))
		}
		due = append(due, Due{What: what, At: p.Next, Awaited: true})
	}
	return due
}

func (r *podRegistry) nextDue() []Due {
	r.mu.Lock()
	defer r.mu.Unlock()
	var first Due
	var restarts []Due
	for _, e := range r.pods {
		if node := r.nodes[e.node]; e.deleting || node == nil || !node.live {
			continue
		}
		stage := r.nextStage(e)
		if stage.name == "" {
			continue
		}
		due := Due{What: "Pod " + e.key, At: stage.at}
		if stage.name == podStatusLater && waitsForRestart(e.duePod) {
			due.Reason = reasonCrashLoopBackOff
			restarts = append(restarts, due)
		}
		if first.At.IsZero() || due.At.Before(first.At) {
			first = due
		}
	}
	slices.SortFunc(restarts, func(a, b Due) int { return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.What, b.What)) })
	restarts = restarts[:min(len(restarts), maxDue)]
	if first.At.IsZero() || first.Reason != "" { // then it is the first of those
		return restarts
	}
	return slices.Insert(restarts, 0, first)
}

// nextStage returns what is next for a Pod.
func (r *podRegistry) nextStage(e *podEntry) dueStage {
	if e.play.user != nil {
		return e.play
	}
	var next dueStage
	if e.duePod != nil {
		at := placement{commands: commandRunner{runtime: r.commands}, backoffs: &e.backoffs, sandboxError: e.sandboxError} // the time does not depend on addresses
		next = nextPodStage(e.duePod, at, r.now())
	}
	if run := e.run; run != nil && !run.isOver && (next.name == "" || run.at.Before(next.at)) {
		return run.dueStage
	}
	return next
}

// waitsForRestart reports whether a container of a Pod waits for its restart.
func waitsForRestart(pod *corev1.Pod) bool {
	for _, s := range containersWithStatus(pod) {
		if s.State.Waiting != nil && s.State.Waiting.Reason == reasonCrashLoopBackOff {
			return true
		}
	}
	return false
}

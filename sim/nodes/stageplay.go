package nodes

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/kwok/pkg/apis/internalversion"
	"sigs.k8s.io/kwok/pkg/utils/lifecycle"

	"github.com/ctrlplane/ctrlplane/internal/neterror"
)

// maxStageStop is how long the end of the simulation waits for stages that are being played: a template cannot be
// interrupted.
const maxStageStop = 3 * time.Second

// The delays before a stage is tried again; they double. kwok's are up to a fifth longer.
const (
	minStageRetry = time.Second
	maxStageRetry = 32 * time.Minute
)

func stageRetryDelay(retries int) time.Duration {
	return min(minStageRetry<<min(retries, 20), maxStageRetry)
}

// stageWork is an object for which the stage of a user is due, or a run that is to be tried again.
type stageWork struct {
	key string
	run *stageRun
}

// stageQueue has what is to be played for the objects of a kind.
type stageQueue = workqueue.TypedDelayingInterface[stageWork]

// startStageWorkers starts n workers. They are not those of the player: a webhook may keep a step waiting.
func (s *simulation) startStageWorkers(n int, take func(key string) *stageRun) stageQueue {
	queue := workqueue.NewTypedDelayingQueue[stageWork]()
	for range n {
		s.stageWorkers.Go(func() { s.playStages(queue, take) })
	}
	return queue
}

// playStages plays the stages of users that are due until the queue is shut down.
func (s *simulation) playStages(queue stageQueue, take func(key string) *stageRun) {
	for {
		work, stopped := queue.Get()
		if stopped || s.ctx.Err() != nil {
			return
		}
		run := work.run
		if run == nil {
			run = take(work.key)
		} else if !s.registry.isCurrent(run) || !s.stages.has(run.user.stage) {
			run = nil
		}
		queue.Done(work) // what becomes due for the object meanwhile does not wait
		if run == nil {
			continue
		}
		if again := s.playStage(run); again > 0 {
			queue.AddAfter(stageWork{run: run}, again)
		}
	}
}

// awaitStageWorkers waits until no stage is being played, and names those that it leaves behind.
func (s *simulation) awaitStageWorkers() {
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.stageWorkers.Wait()
	}()
	select {
	case <-done:
	case <-time.After(maxStageStop):
		s.playing.Range(func(_, log any) bool {
			log.(*slog.Logger).Error("a stage does not end: it may use a processor until the process ends; correct its template", "waited", maxStageStop)
			return true
		})
	}
}

// playStage plays a stage from the first step that is to be done. It returns after which time that is to be tried again;
// 0 means never.
func (s *simulation) playStage(run *stageRun) (again time.Duration) {
	kind, _ := run.kind()
	log := s.log.With("stage", run.user.stage.object.Name, strings.ToLower(kind), cache.MetaObjectToName(run.object).String())
	s.playing.Store(run, log)
	defer s.playing.Delete(run)
	step, err := s.doSteps(withCause(s.ctx, run.cause), run)
	log = log.With("err", err)
	switch {
	case s.ctx.Err() != nil:
	case err == nil:
		s.registry.endRun(run, false)
	case run.isGone(err):
		log.Debug("a stage is not played to its end")
		s.registry.endRun(run, false)
	case isRetried(err):
		delay := stageRetryDelay(run.retries)
		run.step, run.retries = step, run.retries+1
		if s.registry.postponeRun(run, s.registry.now().Add(delay)) {
			log.Warn("cannot play a stage: retrying", "in", delay)
			return delay
		}
		log.Debug("a stage is not played to its end")
	default:
		about := run.reference()
		if !s.registry.endRun(run, true) {
			log.Debug("a stage is not played to its end")
			return 0
		}
		log.Error("cannot play a stage")
		s.recorder.Event(about, corev1.EventTypeWarning, "StageFailed", "stage "+run.user.stage.object.Name+": "+err.Error())
	}
	return 0
}

// isRetried reports whether kwok tries again after an error.
func isRetried(err error) bool {
	return neterror.IsRefused(err) || apierrors.IsServerTimeout(err) || apierrors.IsTimeout(err) ||
		apierrors.IsServiceUnavailable(err) || apierrors.IsTooManyRequests(err)
}

// isGone reports whether an error means that the object of the run was deleted. Others that the stage needs may be
// missing, too.
func (r *stageRun) isGone(err error) bool {
	_, resource := r.kind()
	return isStaleObjectError(err) || strings.HasSuffix(err.Error(), apierrors.NewNotFound(corev1.Resource(resource), r.object.GetName()).Error())
}

// doSteps does what is left of a stage, as kwok's controllers do it. It returns the first step that is not done.
func (s *simulation) doSteps(ctx context.Context, run *stageRun) (step int, err error) {
	return run.user.stage.compiled.DoSteps(
		run.step, run.object.GetFinalizers(), run.object, s.renderer,
		func(event *internalversion.StageEvent) error {
			s.recorder.Event(run.reference(), event.Type, event.Reason, event.Message)
			return nil
		},
		func() error { return s.deleteObject(ctx, run.object) },
		func(patch *lifecycle.Patch) error { return s.patchObject(ctx, run.object, patch) },
		func(apply *lifecycle.Apply) error {
			sync := run.writes.begin(ctx, cache.MetaObjectToName(run.object).String())
			defer sync.End("") // an event says why it has failed
			defer sync.Enter()()
			_, err := lifecycle.ApplyResource(ctx, s.stageClients.dynamic, s.stageClients.mapper, run.object.GetNamespace(), apply)
			return err
		},
	)
}

func (s *simulation) deleteObject(ctx context.Context, object metav1.Object) error {
	// Another object may have the name by now.
	options := metav1.DeleteOptions{GracePeriodSeconds: new(int64), Preconditions: metav1.NewUIDPreconditions(string(object.GetUID()))}
	if _, ok := object.(*corev1.Node); ok {
		return s.client.CoreV1().Nodes().Delete(ctx, object.GetName(), options)
	}
	return s.client.CoreV1().Pods(object.GetNamespace()).Delete(ctx, object.GetName(), options)
}

// patchObject patches an object. Unlike kwok, it leaves it to the API server to notice that a patch changes nothing.
func (s *simulation) patchObject(ctx context.Context, object metav1.Object, patch *lifecycle.Patch) (err error) {
	if patch.Impersonation != nil {
		return errors.New("stages cannot impersonate a user: remove impersonation from the patch")
	}
	var subresources []string
	if patch.Subresource != "" {
		subresources = []string{patch.Subresource}
	}
	if _, ok := object.(*corev1.Node); ok {
		_, err = s.client.CoreV1().Nodes().Patch(ctx, object.GetName(), patch.Type, patch.Data, metav1.PatchOptions{}, subresources...)
	} else {
		_, err = s.client.CoreV1().Pods(object.GetNamespace()).Patch(ctx, object.GetName(), patch.Type, patch.Data, metav1.PatchOptions{}, subresources...)
	}
	return err
}

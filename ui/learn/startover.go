package learn

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// errNamespaceDeleted says that the lesson's namespace does not exist any more, or is being
// deleted: nothing can be created in it.
var errNamespaceDeleted = errors.New("the lesson's namespace was deleted")

// requireNamespace returns errNamespaceDeleted if the reader has deleted the namespace. Any
// other answer is not about the namespace: what the lesson does next shows what is wrong, and
// the reader may just be starting the control plane again.
func (r *runner) requireNamespace(ctx context.Context) error {
	if r.Auto || r.replaying {
		return nil
	}
	ns, err := r.plane.objects.Resource(namespaceResource).Get(ctx, r.shell.namespace, metav1.GetOptions{})
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case apierrors.IsNotFound(err), err == nil && ns.GetDeletionTimestamp() != nil:
		return errNamespaceDeleted
	}
	return nil
}

// runStepToItsEnd runs a step, again if the reader has deleted the namespace and wants it
// back.
func (r *runner) runStepToItsEnd(ctx context.Context, s *Step) error {
	for {
		err := r.runStep(ctx, s)
		if !errors.Is(err, errNamespaceDeleted) {
			return err
		}
		if err := r.confirmStartOver(ctx); err != nil {
			return err
		}
		if err := r.reachStep(ctx, r.startOver); err != nil {
			return fmt.Errorf("cannot create namespace %s again: %w", r.shell.namespace, err)
		}
	}
}

// confirmStartOver says what has happened, and asks whether to go on.
func (r *runner) confirmStartOver(ctx context.Context) error {
	r.printf("\n%s", r.wrap(r.bad(r.Glyph("✗ ", "x ")), "  ", r.renderInline("The namespace `"+r.shell.namespace+
		"` was deleted, and with it everything that you and the lesson have created there.")))
	for {
		line, err := r.readLine(ctx, r.faint(`Press Enter to create it again and repeat this step, or type "quit" to leave: `))
		switch {
		case err != nil:
			return err
		case line == "":
			return nil
		case line == "quit" || line == "exit":
			return errReaderLeft
		}
	}
}

// reachStep brings the lesson into the state in which the current step begins. A reader who interrupts that, and stays,
// starts over: a part of it may be done.
func (r *runner) reachStep(ctx context.Context, run func(context.Context) error) error {
	for {
		if stays, err := r.runInterruptibly(ctx, run); !stays {
			return err
		}
		run = r.startOver
	}
}

// startOver removes what is left of the lesson, creates its namespace again, and repeats the
// steps before the current one.
func (r *runner) startOver(ctx context.Context) error {
	if err := r.clearLesson(ctx); err != nil {
		return err
	}
	return r.replaySteps(ctx)
}

// clearLesson brings the lesson into the state before its first step.
func (r *runner) clearLesson(ctx context.Context) error {
	defer r.sayIfSlow("Deleting namespace " + r.shell.namespace + " and creating it again …")()
	r.shell.stopJobs()
	r.shell.jobsStarted = 0
	_, err := r.plane.revertState(ctx, r.initial, r.shell.namespace)
	err = errors.Join(err, r.removeObjects(ctx),
		r.plane.removeNamespaces(ctx, r.shell.namespace, r.lesson.Namespaces))
	if err != nil {
		return err
	}
	if _, err := r.plane.createNamespace(ctx, r.shell.namespace, r.lesson.Namespaces); err != nil {
		return err
	}
	if err := r.plane.addMissingNodes(ctx, r.lesson.Nodes); err != nil {
		return err
	}
	r.probe.lessonBegun = false
	return r.probe.markStart(ctx)
}

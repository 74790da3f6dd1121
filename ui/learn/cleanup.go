package learn

import (
	"context"
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ctrlplane/ctrlplane/internal/neterror"
)

// errPlaneEnded says that the control plane has exited, so that there is nothing to
// clean up.
var errPlaneEnded = errors.New("the control plane has exited: start it and the lesson again")

// planeEnded reports whether the control plane has exited.
func (r *runner) planeEnded(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), removalTimeout)
	defer cancel()
	_, err := r.plane.control.Snapshot(ctx)
	return neterror.IsRefused(err)
}

// cleanUp removes everything that the lesson has created, and reverts its changes to
// controllers and nodes.
func (r *runner) cleanUp(ctx context.Context) error {
	if r.tools == nil {
		return nil
	}
	if !r.created { // prepare has failed before
		return r.tools.Close()
	}
	r.printf("\n%s\n", r.faint("Cleaning up: deleting namespace "+r.shell.namespace+" and reverting other changes of the lesson."))
	ctx, cancel := context.WithTimeout(ctx, cleanupTimeout)
	defer cancel()
	r.shell.stopJobs()
	left, err := r.plane.revertState(ctx, r.initial, r.shell.namespace)
	for _, text := range left {
		r.printAside(text)
	}
	err = errors.Join(err, r.removeObjects(ctx),
		r.plane.removeNamespaces(ctx, r.shell.namespace, r.lesson.Namespaces), r.tools.Close())
	if err != nil {
		return fmt.Errorf("cannot clean up after lesson %s: %w", r.lesson.label(), err)
	}
	return nil
}

// removeObjects deletes the cluster-scoped objects of the lesson.
func (r *runner) removeObjects(ctx context.Context) error {
	var errs []error
	for _, o := range r.lesson.Objects {
		kind, name, _ := strings.Cut(r.substituteNamespace(o), "/")
		m, err := r.plane.resolveKind(ctx, kind)
		if meta.IsNoMatchError(err) {
			continue // it was deleted with its kind
		}
		if err == nil {
			err = r.plane.resourceClient(m, "").Delete(ctx, name, metav1.DeleteOptions{})
		}
		if !apierrors.IsNotFound(err) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

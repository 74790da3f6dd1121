package container

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
)

func TestTemporaryErrors(t *testing.T) {
	missing := apierrors.NewNotFound(corev1.Resource("configmaps"), "m")
	timeout := apierrors.NewTimeoutError("slow", 1)
	for _, test := range []struct {
		err  error
		want bool
	}{
		{missing, false},
		{errors.New("references non-existent config key: k"), false},
		{mountError{"v", utilerrors.NewAggregate([]error{timeout, missing})}, false},
		{mountError{"v", utilerrors.NewAggregate([]error{timeout})}, true},
		{fmt.Errorf("failed to fetch PVC: %w", apierrors.NewInternalError(errors.New("x"))), true},
		{&url.Error{Op: "Get", Err: io.EOF}, true},
		{context.DeadlineExceeded, true},
	} {
		if got := isTemporary(test.err); got != test.want {
			t.Errorf("%v: %v", test.err, got)
		}
	}
}

package instrument

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
)

// A panic of the reconciler is reported with its value, in one line, and where it was; then it
// goes on: controller-runtime, which recovers from it, tries the key again.
func TestPanic(t *testing.T) {
	p := startPlane(t, 200)
	o := newOperator(t, p.url)
	var called atomic.Int64
	o.addController(func(context.Context, ctrl.Request) (ctrl.Result, error) {
		switch called.Add(1) {
		case 1:
			var none *corev1.Pod
//line deploy/controller.go:48
			_ = none.Spec
//line panic_test.go:30
		case 2:
			panic("two\nlines " + strings.Repeat("x", maxError))
		case 3:
			controllerutil.AddFinalizer(nil, "x")
		}
		return ctrl.Result{}, nil
	})
	o.start(1)
	o.informer.Add(configMap("shop", "1"))
	p.await("four syncs", func() bool { return len(p.ended("configmap")) >= 4 })
	p.mu.Lock()
	defer p.mu.Unlock()
	syncs := p.ended("configmap")
	if got, want := syncs[0].Error, "panicked: runtime error: invalid memory address or nil pointer dereference (controller.go:48)"; got != want {
		t.Errorf("reported %q, want %q", got, want)
	}
	if got := syncs[1].Error; !strings.HasPrefix(got, "panicked: two lines xxx") || !strings.HasSuffix(got, "… (panic_test.go:31)") || len(got) > maxError {
		t.Errorf("reported %q", got)
	}
	if got := syncs[2].Error; !strings.HasPrefix(got, "panicked: ") || !strings.HasSuffix(got, " (panic_test.go:33)") {
		t.Errorf("a panic below controller-runtime: %q, want the line that called it", got)
	}
	if got := syncs[3]; got.Error != "" || got.Sync != syncs[2].ID {
		t.Errorf("the sync after the panics: %+v", got)
	}
}

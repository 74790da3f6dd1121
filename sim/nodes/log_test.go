package nodes

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/klog/v2"
)

// isStaleObjectError compares texts: these come from the functions that write them.
func TestStaleObjectErrorTexts(t *testing.T) {
	pod := testPod(func(p *corev1.Pod) { p.UID = "new" })
	_, _, notLive := newTestRegistry(t, testNode(nil)).liveNode("other")
	for name, err := range map[string]error{
		"another UID":  storage.NewUIDPreconditions("old").Check("/pods/a", pod),
		"node is gone": notLive,
	} {
		if err == nil || !isStaleObjectError(err) {
			t.Errorf("%s: %v is not a stale object error", name, err)
		}
	}
	if err := apierrors.NewConflict(corev1.Resource("pods"), "a", errors.New("changed")); isStaleObjectError(err) {
		t.Errorf("%v is a stale object error", err)
	}
}

func TestLogEndsWithContext(t *testing.T) {
	var out bytes.Buffer
	log := slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ctx = withLogger(ctx, log)
	klog.FromContext(ctx).Info("a lease")
	cancel()
	klog.FromContext(ctx).Error(ctx.Err(), "a lease")
	want := "level=INFO msg=\"a lease\"\n"
	if got := out.String(); got != want {
		t.Errorf("log:\n%s\nwant:\n%s", got, strings.TrimSpace(want))
	}
}

// Other objects that a stage needs may be missing, too.
func TestStageOfAnObjectThatIsGone(t *testing.T) {
	pod, node := &stageRun{object: testPod(nil)}, &stageRun{object: testNode(nil)}
	missing := func(resource, name string) error {
		return fmt.Errorf("failed to patch: %w", apierrors.NewNotFound(corev1.Resource(resource), name))
	}
	for _, test := range []struct {
		run  *stageRun
		err  error
		gone bool
	}{
		{pod, missing("pods", "p"), true},
		{pod, missing("pods", "other"), false},
		{pod, missing("namespaces", "p"), false},
		{pod, errors.New("refused"), false},
		{pod, storage.NewUIDPreconditions("old").Check("/pods/p", testPod(nil)), true},
		{node, missing("nodes", node.object.GetName()), true},
		{node, missing("nodes", "other"), false},
	} {
		if got := test.run.isGone(test.err); got != test.gone {
			t.Errorf("%v: gone %v, want %v", test.err, got, test.gone)
		}
	}
}

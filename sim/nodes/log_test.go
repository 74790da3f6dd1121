package nodes

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/klog/v2"
	kwoklog "sigs.k8s.io/kwok/pkg/log"
)

// isStaleObjectError compares texts: these come from the functions that write them.
func TestStaleObjectErrorTexts(t *testing.T) {
	pod := testPod(func(p *corev1.Pod) { p.UID = "new" })
	_, _, notLive := newTestRegistry(t, testNode(nil)).liveNode("other")
	for name, err := range map[string]error{
		"not found":    apierrors.NewNotFound(corev1.Resource("pods"), "a"),
		"another UID":  storage.NewUIDPreconditions("old").Check("/pods/a", pod),
		"node is gone": notLive,
	} {
		if err == nil || !isStaleObjectError(err.Error()) {
			t.Errorf("%s: %v is not a stale object error", name, err)
		}
	}
	if err := apierrors.NewConflict(corev1.Resource("pods"), "a", errors.New("changed")); isStaleObjectError(err.Error()) {
		t.Errorf("%v is a stale object error", err)
	}
}

func TestLogLevels(t *testing.T) {
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
	kwok := kwoklog.FromContext(ctx)
	kwok.Info("Patch pod")
	kwok.Error("failed to apply stage", "err", errors.New("refused"))
	kwok.Error("failed to apply stage", "err", errors.New(`pods "a" not found`))
	klog.FromContext(ctx).Info("a lease")
	cancel()
	klog.FromContext(ctx).Error(ctx.Err(), "a lease")
	want := "level=ERROR msg=\"kwok: failed to apply stage\" err=refused\nlevel=INFO msg=\"a lease\"\n"
	if got := out.String(); got != want {
		t.Errorf("log:\n%s\nwant:\n%s", got, strings.TrimSpace(want))
	}
}

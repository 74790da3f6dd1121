package nodes

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
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
	ctx = withLogger(ctx, log, nil)
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

// TestStageFailureLines has lines as kwok writes them: TestFailedStage has a real one.
func TestStageFailureLines(t *testing.T) {
	var got []stageFailure
	ctx := withLogger(t.Context(), slog.New(slog.DiscardHandler), func(f stageFailure) { got = append(got, f) })
	kwok := kwoklog.FromContext(ctx)
	kwok.With("pod", "n/p", "node", "a").Warn("Failed to get delay", "stage", "user/s", "err", errors.New("no number"))
	kwok.Error("failed to apply stage", "err", errors.New("refused"), "node", "a", "stage", "user/s")
	kwok.Error("failed to apply stage", "err", errors.New(`pods "p" not found`), "pod", "n/p", "stage", "user/s")
	kwok.Warn("something else", "pod", "n/p", "stage", "user/s")
	want := []stageFailure{{pod: "n/p", node: "a", stage: "s", err: "no number"}, {node: "a", stage: "s", err: "refused"}}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(stageFailure{})); diff != "" {
		t.Error(diff)
	}
}

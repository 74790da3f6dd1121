package nodes

import (
	"bytes"
	"context"
	"errors"
	"fmt"
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

// recordedStages records what kwok logs about stages.
type recordedStages []string

func (r *recordedStages) stageFailed(what playedStage, err string) {
	*r = append(*r, fmt.Sprintf("%+v failed: %s", what, err))
}

func (r *recordedStages) stageRetried(what playedStage, retries float64) {
	*r = append(*r, fmt.Sprintf("%+v is retried: %v", what, retries))
}

// TestStageLines has lines as kwok writes them: TestStageIsRetried and TestStageIsRefused have real ones.
func TestStageLines(t *testing.T) {
	got := &recordedStages{}
	ctx := withLogger(t.Context(), slog.New(slog.DiscardHandler), got)
	kwok := kwoklog.FromContext(ctx)
	kwok.With("pod", "n/p", "node", "a").Warn("Failed to get delay", "stage", "user/s", "err", errors.New("no number")) // it has none then
	kwok.Warn("something else", "pod", "n/p", "stage", "user/s")
	kwok.Info("Patch pod", "pod", "n/p", "stage", "user/s")
	fail := func(key, name string, err error) {
		kwok.Error(stageFailedMessage, "err", fmt.Errorf("failed to patch: %w", err), key, name, "stage", "user/s")
	}
	missing := func(resource, name string) error { return apierrors.NewNotFound(corev1.Resource(resource), name) }
	fail("node", "a", errors.New("refused"))
	fail("node", "a", missing("nodes", "a"))
	fail("node", "a", missing("nodes", "b"))
	fail("pod", "n/p", missing("pods", "p"))
	fail("pod", "n/p", missing("namespaces", "x"))
	fail("pod", "n/p", errors.New("node a "+notLiveSuffix))
	kwok.Info(stageRetriedMessage, "pod", "n/p", "stage", "user/s", "retry", uint64(3))
	kwok.Info(stageRetriedMessage, "node", "a", "stage", "user/s", "retry", uint64(0))
	want := &recordedStages{
		"{pod: node:a stage:s} failed: failed to patch: refused",
		`{pod: node:a stage:s} failed: failed to patch: nodes "b" not found`,
		`{pod:n/p node: stage:s} failed: failed to patch: namespaces "x" not found`,
		"{pod:n/p node: stage:s} is retried: 3",
		"{pod: node:a stage:s} is retried: 0",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

package nodes

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"
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

// TestRetriedErrorTexts has the errors after which kwok tries again (shouldRetry), as the functions write them that make them.
func TestRetriedErrorTexts(t *testing.T) {
	pods := corev1.Resource("pods")
	answer := func(code int) error { return apierrors.NewGenericServerResponse(code, "patch", pods, "p", "", 0, true) }
	for _, err := range []error{
		&net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)},
		apierrors.NewServerTimeout(pods, "patch", 1), apierrors.NewTimeoutError("request did not complete", 1), apierrors.NewTooManyRequestsError("slow down"),
		answer(http.StatusTooManyRequests), answer(http.StatusServiceUnavailable), answer(http.StatusGatewayTimeout),
	} {
		if f := (stageFailure{err: err.Error()}); !f.isRetried() {
			t.Errorf("%v is not retried", err)
		}
	}
	refused := errors.New("failed calling webhook \"w.example.com\": dial tcp 127.0.0.1:9443: connect: connection refused")
	for _, err := range []error{
		apierrors.NewConflict(pods, "p", errors.New("changed")), answer(http.StatusInternalServerError), errors.New("template: no such field"), apierrors.NewInternalError(refused),
	} {
		if f := (stageFailure{err: err.Error()}); f.isRetried() {
			t.Errorf("%v is retried", err)
		}
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
	kwok.With("pod", "n/p", "node", "a").Warn("Failed to get delay", "stage", "user/s", "err", errors.New("no number")) // it has none then
	kwok.Warn("something else", "pod", "n/p", "stage", "user/s")
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
	fail("pod", "n/p", apierrors.NewServiceUnavailable("the server is currently unable to handle the request"))
	want := []stageFailure{
		{node: "a", stage: "s", err: "failed to patch: refused"},
		{node: "a", stage: "s", err: `failed to patch: nodes "b" not found`},
		{pod: "n/p", stage: "s", err: `failed to patch: namespaces "x" not found`},
		{pod: "n/p", stage: "s", err: "failed to patch: the server is currently unable to handle the request"},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(stageFailure{})); diff != "" {
		t.Error(diff)
	}
}

package nodes

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

// A start does not fail because the API server refuses a node: what refuses it could
// only be removed after a start.
func TestRefusedNodesAreCreatedLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset(&admissionregistrationv1.MutatingWebhookConfiguration{
			ObjectMeta: metav1.ObjectMeta{Name: "mine"},
			Webhooks:   []admissionregistrationv1.MutatingWebhook{{Name: "hook.example.com"}},
		})
		var admits atomic.Bool
		client.PrependReactor("create", "nodes", func(a clienttesting.Action) (bool, runtime.Object, error) {
			node := a.(clienttesting.CreateAction).GetObject().(*corev1.Node)
			refused := node.Name != "node-1" && !admits.Load()
			return refused, nil, apierrors.NewInternalError(errors.New(`failed calling webhook "hook.example.com": connection refused`))
		})
		var warnings []string
		f := startTestFleet(t, client, Config{Count: 3, Warn: func(msg string) { warnings = append(warnings, msg) }})
		<-time.After(5 * registrationInterval)
		if len(warnings) != 1 || !strings.Contains(warnings[0], "connection refused") || !strings.HasSuffix(warnings[0], "kubectl delete mutatingwebhookconfiguration mine") {
			t.Errorf("warnings: %q", warnings)
		}
		if _, err := f.Add(t.Context(), 1); err == nil {
			t.Error("a node of a client was accepted")
		}
		admits.Store(true)
		<-time.After(registrationInterval)
		synctest.Wait()
		if got := strings.Join(listNodeNames(t, f), " "); got != "node-1 node-2 node-3" {
			t.Errorf("got %s", got)
		}
	})
}

func TestInterruptedStartCreatesNoNodesLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset()
		ctx, cancel := context.WithCancelCause(t.Context())
		client.PrependReactor("create", "nodes", func(clienttesting.Action) (bool, runtime.Object, error) {
			cancel(errors.New("interrupted"))
			return true, nil, context.Canceled
		})
		if _, err := startWithClients(ctx, Config{Count: 1, Informers: runInformers(t, client)}, client, stageClients{}, newPlayed(nil)); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	})
}

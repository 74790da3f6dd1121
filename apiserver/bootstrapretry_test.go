package apiserver

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clientgotesting "k8s.io/client-go/testing"
)

// An etcd cluster that elects its leader answers no list and no write for some seconds.
func TestBootstrapPolicyIsRetried(t *testing.T) {
	noLeader := apierrors.NewInternalError(errors.New("etcdserver: no leader"))
	unreachable := apierrors.NewInternalError(errors.New("rpc error: code = Unavailable desc = connection error"))
	slow := apierrors.NewServerTimeout(rbacv1.Resource("clusterroles"), "list", 1)
	wrongKey := apierrors.NewInternalError(errors.New("unable to transform key \"/registry/clusterroles/a\": no matching prefix found"))
	noSpace := apierrors.NewInternalError(errors.New("etcdserver: mvcc: database space exceeded"))
	full := apierrors.NewGenericServerResponse(http.StatusInsufficientStorage, "create", rbacv1.Resource("clusterroles"), "", "", 0, true)
	forbidden := apierrors.NewForbidden(rbacv1.Resource("clusterroles"), "", nil)
	for name, test := range map[string]struct {
		verb     string
		failure  error
		failures int
		want     error
		took     time.Duration
	}{
		"lists fail":     {"list", noLeader, 3, nil, 3 * time.Second},
		"writes fail":    {"create", noLeader, 3, nil, 3 * time.Second},
		"no connection":  {"list", unreachable, 3, nil, 3 * time.Second},
		"slow":           {"list", slow, 3, nil, 3 * time.Second},
		"wrong key":      {"list", wrongKey, 1000, wrongKey, 0},
		"no space":       {"create", noSpace, 1000, noSpace, 0},
		"no end":         {"list", noLeader, 1000, noLeader, bootstrapRetryTimeout},
		"forbidden":      {"create", forbidden, 1000, forbidden, 0},
		"a full disk":    {"create", full, 1000, full, 0},
		"not by the API": {"list", context.Canceled, 1000, context.Canceled, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client := fake.NewClientset()
				left := test.failures
				client.PrependReactor(test.verb, "clusterroles", func(clientgotesting.Action) (bool, runtime.Object, error) {
					if left == 0 {
						return false, nil, nil // the tracker answers
					}
					left--
					return true, nil, test.failure
				})
				began := time.Now()
				err := retryBootstrap(t.Context(), func() error {
					_, err := reconcileBootstrapPolicy(t.Context(), client)
					return err
				})
				if took := time.Since(began); took != test.took {
					t.Errorf("took %v, want %v", took, test.took)
				}
				if !errors.Is(err, test.want) {
					t.Errorf("got %v, want %v", err, test.want)
				}
			})
		})
	}
}

func TestBootstrapRetryEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		began := time.Now()
		err := retryBootstrap(ctx, func() error {
			cancel()
			return apierrors.NewServiceUnavailable("closing")
		})
		if took := time.Since(began); err == nil || took != 0 {
			t.Errorf("got %v after %v", err, took)
		}
	})
}

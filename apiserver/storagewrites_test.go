package apiserver

import (
	"context"
	"slices"
	"testing"

	"go.etcd.io/etcd/client/v3/kubernetes"

	"github.com/ctrlplane/ctrlplane/observe"
)

// scriptedStore answers writes; the methods that are not defined here are not called.
type scriptedStore struct {
	kubernetes.Interface
	succeed bool
}

func (s scriptedStore) OptimisticPut(context.Context, string, []byte, int64, kubernetes.PutOptions) (kubernetes.PutResponse, error) {
	return kubernetes.PutResponse{Succeeded: s.succeed, Revision: 7}, nil
}

func (s scriptedStore) OptimisticDelete(context.Context, string, int64, kubernetes.DeleteOptions) (kubernetes.DeleteResponse, error) {
	return kubernetes.DeleteResponse{Succeeded: s.succeed, Revision: 8}, nil
}

// TestNotedWrites: the record of a call has the versions that it has stored, and none
// of those that another write was faster to.
func TestNotedWrites(t *testing.T) {
	o := observe.New(observe.Options{})
	defer o.Close()
	write := func(succeed bool, key string) []observe.Written {
		client := &kubernetes.Client{Kubernetes: scriptedStore{succeed: succeed}}
		noteWrites(client, "/registry")
		call := &observe.Called{Verb: "patch"}
		o.Recorder("c").Call(call, func() {
			for _, err := range []error{
				errOf(client.Kubernetes.OptimisticPut(t.Context(), key, nil, 0, kubernetes.PutOptions{})),
				errOf(client.Kubernetes.OptimisticDelete(t.Context(), key, 0, kubernetes.DeleteOptions{})),
			} {
				if err != nil {
					t.Error(err)
				}
			}
		})
		return call.Wrote
	}
	web := observe.Written{Resource: "deployments.apps", Namespace: "default", Name: "web", ResourceVersion: "7"}
	gone := web
	gone.ResourceVersion, gone.Deleted = "8", true
	if got := write(true, "/registry/deployments/default/web"); !slices.Equal(got, []observe.Written{web, gone}) {
		t.Errorf("got %v", got)
	}
	if got := write(false, "/registry/deployments/default/web"); got != nil {
		t.Errorf("after a conflict: %v", got)
	}
	if got := write(true, "/registry/ranges/serviceips"); got != nil {
		t.Errorf("what is no object: %v", got)
	}
}

func errOf[T any](_ T, err error) error { return err }

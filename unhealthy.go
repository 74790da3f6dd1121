package ctrlplane

import (
	"context"
	"slices"
	"time"

	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/client-go/rest"

	"github.com/ctrlplane/ctrlplane/control"
	"github.com/ctrlplane/ctrlplane/health"
	"github.com/ctrlplane/ctrlplane/observe"
)

// unhealthyObjects returns the objects that wait for something that need not come by itself. They are read
// inside of the process, so that who asks for them is not a client that lists objects.
func (p *controlPlane) unhealthyObjects(ctx context.Context) ([]control.UnhealthyObject, error) {
	waiter, err := health.New(p.readerConfig())
	if err != nil {
		return nil, err
	}
	now, err := p.observer.Snapshot(ctx)
	if err != nil {
		return nil, err
	}
	var others []observe.Object
	for _, problem := range now.Problems {
		if problem.What != observe.KeepsFailing { // its objects may be healthy
			others = append(others, problem.Objects...)
		}
	}
	deleted, err := p.deletedObjects(ctx)
	if err != nil {
		return nil, err
	}
	stuck, err := waiter.FindStuck(ctx, others, deleted)
	var list []control.UnhealthyObject
	for _, s := range stuck {
		list = append(list, control.UnhealthyObject{
			Object: observedObject(s.Ref), Owner: observedObject(s.Owner),
			State: string(s.Status), Since: s.Since, Reason: s.Reason,
		})
	}
	return list, err
}

const (
	searchedWrites = 4000            // the newest, for deletions
	maxDeleted     = 20              // of which an object may still exist
	finalizingTime = 5 * time.Second // for which controllers may do what finalizers are for
)

// deletedObjects returns the objects that were to be deleted lately, but not just now, and that may wait for their finalizers.
// Namespaces are found without records.
func (p *controlPlane) deletedObjects(ctx context.Context) (list []observe.Object, err error) {
	page, err := p.observer.Records(ctx, observe.Query{Kinds: []observe.Kind{observe.KindCalled}, Notable: true, Limit: searchedWrites})
	if err != nil {
		return nil, err
	}
	before := time.Now().Add(-finalizingTime)
	for _, r := range slices.Backward(page.Records) {
		c, ok := r.Event.(*observe.Called)
		if !ok || c.Verb != "delete" || c.Subresource != "" || c.Failed() || c.DryRun || c.Object.IsNamespace() || r.Time.After(before) ||
			slices.ContainsFunc(list, c.Object.Same) {
			continue
		}
		if list = append(list, c.Object); len(list) == maxDeleted {
			break
		}
	}
	return list, nil
}

func observedObject(r health.Ref) observe.Object {
	return observe.Object{Group: r.Group, Kind: r.Kind, Namespace: r.Namespace, Name: r.Name}
}

// ReaderConfig returns a client configuration for reads inside of the process: unlike those with that of RESTConfig they are
// not recorded as those of a client. It is nil before Start has succeeded.
func (s *Server) ReaderConfig() *rest.Config {
	if p := s.readyInstance(); p != nil {
		return p.readerConfig()
	}
	return nil
}

func (p *controlPlane) readerConfig() *rest.Config {
	return p.clientConfig(&user.DefaultInfo{Name: user.APIServerUser, Groups: []string{user.SystemPrivilegedGroup, user.AllAuthenticated}})
}

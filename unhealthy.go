package ctrlplane

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/client-go/rest"

	"github.com/ctrlplane/ctrlplane/control"
	"github.com/ctrlplane/ctrlplane/health"
	"github.com/ctrlplane/ctrlplane/internal/controllernames"
	"github.com/ctrlplane/ctrlplane/internal/kinds"
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
	calls, err := p.recentRecords(ctx, observe.Query{Kinds: []observe.Kind{observe.KindCalled}, Notable: true})
	if err != nil {
		return nil, err
	}
	syncs, err := p.recentRecords(ctx, observe.Query{Kinds: []observe.Kind{observe.KindSynced}, Controller: controllernames.GarbageCollector})
	if err != nil {
		return nil, err
	}
	stuck, err := waiter.WithRecords(p.observer).FindStuck(ctx, health.Candidates{
		Unhealthy: others, Dependents: unresolvedDependents(syncs, calls), Deleted: finalizingObjects(calls, time.Now().Add(-finalizingTime), p.sawDeletion(ctx)),
		Warned: warnedObjects(calls),
	})
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
	searchedRecords = 4000            // the newest
	maxDeleted      = 20              // deleted objects, of which one may still exist
	maxDependents   = 20              // objects whose owner may be of a kind that is not served
	maxWarned       = 20              // custom resources about which their operators have warned
	finalizingTime  = 5 * time.Second // for which controllers may do what finalizers are for
)

func (p *controlPlane) recentRecords(ctx context.Context, q observe.Query) ([]observe.Record, error) {
	q.Limit = searchedRecords
	page, err := p.observer.Records(ctx, q)
	return page.Records, err
}

// unresolvedDependents returns the objects, the last ones first, that clients have created with an owner whose key the garbage
// collector has requeued when it last synced it, as it does if it cannot look it up: the kind of the owner may be not served.
func unresolvedDependents(syncs, calls []observe.Record) (list []observe.Object) {
	requeued := map[string]bool{}
	for _, r := range syncs {
		if s, ok := r.Event.(*observe.Synced); ok && s.Queue == controllernames.GarbageCollectorQueue {
			requeued[s.Key] = s.Retried
		}
	}
	for _, r := range slices.Backward(calls) {
		c, ok := r.Event.(*observe.Called)
		if !ok || c.Owner == nil || c.DryRun || c.Failed() || len(list) == maxDependents {
			continue
		}
		o := observe.Object{Group: c.Object.Group, Resource: c.Object.Resource, Namespace: c.Object.Namespace, Name: c.Object.Name}
		inNamespace := observe.Object{Namespace: o.Namespace, Name: c.Owner.Name}
		if (requeued[inNamespace.Key()] || requeued[c.Owner.Name]) && !slices.Contains(list, o) {
			list = append(list, o)
		}
	}
	return list
}

// warnedObjects returns the custom resources, the last ones first, about which a client has created an Event that is a warning.
func warnedObjects(calls []observe.Record) (list []observe.Object) {
	for _, r := range slices.Backward(calls) {
		c, ok := r.Event.(*observe.Called)
		if !ok || !c.Event.IsWarning() || c.DryRun || c.Failed() || len(list) == maxWarned {
			continue
		}
		of := c.Event.Regarding
		o := observe.Object{Group: of.Group, Kind: of.Kind, Namespace: of.Namespace, Name: of.Name} // the event does not have the resource
		if kinds.IsCustom(schema.GroupKind{Group: o.Group, Kind: o.Kind}) && !slices.Contains(list, o) {
			list = append(list, o)
		}
	}
	return list
}

// sawDeletion returns a function that reports whether the last event of an object that a controller has received is its deletion. All
// events are read when it is first asked: with an etcd cluster of the user's, it is about each deleted object.
func (p *controlPlane) sawDeletion(ctx context.Context) func(observe.Object) bool {
	seen := sync.OnceValue(func() map[observe.Object]bool {
		deleted := map[observe.Object]bool{}
		page, err := p.observer.Records(ctx, observe.Query{Kinds: []observe.Kind{observe.KindDelivered}})
		if err != nil { // the end of ctx, which ends what asks, too
			return nil
		}
		for _, r := range page.Records {
			if d, ok := r.Event.(*observe.Delivered); ok {
				deleted[observe.Object{Group: d.Object.Group, Resource: d.Object.Resource, Namespace: d.Object.Namespace, Name: d.Object.Name}] = d.Change == observe.Deleted
			}
		}
		return deleted
	})
	return func(o observe.Object) bool { return seen()[o] }
}

// finalizingObjects returns the objects, the last ones first, that were marked as deleted before a time, and of which no record
// says that they are gone. Namespaces are found without records. The storage of an aggregated API server and an etcd cluster of the
// user's do not report what is gone: of what they store, isGone knows.
func finalizingObjects(records []observe.Record, before time.Time, isGone func(observe.Object) bool) (list []observe.Object) {
	known := map[observe.Object]bool{} // gone since, or in the list
	for _, r := range slices.Backward(records) {
		c, ok := r.Event.(*observe.Called)
		if !ok || c.DryRun {
			continue
		}
		wrote := c.Wrote
		if len(wrote) == 0 && c.Verb == "delete" && !c.Failed() {
			wrote = []observe.Written{{Resource: c.Object.GroupResource(), Namespace: c.Object.Namespace, Name: c.Object.Name}}
		}
		isMark := (c.Verb == "delete" || c.Verb == "deletecollection") && c.Subresource == "" && r.Time.Before(before)
		for _, w := range wrote {
			o := observe.Object{Namespace: w.Namespace, Name: w.Name}
			o.Resource, o.Group, _ = strings.Cut(w.Resource, ".")
			if known[o] || !w.Deleted && !isMark || o.IsNamespace() {
				continue
			}
			known[o] = true
			if !w.Deleted && !(len(c.Wrote) == 0 && isGone(o)) {
				list = append(list, o)
			}
			if len(list) == maxDeleted {
				return list
			}
		}
	}
	return list
}

func observedObject(r health.Ref) observe.Object {
	return observe.Object{Group: r.Group, Kind: r.Kind, Namespace: r.Namespace, Name: r.Name}
}

// ReaderConfig returns a client configuration for reads inside of the process: unlike those with that of RESTConfig they are
// not recorded as those of a client. A request waits until the API server answers, its context ends, or the start has failed. During a start
// that fails, what is there can be read until OnStage returns. It is nil before Start.
func (s *Server) ReaderConfig() *rest.Config {
	if p := s.currentInstance(); p != nil {
		return p.readerConfig()
	}
	return nil
}

func (p *controlPlane) readerConfig() *rest.Config {
	return p.clientConfig(&user.DefaultInfo{Name: user.APIServerUser, Groups: []string{user.SystemPrivilegedGroup, user.AllAuthenticated}})
}

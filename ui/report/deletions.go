package report

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/ctrlplane/ctrlplane/health"
	"github.com/ctrlplane/ctrlplane/internal/kinds"
	"github.com/ctrlplane/ctrlplane/internal/objectclients"
	"github.com/ctrlplane/ctrlplane/internal/requestlog"
	"github.com/ctrlplane/ctrlplane/internal/sleep"
	"github.com/ctrlplane/ctrlplane/internal/words"
	"github.com/ctrlplane/ctrlplane/observe"
	"github.com/ctrlplane/ctrlplane/observe/replay"
)

const (
	deletionInterval = 10 * time.Millisecond // between reads of records; a CustomResourceDefinition may be deleted right after its objects
	deletionTimeout  = 20 * time.Second      // to examine what one request has deleted, and the last ones at the end; machines of CI have needed 9 s for a namespace
)

// Deletions finds out what was not healthy when a client asked to delete it, and how Jobs ended that their time to live has
// deleted. It reads the objects as the storage still has
// them, of the version before the deletion, so that no request waits.
type Deletions struct {
	src        replay.Source
	clients    *objectclients.Clients
	mapper     kinds.Mapper
	waiter     *health.Waiter
	onlyCustom bool               // leave out the kinds of Kubernetes itself
	after      uint64             // Seq of the last record
	known      map[types.UID]bool // the objects that were found
	found      Deleted
	readLog    logReader
	logs       int // that were read

	stop  context.CancelFunc
	ended chan struct{}
}

// FollowDeletions begins with the deletions from now on. src records them; cfg is for reads that it does not record. onlyCustom
// is for a control plane without the controllers that would make other objects healthy.
func FollowDeletions(ctx context.Context, cfg *rest.Config, src replay.Source, onlyCustom bool) (*Deletions, error) {
	d := &Deletions{src: src, onlyCustom: onlyCustom, known: map[types.UID]bool{}, ended: make(chan struct{})}
	now, err := src.Snapshot(ctx)
	if err == nil {
		d.clients, err = objectclients.New(cfg)
	}
	if err == nil {
		d.waiter, err = health.New(cfg)
	}
	if err == nil {
		d.readLog, err = newDeletedLogReader(cfg)
	}
	if err != nil {
		return nil, err
	}
	d.waiter = d.waiter.WithRecords(src)
	d.mapper, d.after = kinds.NewMapper(d.clients.Kinds), now.Journal.Last
	following, stop := context.WithCancel(context.Background())
	d.stop = stop
	go d.follow(following)
	return d, nil
}

func (d *Deletions) follow(ctx context.Context) {
	defer close(d.ended)
	d.examineExpiredBefore(context.Background())
	for ctx.Err() == nil {
		d.examineNew(ctx, context.Background())
		_ = d.src.Wait(ctx, d.after) // its error is that ctx has ended
		sleep.For(ctx, deletionInterval)
	}
}

// End examines the last deletions, unless ctx ends, and returns all that was found. A nil Deletions has found nothing.
func (d *Deletions) End(ctx context.Context) Deleted {
	if d == nil {
		return Deleted{}
	}
	d.stop()
	<-d.ended
	ctx, cancel := context.WithTimeoutCause(ctx, deletionTimeout, errors.New("the run ended"))
	defer cancel()
	d.examineNew(context.Background(), ctx)
	d.found.sort()
	return d.found
}

// examineNew examines the new deletions until following ends. Of those that it cannot examine until ctx ends it says so.
func (d *Deletions) examineNew(following, ctx context.Context) {
	page, err := d.src.Records(context.Background(), observe.Query{After: d.after, Kinds: []observe.Kind{observe.KindCalled}, Notable: true})
	if err != nil {
		return // the control plane has ended
	}
	if page.Missed > 0 {
		d.found.miss(fmt.Errorf("%d records were dropped before they could be read: raise --observe-records", page.Missed))
	}
	for _, r := range page.Records {
		if following.Err() != nil {
			return
		}
		d.examineRecord(ctx, &r)
		d.after = r.Seq
	}
	d.after = page.Next
}

func (d *Deletions) examineRecord(ctx context.Context, r *observe.Record) {
	call, isCall := r.Event.(*observe.Called)
	if !isCall {
		return
	}
	if e, ok := health.ExpiredBy(call); ok {
		d.examineExpired(ctx, e)
	}
	if of, ok := deletionOf(r); ok {
		d.examine(ctx, &of)
		d.found.expired.noteDeletion(&of)
	}
	if call.Verb == observe.VerbRestore {
		d.found.expired = expiredJobs{}
	}
}

// deletion is what one request of a client has deleted.
type deletion struct {
	seq        uint64 // of the record
	at         time.Time
	by         string // the client
	resource   string // as RESOURCE.GROUP
	apiVersion string // of a kind that is not built in
	namespace  string
	names      []string
	version    string // of the storage, before it
}

// deletionOf returns the deletion that a client has asked for, and that was begun. An operator that reports its syncs is a
// controller, not a client.
func deletionOf(r *observe.Record) (d deletion, ok bool) {
	c, isCall := r.Event.(*observe.Called)
	if !isCall || c.Failed() || c.Sync != 0 || c.Verb == observe.VerbRestore || !deletesForClient(c) || stateless[schema.GroupResource{Group: c.Object.Group, Resource: c.Object.Resource}] {
		return d, false
	}
	d = deletion{seq: r.Seq, at: cmp.Or(c.Began, r.Time), by: c.Controller, resource: c.Object.GroupResource(), apiVersion: c.Version}
	if c.Client != nil && c.Client.Impersonates != "" {
		d.by += " as " + words.OneLine(c.Client.Impersonates)
	}
	first := int64(0)
	for _, w := range c.Wrote { // nothing, if it was a dry run
		version, err := strconv.ParseInt(w.ResourceVersion, 10, 64)
		if err != nil || w.Resource != d.resource {
			continue
		}
		if first == 0 || version < first {
			first = version
		}
		d.namespace, d.names = w.Namespace, append(d.names, w.Name)
	}
	d.version = strconv.FormatInt(first-1, 10)
	return d, len(d.names) > 0 && first > 1
}

func (d *deletion) isOfNamespace() bool { return d.resource == "namespaces" }

// stateless are the resources whose objects are healthy as soon as they exist: they are not worth a read.
var stateless = map[schema.GroupResource]bool{
	{Resource: "secrets"}: true, {Resource: "configmaps"}: true, {Resource: "serviceaccounts"}: true, {Resource: "endpoints"}: true,
	{Resource: "events"}: true, {Group: "events.k8s.io", Resource: "events"}: true, {Group: "coordination.k8s.io", Resource: "leases"}: true,
	{Resource: "limitranges"}: true, {Resource: "podtemplates"}: true, {Group: "apps", Resource: "controllerrevisions"}: true,
	{Group: "discovery.k8s.io", Resource: "endpointslices"}: true, {Group: "networking.k8s.io", Resource: "networkpolicies"}: true,
	{Group: "rbac.authorization.k8s.io", Resource: "roles"}: true, {Group: "rbac.authorization.k8s.io", Resource: "rolebindings"}: true,
	{Group: "storage.k8s.io", Resource: "csistoragecapacities"}: true,
}

// examine adds what was not healthy.
func (d *Deletions) examine(ctx context.Context, of *deletion) {
	if len(d.found.objects) >= maxDeleted {
		d.found.miss(fmt.Errorf("%d objects were not healthy before", len(d.found.objects)+d.found.more))
		return
	}
	ctx, cancel := context.WithTimeoutCause(requestlog.Discard(ctx), deletionTimeout, fmt.Errorf("it took longer than %v", deletionTimeout))
	defer cancel()
	var s State
	var err error
	s.objects, err = d.read(ctx, of)
	if d.onlyCustom {
		s.objects = slices.DeleteFunc(s.objects, func(u unstructured.Unstructured) bool {
			return scheme.Scheme.IsGroupRegistered(u.GroupVersionKind().Group)
		})
	}
	s.findUnhealthy(d.waiter.At(of.version).WhyOf(ctx))
	err = errors.Join(err, d.readLogs(ctx, of, &s))
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		d.found.miss(fmt.Errorf("%s %v: %w", of.resource, of.names[0], err))
	}
	d.found.add(of, &s)
	for _, u := range s.unhealthy {
		d.known[u.uid] = true
	}
}

// read returns the objects that were to be deleted, of a namespace what was in it. Those that were being deleted already do
// not count, nor those whose namespace was: they were examined with it.
func (d *Deletions) read(ctx context.Context, of *deletion) ([]unstructured.Unstructured, error) {
	resource, err := d.resourceOf(ctx, of)
	if err != nil {
		return nil, err
	}
	objects := objectclients.At(d.clients.Objects, of.version)
	var o metav1.ListOptions
	if len(of.names) == 1 {
		o.FieldSelector = fields.OneTermEqualSelector(metav1.ObjectNameField, of.names[0]).String()
	}
	list, err := objects.Resource(resource).Namespace(of.namespace).List(ctx, o) // "" = without, or all
	if err != nil {
		return nil, definitionDeleted(err)
	}
	counts := func(u *unstructured.Unstructured) bool {
		return slices.Contains(of.names, u.GetName()) && u.GetDeletionTimestamp() == nil && !d.known[u.GetUID()] &&
			!slices.Contains(systemNamespaces, u.GetNamespace()) && (u.GetNamespace() != "" || !isOfProcess(u))
	}
	found := slices.DeleteFunc(list.Items, func(u unstructured.Unstructured) bool { return !counts(&u) })
	if len(found) == 0 {
		return nil, nil
	}
	if of.isOfNamespace() {
		return d.readNamespace(ctx, objects, of)
	}
	if terminating, err := isTerminating(ctx, objects, of.namespace); terminating || err != nil {
		return nil, err
	}
	return found, nil
}

// resourceOf asks for the version of built-in kinds only: it is always known, while another kind may be deleted meanwhile.
func (d *Deletions) resourceOf(ctx context.Context, of *deletion) (schema.GroupVersionResource, error) {
	if of.apiVersion != "" {
		return schema.ParseGroupResource(of.resource).WithVersion(of.apiVersion), nil
	}
	m, err := d.mapper.Find(ctx, of.resource)
	if err != nil {
		return schema.GroupVersionResource{}, err
	}
	return m.Resource, nil
}

func isTerminating(ctx context.Context, objects dynamic.Interface, namespace string) (bool, error) {
	if namespace == "" {
		return false, nil
	}
	u, err := objects.Resource(schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}).Get(ctx, namespace, metav1.GetOptions{})
	if err != nil {
		if apierrors.IsNotFound(err) {
			err = nil
		}
		return false, err
	}
	return u.GetDeletionTimestamp() != nil, nil
}

// readNamespace returns what is in a namespace, without what is being deleted or was found before.
func (d *Deletions) readNamespace(ctx context.Context, objects dynamic.Interface, of *deletion) ([]unstructured.Unstructured, error) {
	lister := objectLister{d.clients.Kinds, objects, of.names[0]}
	resources, discoverErr := lister.listableResources(ctx)
	list, err := lister.list(ctx, resources)
	err = errors.Join(discoverErr, err)
	if d.definitionsDeletedAfter(of.seq) {
		err = errors.Join(err, findUnserved(ctx, objects, resources))
	}
	all := map[types.UID]*unstructured.Unstructured{}
	for i := range list {
		all[list[i].GetUID()] = &list[i]
	}
	var found []unstructured.Unstructured
	for _, u := range list {
		if !d.known[u.GetUID()] && u.GetDeletionTimestamp() == nil && !d.isLeftover(ctx, &u, all) {
			found = append(found, u)
		}
	}
	return found, err
}

// isLeftover reports whether an object waits for the garbage collector: one that controls it, directly or not, is deleted.
func (d *Deletions) isLeftover(ctx context.Context, u *unstructured.Unstructured, all map[types.UID]*unstructured.Unstructured) bool {
	for range all { // objects may claim to own each other
		ref := metav1.GetControllerOf(u)
		if ref == nil {
			return false
		}
		owner := all[ref.UID]
		if owner == nil {
			m, err := d.mapper.Find(ctx, schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind).GroupKind().String())
			return err == nil && m.Scope.Name() == meta.RESTScopeNameNamespace && !stateless[m.Resource.GroupResource()]
		}
		if owner.GetDeletionTimestamp() != nil {
			return true
		}
		u = owner
	}
	return false
}

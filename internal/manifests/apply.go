package manifests

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"

	"github.com/ctrlplane/ctrlplane/internal/oneline"
	"github.com/ctrlplane/ctrlplane/internal/usage"
	"github.com/ctrlplane/ctrlplane/internal/yamltext"
)

// fieldManager is the name by which the server tracks which fields are ours.
const fieldManager = "ctrlplane"

// defaultRetryTimeout is how long an object is retried that is rejected for a transient
// reason.
const defaultRetryTimeout = 15 * time.Second

// laterRetryTimeout is how long the objects after the first one whose retries failed may take all together.
const laterRetryTimeout = 5 * time.Second

// minRetryTimeout lets one request end.
const minRetryTimeout = time.Second

// userAgent is the name of the client that applies manifests.
const userAgent = "ctrlplane"

// Apply applies objects by server-side apply, one after the other: first Namespaces, then
// CustomResourceDefinitions, which it waits for until they are served, and last what
// intercepts requests, such as webhooks. The namespace of a namespaced object that has
// none is "default". The server rejects unknown fields, and fields that another field
// manager has changed. A transient failure, such as that of a Pod whose namespace has no
// ServiceAccount yet, is retried for up to 15 s, within ctx. After an object that is refused, Apply
// goes on with those that do not need it: it leaves out what is in a Namespace, or of the kinds
// of a CustomResourceDefinition, that was refused. An error is an *Errors; each names the file,
// the object and the server's reason. Apply returns the objects as the server has
// stored them, in the order of objs.
func Apply(ctx context.Context, cfg *rest.Config, objs []Object) ([]Object, error) {
	cfg = rest.CopyConfig(cfg)
	if cfg.UserAgent == "" { // else it is Go's, by which observers name the client
		cfg.UserAgent = userAgent
	}
	client, err := rest.HTTPClientFor(cfg)
	if err != nil {
		return nil, fmt.Errorf("manifests: %w", err)
	}
	defer net.CloseIdleConnectionsFor(client.Transport)
	cfg.WarningHandlerWithContext = rest.NoWarnings{} // else client-go would log them, without naming the file
	dyn, err := dynamic.NewForConfigAndClient(cfg, client)
	if err != nil {
		return nil, fmt.Errorf("manifests: %w", err)
	}
	disco, err := discovery.NewDiscoveryClientForConfigAndClient(cfg, client)
	if err != nil {
		return nil, fmt.Errorf("manifests: %w", err)
	}
	a := &applier{
		client:       dyn,
		kinds:        disco,
		mapper:       restmapper.NewDeferredDiscoveryRESTMapperWithContext(memory.NewMemCacheClientWithContext(disco)),
		retryTimeout: defaultRetryTimeout,
	}
	if err := a.applyAll(ctx, sortByPhase(objs)); err != nil {
		return nil, err
	}
	stored := slices.Clone(objs)
	for i := range stored {
		stored[i].Unstructured = a.stored[objs[i].Unstructured]
	}
	return stored, nil
}

type applier struct {
	client       dynamic.Interface
	kinds        discovery.DiscoveryInterfaceWithContext
	mapper       *restmapper.DeferredDiscoveryRESTMapper
	retryTimeout time.Duration
	limit        time.Time                                                 // of retries, once the retries of an object have failed
	stored       map[*unstructured.Unstructured]*unstructured.Unstructured // by the object that was applied
	refused      refusals
}

// applyAll applies the objects in order, and notes what the server has stored.
func (a *applier) applyAll(ctx context.Context, objs []Object) error {
	a.stored = make(map[*unstructured.Unstructured]*unstructured.Unstructured, len(objs))
	a.checkKinds(ctx, objs)
	var waiting []Object // CustomResourceDefinitions that may not be served yet
	for _, o := range objs {
		if phaseOf(o.GroupVersionKind().GroupKind()) > phaseCRDs {
			a.waitUntilServed(ctx, waiting)
			waiting = nil
		}
		switch {
		case ctx.Err() != nil && len(a.refused.errs) > 0: // the last error says so
			return asError(a.refused.errs)
		case a.refused.affects(o):
			continue
		case a.retriesAreOver():
			return asError(append(a.refused.errs, fmt.Errorf("%s and what follows it was not applied: the retries of other objects took too long", o.Source)))
		}
		err := a.retry(ctx, func(ctx context.Context) (err error) {
			a.stored[o.Unstructured], err = a.applyObject(ctx, o)
			return err
		})
		if err != nil {
			a.refused.add(o, refusedError(o, err))
		} else if o.GroupVersionKind().GroupKind() == crdKind {
			waiting = append(waiting, o)
		}
	}
	a.waitUntilServed(ctx, waiting)
	return asError(a.refused.errs)
}

// applyObject returns the object as the server has stored it.
func (a *applier) applyObject(ctx context.Context, o Object) (*unstructured.Unstructured, error) {
	mapping, err := a.restMapping(ctx, o.GroupVersionKind())
	if err != nil {
		return nil, err
	}
	u := o.DeepCopy()
	var client dynamic.ResourceInterface = a.client.Resource(mapping.Resource)
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		if u.GetNamespace() == "" {
			u.SetNamespace(metav1.NamespaceDefault)
		}
		client = a.client.Resource(mapping.Resource).Namespace(u.GetNamespace())
	} else {
		u.SetNamespace("") // as kubectl does, without a message
	}
	data, err := u.MarshalJSON()
	if err != nil {
		return nil, err
	}
	// Not client.Apply: its options have no field validation.
	return client.Patch(ctx, u.GetName(), types.ApplyPatchType, yamltext.EscapeJSON(data), metav1.PatchOptions{
		FieldManager:    fieldManager,
		FieldValidation: metav1.FieldValidationStrict,
	})
}

// refusedError returns the server's reason as one line, with a way to resolve a conflict, or to do without a webhook. It is a
// usage.Error if the object is wrong: the server would refuse it again.
func refusedError(o Object, err error) error {
	hint, wrong := "", isWrong(err)
	switch {
	case apierrors.IsConflict(err):
		hint = `: remove the field from the file, or take over its ownership with "kubectl apply --server-side --force-conflicts --field-manager=` + fieldManager + `"`
	case errorContains(err, "webhook") && missingService.MatchString(err.Error()):
		hint, wrong = ": the programs of Pods do not run here: leave out what configures the webhook, or run it on this machine and set its url", true
	}
	refused := fmt.Errorf("%s: %s: %w%s", o.from.ofMessage(err.Error()), o, oneline.Error(err), hint)
	if wrong {
		return usage.Errorf("%w", refused)
	}
	return refused
}

// isWrong reports whether an API server refuses an object because of what it says, as opposed to a failure of the server. That
// may have been retried, such as for a ServiceAccount that does not exist.
func isWrong(err error) bool {
	api := apierrors.APIStatus(nil)
	if !errors.As(err, &api) || errors.Is(err, context.Canceled) || apierrors.IsUnexpectedServerError(err) && apierrors.IsNotFound(err) {
		return false
	}
	switch code := api.Status().Code; code {
	case http.StatusUnauthorized, http.StatusRequestTimeout, http.StatusTooManyRequests:
		return false
	case http.StatusInternalServerError:
		return wrongObject.MatchString(err.Error()) && !isTransient(err) // the conversion may be that of a webhook
	default:
		return code >= http.StatusBadRequest && code < http.StatusInternalServerError
	}
}

// wrongObject is what the server says, as an internal error, of a field that does not exist or has another type, of a value that
// cannot be read, such as a quantity, and of an object that etcd does not take.
var wrongObject = regexp.MustCompile(`failed to (create typed patch|convert new( typed)?) object|etcdserver: request is too large`)

// missingService is how the error of a call to a webhook ends whose Service does not exist.
var missingService = regexp.MustCompile(`service "[^"]*" not found`)

// checkKinds refuses objects whose kind is neither known to the server nor defined by
// a CustomResourceDefinition among the objects.
func (a *applier) checkKinds(ctx context.Context, objs []Object) {
	known := map[schema.GroupVersionKind]bool{}
	for _, o := range objs {
		for _, gvk := range definedKinds(o.Unstructured) {
			known[gvk] = true
		}
	}
	for _, o := range objs {
		gvk := o.GroupVersionKind()
		if known[gvk] {
			continue
		}
		err := a.retry(ctx, func(ctx context.Context) error {
			_, err := a.restMapping(ctx, gvk)
			return err
		})
		if err != nil {
			a.refused.add(o, refusedError(o, err))
			if ctx.Err() != nil {
				return
			}
			continue
		}
		known[gvk] = true
	}
}

package manifests

import (
	"cmp"
	"context"
	"slices"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ctrlplane/ctrlplane/internal/kinds"
	"github.com/ctrlplane/ctrlplane/internal/usage"
)

// transientError is an error that may not occur again a moment later.
type transientError string

func (e transientError) Error() string { return string(e) }

const errNotServed transientError = "its CustomResourceDefinition exists, but the server does not serve the kind"

func crdResource() schema.GroupVersionResource {
	return apiextensionsv1.SchemeGroupVersion.WithResource("customresourcedefinitions")
}

// restMapping returns the server's resource of a kind. The error is errNotServed if the
// server does not serve the kind, but has a CustomResourceDefinition of it.
func (a *applier) restMapping(ctx context.Context, gvk schema.GroupVersionKind) (*meta.RESTMapping, error) {
	m, err := a.mapper.RESTMappingWithContext(ctx, gvk.GroupKind(), gvk.Version)
	if !meta.IsNoMatchError(err) {
		return m, err
	}
	a.mapper.ResetWithContext(ctx) // its cache may be outdated
	m, err = a.mapper.RESTMappingWithContext(ctx, gvk.GroupKind(), gvk.Version)
	if !meta.IsNoMatchError(err) {
		return m, err
	}
	defined, err := a.hasCRD(ctx, gvk)
	switch {
	case err != nil:
		return nil, err
	case defined:
		return nil, errNotServed
	}
	if kinds.IsCustom(gvk.GroupKind()) {
		return nil, usage.Errorf("the server has no kind %s in %s: correct its spelling, or add its CustomResourceDefinition",
			gvk.Kind, gvk.GroupVersion())
	}
	why, err := kinds.ExplainUnserved(ctx, a.kinds, gvk)
	return nil, cmp.Or(err, usage.Errorf("%s", why))
}

// hasCRD reports whether the server has a CustomResourceDefinition of a kind.
func (a *applier) hasCRD(ctx context.Context, gvk schema.GroupVersionKind) (bool, error) {
	list, err := a.client.Resource(crdResource()).List(ctx, metav1.ListOptions{})
	if err != nil {
		return false, err
	}
	for _, crd := range list.Items {
		if slices.Contains(definedKinds(&crd), gvk) {
			return true, nil
		}
	}
	return false, nil
}

// waitUntilServed waits until the server serves what the CustomResourceDefinitions
// define, and lists it in discovery. It refuses those of which that is not so.
func (a *applier) waitUntilServed(ctx context.Context, crds []Object) {
	for _, crd := range crds {
		err := a.retry(ctx, func(ctx context.Context) error {
			u, err := a.client.Resource(crdResource()).Get(ctx, crd.GetName(), metav1.GetOptions{})
			if err != nil {
				return err
			}
			if err := checkEstablished(u); err != nil {
				return err
			}
			for _, gvk := range definedKinds(u) {
				if _, err := a.restMapping(ctx, gvk); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			a.refused.add(crd, refusedError(crd, err))
			if ctx.Err() != nil {
				return
			}
		}
	}
}

// checkEstablished returns why a CustomResourceDefinition is not established.
func checkEstablished(u *unstructured.Unstructured) error {
	var crd apiextensionsv1.CustomResourceDefinition
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &crd); err != nil {
		return err
	}
	if apihelpers.IsCRDConditionTrue(&crd, apiextensionsv1.Established) {
		return nil
	}
	if c := apihelpers.FindCRDCondition(&crd, apiextensionsv1.NamesAccepted); c != nil && c.Status == apiextensionsv1.ConditionFalse {
		return usage.Errorf("%w", transientError("not established: "+c.Message))
	}
	return transientError("not established")
}

// definedKinds returns the kinds that a CustomResourceDefinition defines, in all versions
// that should be served; none for another object.
func definedKinds(u *unstructured.Unstructured) []schema.GroupVersionKind {
	if u.GroupVersionKind().GroupKind() != crdKind {
		return nil
	}
	var crd apiextensionsv1.CustomResourceDefinition
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &crd); err != nil {
		return nil // the server reports what is wrong with it
	}
	var defined []schema.GroupVersionKind
	for _, v := range crd.Spec.Versions {
		if v.Served {
			defined = append(defined, schema.GroupVersionKind{Group: crd.Spec.Group, Version: v.Name, Kind: crd.Spec.Names.Kind})
		}
	}
	return defined
}

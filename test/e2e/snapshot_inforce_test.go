package e2e_test

import (
	"context"
	"errors"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"
)

// After a restore, clients that watch custom resources have what was restored, and writes keep
// it, although the previous schema removes a field of it, and some of it is stored as it was.
func TestSnapshotSchemaIsInForce(t *testing.T) {
	ns := createSnapshotNamespace(t)
	crd := widgetCRD(uniqueName("schema"))
	gvr := createCRD(t, crd)
	widgets := customClient{controlPlane.dynamic.Resource(gvr).Namespace(ns)}
	colour := func(u *unstructured.Unstructured) string {
		s, _, err := unstructured.NestedString(u.Object, "spec", "colour")
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	resize := func(size int64) func(*unstructured.Unstructured) {
		return func(u *unstructured.Unstructured) {
			if err := unstructured.SetNestedField(u.Object, size, "spec", "size"); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, name := range []string{"changed", "same"} {
		red := newWidget(gvr, name, 3)
		if err := unstructured.SetNestedField(red.Object, "red", "spec", "colour"); err != nil {
			t.Fatal(err)
		}
		createObject(t, widgets, red)
	}
	saved := saveSnapshot(t)
	updateObject(t, controlPlane.extensions.ApiextensionsV1().CustomResourceDefinitions(), crd.Name, func(crd *apiextensionsv1.CustomResourceDefinition) {
		delete(crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"].Properties, "colour")
	})
	await(t, "schema without colours", getByName(widgets, "same"), func(u *unstructured.Unstructured) bool { return colour(u) == "" })
	updateObject(t, widgets, "changed", resize(4))

	factory := dynamicinformer.NewFilteredDynamicSharedInformerFactory(controlPlane.dynamic, 0, ns, nil)
	informer := factory.ForResource(gvr).Informer()
	factory.Start(t.Context().Done())
	if !cache.WaitForCacheSync(t.Context().Done(), informer.HasSynced) {
		t.Fatal("the informer has not synced")
	}
	restoreSnapshot(t, saved)
	for _, name := range []string{"changed", "same"} {
		restored := getObject(t, widgets, name)
		seen := await(t, "restored widget", func(context.Context) (*unstructured.Unstructured, error) {
			obj, _, err := informer.GetStore().GetByKey(ns + "/" + name)
			u, ok := obj.(*unstructured.Unstructured)
			if !ok {
				return nil, errors.Join(err, errors.New("the informer has no such widget"))
			}
			return u, err
		}, func(u *unstructured.Unstructured) bool {
			return u.GetResourceVersion() == restored.GetResourceVersion()
		})
		if colour(restored) != "red" || colour(seen) != "red" {
			t.Errorf("%s: the widget is %q, and %q for a client that watches it; want red", name, colour(restored), colour(seen))
		}
		if written := updateObject(t, widgets, name, resize(5)); colour(written) != "red" {
			t.Errorf("%s: the widget is %q after the next write, want red", name, colour(written))
		}
	}
}

// After a restore, the admission policies of the snapshot are in force, and no others: at once,
// unless the machine is so busy that the API server takes long to compile them.
func TestSnapshotPoliciesAreInForce(t *testing.T) {
	ns := createSnapshotNamespace(t)
	without := saveSnapshot(t)
	enforcePolicy(t, ns, admissionregistrationv1.ValidatingAdmissionPolicySpec{
		MatchConstraints: &admissionregistrationv1.MatchResources{ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{
			{RuleWithOperations: ruleFor(admissionregistrationv1.Create, "", "v1", "configmaps")},
		}},
		Validations: []admissionregistrationv1.Validation{{Expression: "false", Message: "no ConfigMaps"}},
	})
	create := dryRunCreate(controlPlane.client.CoreV1().ConfigMaps(ns), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "m"}})
	attempt := func(ctx context.Context) (error, error) { return create(ctx), nil }
	await(t, "policy", attempt, apierrors.IsInvalid)
	with := saveSnapshot(t)
	for range 2 {
		restoreSnapshot(t, without)
		await(t, "creation without the policy", attempt, func(err error) bool { return err == nil })
		restoreSnapshot(t, with)
		await(t, "refusal by the policy", attempt, apierrors.IsInvalid)
	}
}

package e2e_test

import (
	"context"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func ruleFor(op admissionregistrationv1.OperationType, group, version, resource string) admissionregistrationv1.RuleWithOperations {
	return admissionregistrationv1.RuleWithOperations{
		Operations: []admissionregistrationv1.OperationType{op},
		Rule: admissionregistrationv1.Rule{
			APIGroups: []string{group}, APIVersions: []string{version}, Resources: []string{resource},
		},
	}
}

// selectNamespace returns a selector for one namespace.
func selectNamespace(ns string) *metav1.LabelSelector {
	return labelSelector(map[string]string{corev1.LabelMetadataName: ns})
}

// enforcePolicy creates a policy and binds it to a namespace.
func enforcePolicy(t *testing.T, ns string, spec admissionregistrationv1.ValidatingAdmissionPolicySpec) string {
	t.Helper()
	api := controlPlane.client.AdmissionregistrationV1()
	name := uniqueName("policy")
	createShared(t, api.ValidatingAdmissionPolicies(), &admissionregistrationv1.ValidatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: spec,
	}, name)
	binding := &admissionregistrationv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName:        name,
			ValidationActions: []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny},
			MatchResources:    &admissionregistrationv1.MatchResources{NamespaceSelector: selectNamespace(ns)},
		},
	}
	if spec.ParamKind != nil {
		binding.Spec.ParamRef = &admissionregistrationv1.ParamRef{
			Name: "params", Namespace: ns, ParameterNotFoundAction: new(admissionregistrationv1.DenyAction),
		}
	}
	createShared(t, api.ValidatingAdmissionPolicyBindings(), binding, name)
	return name
}

// dryRunCreate returns a function that creates an object with a dry run.
func dryRunCreate[T any](c creator[T], obj T) func(context.Context) error {
	return func(ctx context.Context) error {
		_, err := c.Create(ctx, obj, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return err
	}
}

func TestValidatingAdmissionPolicy(t *testing.T) {
	t.Parallel()
	ns, elsewhere := createNamespace(t), createNamespace(t)
	createObject(t, controlPlane.client.CoreV1().ConfigMaps(ns), &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "params"}, Data: map[string]string{"max": "3"},
	})
	name := enforcePolicy(t, ns, admissionregistrationv1.ValidatingAdmissionPolicySpec{
		ParamKind: &admissionregistrationv1.ParamKind{APIVersion: "v1", Kind: "ConfigMap"},
		MatchConstraints: &admissionregistrationv1.MatchResources{ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{
			{RuleWithOperations: ruleFor(admissionregistrationv1.Create, "apps", "v1", "deployments")},
			{RuleWithOperations: ruleFor(admissionregistrationv1.Update, "apps", "v1", "deployments")},
		}},
		Validations: []admissionregistrationv1.Validation{{
			Expression:        "object.spec.replicas <= int(params.data.max)",
			MessageExpression: "'at most ' + params.data.max + ' replicas, not ' + string(object.spec.replicas)",
		}},
	})
	big, small := newDeployment("registry.invalid/app:1"), newDeployment("registry.invalid/app:1")
	big.Spec.Replicas = new(int32(4))
	err := awaitRefusal(t, "4 replicas", "ValidatingAdmissionPolicy '"+name+"' with binding '"+name+"' denied request: at most 3 replicas, not 4",
		dryRunCreate(deployments(ns), big))
	if !apierrors.IsInvalid(err) {
		t.Errorf("got %v, want 422", err)
	}
	createObject(t, deployments(ns), small)
	createObject(t, deployments(elsewhere), big)

	// The policy also applies to updates, and follows changes of its parameter.
	_, err = deployments(ns).Patch(t.Context(), "web", types.MergePatchType, []byte(`{"spec":{"replicas":4}}`), metav1.PatchOptions{})
	if !apierrors.IsInvalid(err) {
		t.Errorf("patch to 4 replicas: got %v, want 422", err)
	}
	updateObject(t, controlPlane.client.CoreV1().ConfigMaps(ns), "params", func(m *corev1.ConfigMap) { m.Data["max"] = "4" })
	await(t, "admission of 4 replicas", func(ctx context.Context) (error, error) {
		d := newDeployment("registry.invalid/app:1")
		d.Name = "another"
		d.Spec.Replicas = new(int32(4))
		return dryRunCreate(deployments(ns), d)(ctx), nil
	}, func(err error) bool { return err == nil })
}

// A controller checks the types in the expressions of a policy.
func TestValidatingAdmissionPolicyStatus(t *testing.T) {
	t.Parallel()
	ns := createNamespace(t)
	name := enforcePolicy(t, ns, admissionregistrationv1.ValidatingAdmissionPolicySpec{
		MatchConstraints: &admissionregistrationv1.MatchResources{ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{
			{RuleWithOperations: ruleFor(admissionregistrationv1.Create, "apps", "v1", "deployments")},
		}},
		Validations: []admissionregistrationv1.Validation{{Expression: "object.spec.replicaCount <= 3"}},
	})
	p := await(t, "checked types", getByName(controlPlane.client.AdmissionregistrationV1().ValidatingAdmissionPolicies(), name),
		func(p *admissionregistrationv1.ValidatingAdmissionPolicy) bool {
			return p.Status.ObservedGeneration == p.Generation && p.Status.TypeChecking != nil
		})
	warnings := p.Status.TypeChecking.ExpressionWarnings
	if len(warnings) != 1 || warnings[0].FieldRef != "spec.validations[0].expression" || !strings.Contains(warnings[0].Warning, "undefined field 'replicaCount'") {
		t.Errorf("warnings %s", toYAML(warnings))
	}
}

// A MutatingAdmissionPolicy changes a new object.
func TestMutatingAdmissionPolicy(t *testing.T) {
	t.Parallel()
	ns := createNamespace(t)
	api := controlPlane.client.AdmissionregistrationV1()
	name := uniqueName("policy")
	createShared(t, api.MutatingAdmissionPolicies(), &admissionregistrationv1.MutatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: admissionregistrationv1.MutatingAdmissionPolicySpec{
			ReinvocationPolicy: admissionregistrationv1.NeverReinvocationPolicy,
			MatchConstraints: &admissionregistrationv1.MatchResources{ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{
				{RuleWithOperations: ruleFor(admissionregistrationv1.Create, "", "v1", "configmaps")},
			}},
			Mutations: []admissionregistrationv1.Mutation{{
				PatchType:          admissionregistrationv1.PatchTypeApplyConfiguration,
				ApplyConfiguration: &admissionregistrationv1.ApplyConfiguration{Expression: "Object{data: {'by': request.userInfo.username}}"},
			}},
		},
	}, name)
	createShared(t, api.MutatingAdmissionPolicyBindings(), &admissionregistrationv1.MutatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: admissionregistrationv1.MutatingAdmissionPolicyBindingSpec{
			PolicyName: name, MatchResources: &admissionregistrationv1.MatchResources{NamespaceSelector: selectNamespace(ns)},
		},
	}, name)
	m := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "plain"}, Data: map[string]string{"mine": "kept"}}
	await(t, "mutation of a new object", func(ctx context.Context) (*corev1.ConfigMap, error) {
		return controlPlane.client.CoreV1().ConfigMaps(ns).Create(ctx, m, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	}, func(m *corev1.ConfigMap) bool { return m.Data["by"] != "" && m.Data["mine"] == "kept" })
}

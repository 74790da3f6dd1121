package apiserver

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/retry"
	"k8s.io/component-helpers/auth/rbac/reconciliation"
	schedulingv1 "k8s.io/kubernetes/pkg/apis/scheduling/v1"
	"k8s.io/kubernetes/plugin/pkg/auth/authorizer/rbac/bootstrappolicy"
)

// bootstrapCheckName is the check in /readyz that stands for upstream's two
// post-start hooks that begin by sleeping a second.
const bootstrapCheckName = "ctrlplane/bootstrap-policy"

// reconcileBootstrapPolicy makes sure that the RBAC policy and the priority classes that
// upstream ships exist and hold at least what upstream gives them. What is there
// is listed once; what a user added to it stays.
func reconcileBootstrapPolicy(ctx context.Context, client kubernetes.Interface, further ...Grant) error {
	have, err := listPolicy(ctx, client)
	if err != nil {
		return fmt.Errorf("list the bootstrap policy: %w", err)
	}
	for _, step := range newPolicySteps(client, have, further) {
		if err := retry.OnError(retry.DefaultBackoff, isRetriable, step.reconcile); err != nil {
			return fmt.Errorf("reconcile %s: %w", step.object, err)
		}
	}
	return createPriorityClasses(ctx, client)
}

func isRetriable(err error) bool {
	return apierrors.IsConflict(err) || apierrors.IsServiceUnavailable(err)
}

type policyStep struct {
	object    string
	reconcile func() error
}

// newPolicySteps lists the reconciliation of every role and binding, in upstream's order.
func newPolicySteps(client kubernetes.Interface, have *storedPolicy, further []Grant) []policyStep {
	all := append(bootstrappolicy.ClusterRoles(), bootstrappolicy.ControllerRoles()...)
	allBindings := append(bootstrappolicy.ClusterRoleBindings(), bootstrappolicy.ControllerRoleBindings()...)
	for _, g := range further {
		all, allBindings = append(all, g.Role), append(allBindings, g.Binding)
	}
	var steps []policyStep
	role := func(what string, o reconciliation.ReconcileRoleOptions) {
		steps = append(steps, policyStep{what, func() error { _, err := o.Run(); return err }})
	}
	binding := func(what string, o reconciliation.ReconcileRoleBindingOptions) {
		steps = append(steps, policyStep{what, func() error { _, err := o.Run(); return err }})
	}
	rbac := client.RbacV1()
	clusterRoles := listedRoles{have.roles, reconciliation.ClusterRoleModifier{Client: rbac.ClusterRoles()}}
	for _, r := range all {
		role("clusterrole "+r.Name, reconciliation.ReconcileRoleOptions{
			Role: reconciliation.ClusterRoleRuleOwner{ClusterRole: &r}, Client: clusterRoles, Confirm: true})
	}
	clusterBindings := listedBindings{have.bindings, reconciliation.ClusterRoleBindingClientAdapter{Client: rbac.ClusterRoleBindings()}}
	for _, b := range allBindings {
		binding("clusterrolebinding "+b.Name, reconciliation.ReconcileRoleBindingOptions{
			RoleBinding: reconciliation.ClusterRoleBindingAdapter{ClusterRoleBinding: &b}, Client: clusterBindings, Confirm: true})
	}
	roles := listedRoles{have.roles, reconciliation.RoleModifier{Client: rbac, NamespaceClient: client.CoreV1().Namespaces()}}
	for namespace, list := range bootstrappolicy.NamespaceRoles() {
		for _, r := range list {
			role("role "+namespace+"/"+r.Name, reconciliation.ReconcileRoleOptions{
				Role: reconciliation.RoleRuleOwner{Role: &r}, Client: roles, Confirm: true})
		}
	}
	bindings := listedBindings{have.bindings, reconciliation.RoleBindingClientAdapter{Client: rbac, NamespaceClient: client.CoreV1().Namespaces()}}
	for namespace, list := range bootstrappolicy.NamespaceRoleBindings() {
		for _, b := range list {
			binding("rolebinding "+namespace+"/"+b.Name, reconciliation.ReconcileRoleBindingOptions{
				RoleBinding: reconciliation.RoleBindingAdapter{RoleBinding: &b}, Client: bindings, Confirm: true})
		}
	}
	return steps
}

func createPriorityClasses(ctx context.Context, client kubernetes.Interface) error {
	classes := client.SchedulingV1().PriorityClasses()
	for _, pc := range schedulingv1.SystemPriorityClasses() {
		_, err := classes.Get(ctx, pc.Name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			_, err = classes.Create(ctx, pc, metav1.CreateOptions{})
		}
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("create priority class %s: %w", pc.Name, err)
		}
	}
	return nil
}

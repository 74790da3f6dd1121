package apiserver

import (
	"context"
	"fmt"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/retry"
	"k8s.io/component-helpers/auth/rbac/reconciliation"
	schedulingv1 "k8s.io/kubernetes/pkg/apis/scheduling/v1"
	"k8s.io/kubernetes/plugin/pkg/auth/authorizer/rbac/bootstrappolicy"

	"github.com/ctrlplane/ctrlplane/internal/informersync"
)

// bootstrapCheckName names the check in /readyz that replaces those of upstream's two
// post-start hooks, which sleep for a second before their first attempt.
const bootstrapCheckName = "ctrlplane/bootstrap-policy"

// reconcileBootstrapPolicy creates the RBAC policy and the priority classes that
// upstream ships, and adds what existing roles and bindings lack. It removes nothing
// that users have added. It returns the revision of the last write of each kind.
func reconcileBootstrapPolicy(ctx context.Context, client kubernetes.Interface, grants ...Grant) (informersync.Revisions, error) {
	stored, err := listPolicy(ctx, client)
	if err != nil {
		return nil, fmt.Errorf("list the bootstrap policy: %w", err)
	}
	revisions := informersync.Revisions{}
	for _, step := range newPolicySteps(client, stored, grants) {
		err := retry.OnError(retry.DefaultBackoff, isRetriable, func() error {
			obj, err := step.reconcile()
			if err != nil {
				return err
			}
			return addRevision(revisions, step.resource, obj)
		})
		if err != nil {
			return nil, fmt.Errorf("reconcile %s %s: %w", step.resource, step.name, err)
		}
	}
	return revisions, createPriorityClasses(ctx, client)
}

// addRevision notes the revision of an object.
func addRevision(revisions informersync.Revisions, resource string, obj runtime.Object) error {
	accessor, err := meta.Accessor(obj)
	if err != nil {
		return err
	}
	version := accessor.GetResourceVersion()
	if version == "" {
		return nil
	}
	revision, err := strconv.ParseInt(version, 10, 64)
	if err != nil {
		return err
	}
	revisions[resource] = max(revisions[resource], revision)
	return nil
}

func isRetriable(err error) bool {
	return apierrors.IsConflict(err) || apierrors.IsServiceUnavailable(err)
}

// policyStep reconciles one role or binding and returns it as it is stored then.
type policyStep struct {
	resource, name string
	reconcile      func() (runtime.Object, error)
}

// newPolicySteps lists the reconciliation of every role and binding, in upstream's
// order.
func newPolicySteps(client kubernetes.Interface, stored *storedPolicy, grants []Grant) []policyStep {
	clusterRoles := append(bootstrappolicy.ClusterRoles(), bootstrappolicy.ControllerRoles()...)
	clusterBindings := append(bootstrappolicy.ClusterRoleBindings(), bootstrappolicy.ControllerRoleBindings()...)
	for _, g := range grants {
		clusterRoles, clusterBindings = append(clusterRoles, g.Role), append(clusterBindings, g.Binding)
	}
	var steps []policyStep
	addRole := func(resource, name string, o reconciliation.ReconcileRoleOptions) {
		o.Confirm = true
		steps = append(steps, policyStep{resource, name, func() (runtime.Object, error) {
			result, err := o.Run()
			if err != nil {
				return nil, err
			}
			return result.Role.GetObject(), nil
		}})
	}
	addBinding := func(resource, name string, o reconciliation.ReconcileRoleBindingOptions) {
		o.Confirm = true
		steps = append(steps, policyStep{resource, name, func() (runtime.Object, error) {
			result, err := o.Run()
			if err != nil {
				return nil, err
			}
			return result.RoleBinding.GetObject(), nil
		}})
	}
	rbac := client.RbacV1()
	clusterRoleClient := listedRoles{stored.roles, reconciliation.ClusterRoleModifier{Client: rbac.ClusterRoles()}}
	for _, r := range clusterRoles {
		addRole("clusterroles", r.Name, reconciliation.ReconcileRoleOptions{
			Role: reconciliation.ClusterRoleRuleOwner{ClusterRole: &r}, Client: clusterRoleClient})
	}
	clusterBindingClient := listedBindings{stored.bindings, reconciliation.ClusterRoleBindingClientAdapter{Client: rbac.ClusterRoleBindings()}}
	for _, b := range clusterBindings {
		addBinding("clusterrolebindings", b.Name, reconciliation.ReconcileRoleBindingOptions{
			RoleBinding: reconciliation.ClusterRoleBindingAdapter{ClusterRoleBinding: &b}, Client: clusterBindingClient})
	}
	roleClient := listedRoles{stored.roles, reconciliation.RoleModifier{Client: rbac, NamespaceClient: client.CoreV1().Namespaces()}}
	for namespace, list := range bootstrappolicy.NamespaceRoles() {
		for _, r := range list {
			addRole("roles", namespace+"/"+r.Name, reconciliation.ReconcileRoleOptions{
				Role: reconciliation.RoleRuleOwner{Role: &r}, Client: roleClient})
		}
	}
	bindingClient := listedBindings{stored.bindings, reconciliation.RoleBindingClientAdapter{Client: rbac, NamespaceClient: client.CoreV1().Namespaces()}}
	for namespace, list := range bootstrappolicy.NamespaceRoleBindings() {
		for _, b := range list {
			addBinding("rolebindings", namespace+"/"+b.Name, reconciliation.ReconcileRoleBindingOptions{
				RoleBinding: reconciliation.RoleBindingAdapter{RoleBinding: &b}, Client: bindingClient})
		}
	}
	return steps
}

func createPriorityClasses(ctx context.Context, client kubernetes.Interface) error {
	classes := client.SchedulingV1().PriorityClasses()
	for _, pc := range schedulingv1.SystemPriorityClasses() {
		err := createIfMissing(ctx, classes, pc)
		if apierrors.IsNotFound(err) { // --runtime-config turned the resource off
			return nil
		}
		if err != nil {
			return fmt.Errorf("create priority class %s: %w", pc.Name, err)
		}
	}
	return nil
}

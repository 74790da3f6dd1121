package e2e_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// objectCreators names, by the kind of an object and the kind of its owner, the
// service account in kube-system that may create it.
var objectCreators = map[string]string{
	"ReplicaSet/Deployment":          "deployment-controller",
	"Pod/ReplicaSet":                 "replicaset-controller",
	"Pod/ReplicationController":      "replication-controller",
	"Pod/DaemonSet":                  "daemon-set-controller",
	"ControllerRevision/DaemonSet":   "daemon-set-controller",
	"Pod/StatefulSet":                "statefulset-controller",
	"ControllerRevision/StatefulSet": "statefulset-controller",
	"Job/CronJob":                    "cronjob-controller",
	"Pod/Job":                        "job-controller",
	"EndpointSlice/Service":          "endpointslice-controller",
	"PersistentVolumeClaim/Pod":      "ephemeral-volume-controller",
}

// Controllers create all their objects in a namespace in which each service account
// may create only those of its own controller.
func TestControllersUseOwnServiceAccounts(t *testing.T) {
	t.Parallel()
	ns := createNamespace(t)
	var entries []string
	for _, kinds := range slices.Sorted(maps.Keys(objectCreators)) {
		entries = append(entries, fmt.Sprintf("'%s': '%s'", kinds, objectCreators[kinds]))
	}
	enforcePolicy(t, ns, admissionregistrationv1.ValidatingAdmissionPolicySpec{
		MatchConstraints: &admissionregistrationv1.MatchResources{ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{
			RuleWithOperations: ruleFor(admissionregistrationv1.Create, "*", "*", "*"),
		}}},
		MatchConditions: []admissionregistrationv1.MatchCondition{{Name: "owned", Expression: "has(object.metadata.ownerReferences)"}},
		Variables: []admissionregistrationv1.Variable{
			{Name: "kinds", Expression: "request.kind.kind + '/' + object.metadata.ownerReferences[0].kind"},
			{Name: "maker", Expression: "{" + strings.Join(entries, ", ") + "}[variables.kinds]"},
		},
		Validations: []admissionregistrationv1.Validation{{
			Expression: "request.userInfo.username == 'system:serviceaccount:kube-system:' + variables.maker" +
				" && 'system:serviceaccounts:kube-system' in request.userInfo.groups && !('system:masters' in request.userInfo.groups)",
			MessageExpression: "variables.kinds + ' is not for ' + request.userInfo.username",
		}},
	})
	owned := newPod("probe", nil)
	owned.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "none", UID: "none"}}
	_ = awaitRefusal(t, "an owned pod made by the administrator", "Pod/ReplicaSet is not for kubernetes-admin", dryRunCreate(pods(ns), owned))

	pool := map[string]string{"pool": uniqueName("pool")}
	startFakeNode(t, pool)
	createObject(t, deployments(ns), newDeployment("registry.invalid/app:1"))
	createObject(t, statefulSets(ns), newStatefulSet())
	createObject(t, controlPlane.client.AppsV1().DaemonSets(ns), newDaemonSet(pool))
	createObject(t, controlPlane.client.CoreV1().ReplicationControllers(ns), &corev1.ReplicationController{
		ObjectMeta: metav1.ObjectMeta{Name: "rc"},
		Spec:       corev1.ReplicationControllerSpec{Template: new(podTemplate(map[string]string{"app": "rc"}))},
	})
	createObject(t, controlPlane.client.CoreV1().Services(ns), newService("web"))
	createDueCronJob(t, ns, batchv1.CronJobSpec{})
	createObject(t, pods(ns), withEphemeralVolume(newPod("scratch", nil)))

	await(t, "object of each maker", func(ctx context.Context) ([]string, error) { return missingCreators(ctx, ns) },
		func(missing []string) bool { return len(missing) == 0 })
}

// missingCreators lists the keys of objectCreators without an object in the namespace.
func missingCreators(ctx context.Context, ns string) ([]string, error) {
	left := maps.Clone(objectCreators)
	for _, gvr := range []schema.GroupVersionResource{
		{Version: "v1", Resource: "pods"},
		{Version: "v1", Resource: "persistentvolumeclaims"},
		{Group: "apps", Version: "v1", Resource: "replicasets"},
		{Group: "apps", Version: "v1", Resource: "controllerrevisions"},
		{Group: "batch", Version: "v1", Resource: "jobs"},
		{Group: "discovery.k8s.io", Version: "v1", Resource: "endpointslices"},
	} {
		l, err := controlPlane.dynamic.Resource(gvr).Namespace(ns).List(ctx, metav1.ListOptions{})
		if err != nil {
			return nil, err
		}
		for _, obj := range l.Items {
			if ref := metav1.GetControllerOf(&obj); ref != nil {
				delete(left, obj.GetKind()+"/"+ref.Kind)
			}
		}
	}
	return slices.Sorted(maps.Keys(left)), nil
}

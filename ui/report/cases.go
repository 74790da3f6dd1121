package report

import (
	"cmp"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ctrlplane/ctrlplane/health"
	"github.com/ctrlplane/ctrlplane/internal/manifests"
	"github.com/ctrlplane/ctrlplane/internal/useragent"
)

// testCase is a test case in junit.xml: an object that should be healthy at the end.
type testCase struct {
	suite, name string
	failure     string                  // why the object is not healthy; empty if it is
	details     string                  // of the failure
	warnings    []string                // of a test case that passes
	simulated   string                  // see Outcome
	logs        []containerLog          // follow the details
	skipped     string                  // why its health does not count
	gone        health.Ref              // the object, if it no longer exists
	doubt       string                  // what makes it doubtful that it is healthy, as health.State.Doubt
	statusless  schema.GroupVersionKind // its kind, if no client has written its status, though its kind may have one
	seconds     float64
}

// systemNamespaces hold objects of the control plane itself.
var systemNamespaces = []string{metav1.NamespaceSystem, metav1.NamespacePublic, "kube-node-lease"}

// ancillaryKinds describe other objects. No user waits for them.
var ancillaryKinds = map[schema.GroupKind]bool{
	{Kind: "Event"}: true, {Kind: "Endpoints"}: true, {Group: "discovery.k8s.io", Kind: "EndpointSlice"}: true,
	{Group: "coordination.k8s.io", Kind: "Lease"}: true, {Group: "apps", Kind: "ControllerRevision"}: true,
}

// builtinObjects exist in every namespace, or the API server creates them.
var builtinObjects = map[string]bool{
	"ConfigMap kube-root-ca.crt": true, "ServiceAccount default": true, "Service kubernetes": true,
}

// creators are the managers of the fields of cluster-scoped objects that this process has created, such as nodes and
// default roles. The controller manager is not one of them: it also sets fields of objects that users have created.
var creators = []string{useragent.APIServer, useragent.Kubelet, useragent.CSIProvisioner, "api-priority-and-fairness-config-producer-v1"}

// objectCases returns a test case for each object of the manifests and for each other object of
// users that no other object controls, and the UIDs of these objects. gone makes that of an object
// that no longer exists, reasons maps UIDs of unhealthy objects to the reason, logs those of
// containers to what they have printed, and doubt returns that of a healthy one.
func objectCases(objects []unstructured.Unstructured, applied []manifests.Object, gone func(health.Ref) testCase, reasons map[types.UID]string, logs map[types.UID][]containerLog, doubt func(*unstructured.Unstructured) string) (all []testCase, done map[types.UID]bool) {
	done = map[types.UID]bool{}
	add := func(suite string, u *unstructured.Unstructured) {
		reason, bad := reasons[u.GetUID()]
		c := testCase{suite: suite, name: health.RefOf(u).String()}
		if bad {
			c.failure = string(health.StateOf(u).Status) + ": " + reason
			c.logs = logs[u.GetUID()]
		} else {
			c.doubt = doubt(u)
		}
		if health.LacksStatus(u) {
			c.statusless = u.GroupVersionKind()
		}
		done[u.GetUID()] = true
		all = append(all, c)
	}
	there := map[health.Ref]*unstructured.Unstructured{}
	for i := range objects {
		there[withoutVersion(health.RefOf(&objects[i]))] = &objects[i]
	}
	for _, m := range applied {
		u := findObject(there, withoutVersion(health.RefOf(m.Unstructured)))
		switch {
		case u == nil:
			all = append(all, gone(health.RefOf(m.Unstructured)))
		case !done[u.GetUID()]:
			add(manifestSuite, u)
		}
	}
	unhealthyIn := map[string]bool{} // namespaces with an unhealthy object that has a test case
	for i := range objects {
		u := &objects[i]
		if _, bad := reasons[u.GetUID()]; bad && (done[u.GetUID()] || isUserObject(u)) {
			unhealthyIn[u.GetNamespace()] = true
		}
	}
	for i := range objects {
		switch u := &objects[i]; {
		case done[u.GetUID()], !isUserObject(u), waitsForContent(u) && unhealthyIn[u.GetName()]:
		case u.GetNamespace() == "":
			add(clusterSuite, u)
		default:
			add("namespace "+u.GetNamespace(), u)
		}
	}
	slices.SortStableFunc(all, func(a, b testCase) int { return cmp.Compare(a.suite, b.suite) })
	return all, done
}

// isUserObject reports whether a user created the object and may wait for it.
func isUserObject(u *unstructured.Unstructured) bool {
	if u.GetNamespace() == "" && isOfProcess(u) || slices.Contains(systemNamespaces, u.GetNamespace()) {
		return false
	}
	return metav1.GetControllerOf(u) == nil && !ancillaryKinds[u.GroupVersionKind().GroupKind()] &&
		!builtinObjects[u.GetKind()+" "+u.GetName()]
}

// isOfProcess reports whether this process has created a cluster-scoped object, though users may have changed it.
func isOfProcess(u *unstructured.Unstructured) bool {
	var managers []string
	for _, f := range u.GetManagedFields() {
		if f.Subresource == "" {
			managers = append(managers, f.Manager)
		}
	}
	byOther := func(m string) bool { return m != useragent.ControllerManager }
	return slices.ContainsFunc(managers, func(m string) bool { return slices.Contains(creators, m) }) ||
		len(managers) > 0 && !slices.ContainsFunc(managers, byOther)
}

// waitsForContent reports whether an object is a Namespace that is being deleted and has no finalizers of its own.
func waitsForContent(u *unstructured.Unstructured) bool {
	return u.GroupVersionKind().GroupKind() == schema.GroupKind{Kind: "Namespace"} && u.GetDeletionTimestamp() != nil && len(u.GetFinalizers()) == 0
}

func withoutVersion(r health.Ref) health.Ref {
	r.Version = ""
	return r
}

// findObject looks up an object of a manifest. That may omit the namespace, or name one for an
// object of a kind without namespaces: it was applied without.
func findObject(there map[health.Ref]*unstructured.Unstructured, r health.Ref) *unstructured.Unstructured {
	if u := there[r]; u != nil {
		return u
	}
	if r.Namespace == "" {
		r.Namespace = metav1.NamespaceDefault
	} else {
		r.Namespace = ""
	}
	return there[r]
}

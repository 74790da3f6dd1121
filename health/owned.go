package health

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// workloads are the resources of Kubernetes that operators create for a custom resource and that may not be ready.
var workloads = []schema.GroupVersionResource{
	appsv1.SchemeGroupVersion.WithResource("deployments"),
	appsv1.SchemeGroupVersion.WithResource("statefulsets"),
	appsv1.SchemeGroupVersion.WithResource("daemonsets"),
	appsv1.SchemeGroupVersion.WithResource("replicasets"),
	batchv1.SchemeGroupVersion.WithResource("jobs"),
	coreResource("pods"),
	coreResource("persistentvolumeclaims"),
}

// maxOwnedDepth is how many owned objects below each other are followed.
const maxOwnedDepth = 5

// addOwned adds to what is wrong with a custom resource the newest object that it controls, or has in its inventory, and that
// is not healthy, with the reason: the operator may say there what it waits for. Objects that have ended say what went wrong
// before.
func (s *reasonSearch) addOwned(text string, u *unstructured.Unstructured) string {
	if u.GetNamespace() == "" || len(s.owners) >= maxOwnedDepth || s.options.skipOwned {
		return text
	}
	s.owners = append(s.owners, u.GetUID())
	defer func() { s.owners = s.owners[:len(s.owners)-1] }()
	bad, owns := s.listUnhealthyOwned(u), "owns"
	applied := slices.DeleteFunc(s.listUnhealthyApplied(u), func(a *unstructured.Unstructured) bool {
		return slices.ContainsFunc(bad, func(b *unstructured.Unstructured) bool { return a.GetUID() == b.GetUID() })
	})
	if len(applied) > 0 {
		bad, owns = append(bad, applied...), "manages"
	}
	if len(bad) == 0 {
		return text
	}
	active := slices.DeleteFunc(slices.Clone(bad), isOver)
	if len(active) == 0 {
		active = bad
	}
	newest := slices.MaxFunc(active, func(a, b *unstructured.Unstructured) int {
		return cmp.Or(a.GetCreationTimestamp().Compare(b.GetCreationTimestamp().Time), cmp.Compare(b.GetName(), a.GetName()))
	})
	reason, name := s.explainObject(newest), newest.GetKind()+" "+newest.GetName()
	fullName := name
	if newest.GetNamespace() != u.GetNamespace() {
		fullName = RefOf(newest).String()
	}
	switch {
	case reason == "":
		reason = fullName + " is not ready"
	case strings.Contains(text, reason): // the operator has copied it
		return text
	case strings.HasPrefix(reason, name):
		reason = fullName + strings.TrimPrefix(reason, name)
	default:
		reason = fullName + ": " + reason
	}
	if others := len(bad) - 1; others > 0 {
		reason += fmt.Sprintf(" (and %d more that %s %s)", others, u.GetName(), owns)
	}
	return joinTexts(text, reason)
}

// isOver reports whether an object that is not healthy waits for nothing: its failure is final, or it is a suspended Job. A
// Deployment that has exceeded its deadline may recover.
func isOver(u *unstructured.Unstructured) bool {
	kind := kindOf(u)
	if c, _ := findCondition(u, string(batchv1.JobSuspended)); kind == jobKind && c.Status == metav1.ConditionTrue {
		return true
	}
	return kind != deploymentKind && StateOf(u).Final
}

// listUnhealthyOwned lists the objects that a custom resource controls and that are not healthy: workloads, and custom
// resources of a related group, as acme.cert-manager.io is to cert-manager.io.
func (s *reasonSearch) listUnhealthyOwned(u *unstructured.Unstructured) (bad []*unstructured.Unstructured) {
	defer s.ignoreErrors()()
	resources, err := s.customResources()
	if err != nil {
		s.recordError(err)
	}
	group := u.GroupVersionKind().Group
	resources = slices.DeleteFunc(slices.Clone(resources), func(r schema.GroupVersionResource) bool {
		return !strings.HasSuffix("."+r.Group, "."+group) && !strings.HasSuffix("."+group, "."+r.Group)
	})
	for _, r := range slices.Concat(resources, workloads) {
		owned := s.listOwned(r, u)
		for i := range owned {
			if s.isUnhealthyBelow(&owned[i]) {
				bad = append(bad, &owned[i])
			}
		}
	}
	return bad
}

// isUnhealthyBelow reports whether an object below the one that is explained is not healthy, and not explained already.
func (s *reasonSearch) isUnhealthyBelow(u *unstructured.Unstructured) bool {
	now := StateOf(u).Status
	return now != Current && now != Terminating && !slices.Contains(s.owners, u.GetUID())
}

// ignoreErrors returns a function that drops the errors recorded since then: what cannot be listed is most likely not
// what is looked for.
func (s *reasonSearch) ignoreErrors() func() {
	before := s.err
	return func() {
		if s.ctx.Err() == nil {
			s.err = before
		}
	}
}

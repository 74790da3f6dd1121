package inspect

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/ctrlplane/ctrlplane/observe"
)

func TestDependentsListsOnlyPossibleKinds(t *testing.T) {
	c := newCluster(t, deployment, replicaSet)
	if _, err := c.Inspect(t.Context(), webDeployment); err != nil {
		t.Fatal(err)
	}
	asked := map[string]int{}
	for _, a := range c.metadata.Actions() {
		asked[a.GetVerb()+" "+a.GetResource().GroupResource().String()+" in "+a.GetNamespace()]++
	}
	want := map[string]int{
		"list pods in shop": 1, "list secrets in shop": 1, "list deployments.apps in shop": 1, "list replicasets.apps in shop": 1,
	}
	if diff := cmp.Diff(want, asked); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestDependentsSkipsForbiddenKinds(t *testing.T) {
	c := newCluster(t, deployment, replicaSet, podA)
	c.refuse("secrets", forbidden("secrets"))
	got, err := c.Inspect(t.Context(), webReplicaSet)
	if err != nil {
		t.Errorf("got %v, want no error", err)
	}
	if diff := cmp.Diff([]observe.Object{pod("web-1-a")}, got.Dependents); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestDependentsReportsFailedList(t *testing.T) {
	c := newCluster(t, deployment, replicaSet, podA)
	c.refuse("secrets", apierrors.NewInternalError(errors.New("two\nlines")))
	got, err := c.Inspect(t.Context(), webReplicaSet)
	if diff := cmp.Diff([]observe.Object{pod("web-1-a")}, got.Dependents); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got.YAML == "" || len(got.Owners) != 1 {
		t.Errorf("the rest is missing: %+v", got)
	}
	if !apierrors.IsInternalError(err) {
		t.Errorf("got %v, want the server's error", err)
	}
	want := "inspect ReplicaSet shop/web-1: incomplete: list secrets: Internal error occurred: two lines"
	if err != nil && err.Error() != want {
		t.Errorf("got  %q\nwant %q", err, want)
	}
}

func TestDependentsAreLimited(t *testing.T) {
	manifests := []string{deployment, replicaSet}
	for n := range maxDependents + 7 {
		manifests = append(manifests, fmt.Sprintf(`{apiVersion: v1, kind: Pod, metadata: {namespace: shop, name: p%03d, %s}}`, n, ownedByReplicaSet))
	}
	got, err := newCluster(t, manifests...).Inspect(t.Context(), webReplicaSet)
	if len(got.Dependents) != maxDependents || got.Dependents[maxDependents-1] != pod("p499") {
		t.Errorf("%d dependents", len(got.Dependents))
	}
	if err == nil || !strings.Contains(err.Error(), "incomplete: it has 507 dependents, the last 7 are left out") {
		t.Errorf("got %v", err)
	}
}

func TestSortAndDeduplicate(t *testing.T) {
	in := []observe.Object{
		{Kind: "Pod", Name: "b", UID: "2"},
		{Kind: "Pod", Name: "a", Namespace: "y", UID: "1"},
		{Group: "old", Kind: "Job", Name: "z", UID: "3"},
		{Kind: "Pod", Name: "a", Namespace: "x", UID: "4"},
		{Group: "new", Kind: "Job", Name: "z", UID: "3"},
	}
	want := []observe.Object{
		{Group: "new", Kind: "Job", Name: "z", UID: "3"},
		{Kind: "Pod", Name: "a", Namespace: "x", UID: "4"},
		{Kind: "Pod", Name: "a", Namespace: "y", UID: "1"},
		{Kind: "Pod", Name: "b", UID: "2"},
	}
	if diff := cmp.Diff(want, sortAndDeduplicate(in)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

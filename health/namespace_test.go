package health

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/utils/ptr"
)

// Of a Namespace that hangs, some of the objects that remain are named, with what they wait for.
func TestExamineNamespaceNamesWhatRemains(t *testing.T) {
	hanging := func(remaining string) string {
		return `{apiVersion: v1, kind: Namespace, metadata: {name: shop, deletionTimestamp: "2026-01-02T03:04:05Z"}, spec: {finalizers: [kubernetes]}, status: {phase: Terminating, conditions: [
  {type: NamespaceContentRemaining, status: "True", message: "Some resources are remaining: ` + remaining + `"}]}}`
	}
	object := func(apiVersion, kind, name, finalizers string) string {
		return fmt.Sprintf(`{apiVersion: %s, kind: %s, metadata: {namespace: shop, name: %s, deletionTimestamp: "2026-01-02T03:04:05Z", finalizers: [%s]}}`, apiVersion, kind, name, finalizers)
	}
	for name, tc := range map[string]struct {
		remaining string
		objects   []string
		want      string // after what the condition says
	}{
		"one":               {"configmaps. has 1 resource instances", []string{object("v1", "ConfigMap", "a", "example.com/hold")}, "; remaining: ConfigMap a (finalizer example.com/hold)"},
		"with finalizers":   {"configmaps. has 1 resource instances", []string{object("v1", "ConfigMap", "a", "x.com/a, x.com/b")}, "; remaining: ConfigMap a (finalizers x.com/a, x.com/b)"},
		"finalizers first":  {"configmaps. has 2 resource instances, deployments.apps has 1 resource instances", []string{object("v1", "ConfigMap", "a", ""), object("v1", "ConfigMap", "b", ""), object("apps/v1", "Deployment", "web", "x.com/a")}, "; remaining: Deployment web (finalizer x.com/a), ConfigMap a, ConfigMap b"},
		"many":              {"configmaps. has 5 resource instances", []string{object("v1", "ConfigMap", "a", ""), object("v1", "ConfigMap", "b", ""), object("v1", "ConfigMap", "c", ""), object("v1", "ConfigMap", "d", ""), object("v1", "ConfigMap", "e", "")}, "; remaining: ConfigMap a, ConfigMap b, ConfigMap c and 2 more"},
		"more of a kind":    {"configmaps. has 1 resource instances, secrets. has 4000 resource instances", []string{object("v1", "ConfigMap", "a", ""), object("v1", "Secret", "s", "")}, "; remaining: ConfigMap a, Secret s and 3999 more"},
		"gone since":        {"configmaps. has 1 resource instances", nil, ""},
		"not served":        {"widgets.example.com has 1 resource instances, configmaps. has 1 resource instances", []string{object("v1", "ConfigMap", "a", "")}, "; remaining: ConfigMap a and 1 more"},
		"an unknown report": {"everything", []string{object("v1", "ConfigMap", "a", "")}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, append(tc.objects, hanging(tc.remaining))...)
			c.objects.PrependReactor("list", "secrets", func(clienttesting.Action) (bool, runtime.Object, error) {
				list := &unstructured.UnstructuredList{Items: []unstructured.Unstructured{*parseObject(t, object("v1", "Secret", "s", ""))}}
				list.SetRemainingItemCount(ptr.To[int64](3999))
				return true, list, nil
			})
			s, err := c.Examine(t.Context(), "namespaces", "", "shop")
			if want := "being deleted: Some resources are remaining: " + tc.remaining + tc.want; err != nil || s.Message != want {
				t.Errorf("got %s, %v\nwant %s", s.Message, err, want)
			}
		})
	}
}

// However many kinds and objects remain, few of them are read.
func TestExamineNamespaceReadsFew(t *testing.T) {
	var remaining []string
	for _, k := range servedKinds {
		if gv, err := schema.ParseGroupVersion(k.gv); k.namespaced && err == nil {
			remaining = append(remaining, fmt.Sprintf("%s.%s has 1 resource instances", k.resource, gv.Group))
		}
	}
	c := newCluster(t, `{apiVersion: v1, kind: Namespace, metadata: {name: shop, deletionTimestamp: "2026-01-02T03:04:05Z"}, spec: {finalizers: [kubernetes]}, status: {phase: Terminating, conditions: [
  {type: NamespaceContentRemaining, status: "True", message: "Some resources are remaining: `+strings.Join(remaining, ", ")+`"}]}}`)
	lists := 0
	c.objects.PrependReactor("list", "*", func(a clienttesting.Action) (bool, runtime.Object, error) {
		if o := a.(clienttesting.ListActionImpl).ListOptions; o.Limit != maxRemainingListed || a.GetNamespace() != "shop" {
			t.Errorf("listed with %+v in %q", o, a.GetNamespace())
		}
		lists++
		item := unstructured.Unstructured{Object: map[string]any{"apiVersion": "example.com/v1", "kind": "Kind", "metadata": map[string]any{"name": "a"}}}
		return true, &unstructured.UnstructuredList{Items: []unstructured.Unstructured{item}}, nil
	})
	s, err := c.Examine(t.Context(), "namespaces", "", "shop")
	if want := fmt.Sprintf("; remaining: Kind a, Kind a, Kind a and %d more", len(remaining)-3); err != nil || lists != maxRemainingKinds || !strings.HasSuffix(s.Message, want) {
		t.Errorf("got %s, %v after %d lists", s.Message, err, lists)
	}
}

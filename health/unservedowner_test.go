package health

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"
)

// The garbage collector cannot look up an owner whose kind the API server does not serve.
func TestExamineUnservedOwner(t *testing.T) {
	owned := func(owners string) string {
		return `{apiVersion: v1, kind: ConfigMap, metadata: {namespace: shop, name: c, ownerReferences: [` + owners + `]}}`
	}
	const (
		widgetOwner = "{apiVersion: example.com/v1, kind: Widget, name: w, uid: u}"
		until       = "; until then garbage-collector-controller retries, and does not delete this object unless it saw the deletion of that owner."
	)
	crd := func(status string) string {
		return `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: widgets.example.com}, spec: {group: example.com, names: {kind: Widget, plural: widgets}}, status: {` + status + `}}`
	}
	for name, tc := range map[string]struct {
		object string
		others []string
		want   string
	}{
		"no owner":           {owned(""), nil, ""},
		"a served one":       {owned("{apiVersion: apps/v1, kind: Deployment, name: web, uid: u}"), nil, ""},
		"a custom one":       {owned("{apiVersion: example.com/v2, kind: Widget, name: w, uid: u}"), nil, ""},
		"an unknown one":     {owned(widgetOwner), nil, "Its owner Widget w cannot be looked up: unknown kind Widget in example.com/v1: correct the name or install its CustomResourceDefinition" + until},
		"one of two":         {owned("{apiVersion: v1, kind: ConfigMap, name: d, uid: d}, " + widgetOwner), nil, "Its owner Widget w cannot be looked up: unknown kind Widget in example.com/v1: correct the name or install its CustomResourceDefinition" + until},
		"a wrong group":      {owned("{apiVersion: v1, kind: Deployment, name: web, uid: u}"), nil, "Its owner Deployment web cannot be looked up: kind Deployment is not served in v1 but in apps/v1: correct its apiVersion" + until},
		"another version":    {owned(widgetOwner), []string{crd(`conditions: [{type: Established, status: "True"}, {type: NamesAccepted, status: "True"}]`)}, "Its owner Widget w cannot be looked up: CustomResourceDefinition widgets.example.com does not serve version v1" + until},
		"of what is wrong":   {strings.Replace(failedPod, "name: p", "name: c, ownerReferences: ["+widgetOwner+"]", 1), nil, "It is not ready: Evicted: The node was low on memory; its owner Widget w cannot be looked up: unknown kind Widget in example.com/v1: correct the name or install its CustomResourceDefinition" + until},
		"of what is leaving": {strings.Replace(owned(widgetOwner), "name: c,", `name: c, deletionTimestamp: "2026-01-02T03:04:05Z", finalizers: [x.com/a],`, 1), nil, "It is being deleted; waiting for finalizer x.com/a."},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, append(slices.Clone(tc.others), tc.object)...)
			c.serve("example.com/v2", "widgets", "Widget", true)
			u := parseObject(t, tc.object)
			s, err := c.Examine(t.Context(), u.GetKind(), "shop", "c")
			if err != nil || s.Problem() != tc.want {
				t.Errorf("got %s, %v\nwant %s", s.Problem(), err, tc.want)
			}
		})
	}
}

// Nor can it look up an owner whose aggregated API does not answer.
func TestExamineOwnerOfUnavailableAPI(t *testing.T) {
	const object = `{apiVersion: v1, kind: ConfigMap, metadata: {namespace: shop, name: c, ownerReferences: [{apiVersion: wardle.example.com/v1, kind: Flunder, name: f, uid: u}]}}`
	api := func(available string) string {
		return `{apiVersion: apiregistration.k8s.io/v1, kind: APIService, metadata: {name: v1.wardle.example.com}, spec: {group: wardle.example.com, version: v1}, ` +
			`status: {conditions: [{type: Available, status: "` + available + `", reason: FailedDiscoveryCheck, message: connection refused}]}}`
	}
	for available, want := range map[string]string{
		"False": "Its owner Flunder f cannot be looked up: APIService v1.wardle.example.com is not available: FailedDiscoveryCheck: connection refused; " +
			"until then garbage-collector-controller retries, and does not delete this object unless it saw the deletion of that owner.",
		"True": "", // it did not answer just now
	} {
		c := newCluster(t, object, api(available))
		c.kinds.PrependReactor("get", "resource", func(clienttesting.Action) (bool, runtime.Object, error) {
			return true, nil, errors.New("the server is currently unable to handle the request")
		})
		state := StateOf(parseObject(t, object))
		if err := state.addRuleDoubt(c.newSearch(t.Context(), searchOptions{}, nil), parseObject(t, object)); err != nil || state.Problem() != want {
			t.Errorf("got  %s, %v\nwant %s", state.Problem(), err, want)
		}
	}
}

// That a kind is not served is also said if the definitions cannot be listed.
func TestUnservedOwnerWithoutDefinitions(t *testing.T) {
	c := newCluster(t, strings.Replace(failedPod, "name: p", "name: c, ownerReferences: [{apiVersion: example.com/v1, kind: Widget, name: w, uid: u}]", 1))
	for _, resource := range []string{"events", "customresourcedefinitions"} {
		c.objects.PrependReactor("list", resource, func(clienttesting.Action) (bool, runtime.Object, error) {
			return true, nil, errors.New("it is forbidden")
		})
	}
	const want = "its owner Widget w cannot be looked up: kind Widget in example.com/v1: not served by the API server; until then"
	if s, err := c.Examine(t.Context(), "pods", "shop", "c"); err != nil || !strings.Contains(s.Message, want) {
		t.Errorf("got %s, %v", s.Message, err)
	}
}

// Why a kind is not served is looked for once for all objects with such an owner.
func TestDoubtsOfOneUnservedOwner(t *testing.T) {
	const object = `{apiVersion: v1, kind: ConfigMap, metadata: {namespace: shop, name: c, ownerReferences: [{apiVersion: example.com/v1, kind: Widget, name: w, uid: u}]}}`
	c := newCluster(t)
	doubt := c.DoubtOf(t.Context())
	for range 3 {
		if got := doubt(parseObject(t, object)); !strings.Contains(got, "unknown kind Widget in example.com/v1") {
			t.Errorf("got %q", got)
		}
	}
	if n := len(c.kinds.Actions()) + len(c.objects.Actions()); n != 2 {
		t.Errorf("%d requests, want 2: what is served, and the definitions", n)
	}
}

// What owners almost always are costs no request.
func TestExamineAsksForNoUsualOwner(t *testing.T) {
	c := newCluster(t)
	s := c.newSearch(t.Context(), searchOptions{}, nil)
	if got := s.explainUnservedOwner(parseObject(t, newSet)); got != "" || len(c.kinds.Actions()) > 0 {
		t.Errorf("got %q after %d requests", got, len(c.kinds.Actions()))
	}
}

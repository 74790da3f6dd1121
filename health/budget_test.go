package health

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"
)

// The API server refuses to evict a Pod that several PodDisruptionBudgets select.
func TestExamineSharedPods(t *testing.T) {
	budget := func(name, app string) string {
		return `{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: ` + name + `, namespace: shop, generation: 1}, spec: {selector: {matchLabels: {app: ` + app + `}}},
  status: {observedGeneration: 1, expectedPods: 2, desiredHealthy: 1, currentHealthy: 2, disruptionsAllowed: 1}}`
	}
	const ready = `{phase: Running, podIP: 10.1.0.1, conditions: [{type: Ready, status: "True"}]}`
	pod := func(name, status string) string { return webPod(name, "web", status) }
	const one = ", and an eviction supports only one for each Pod."
	every := `{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: every, namespace: shop}, spec: {selector: {}}}`
	unset := `{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: unset, namespace: shop}}`
	for name, tc := range map[string]struct {
		objects     []string
		pod, budget string // of Pod p and PodDisruptionBudget a
	}{
		"one":                {[]string{pod("p", ready), budget("a", "web"), budget("b", "db"), unset}, "", ""},
		"two":                {[]string{pod("p", ready), budget("a", "web"), budget("b", "web")}, "It cannot be evicted: PodDisruptionBudgets a, b select it" + one, "Its Pod p cannot be evicted: PodDisruptionBudget b selects it, too" + one},
		"three":              {[]string{pod("p", ready), budget("a", "web"), budget("b", "web"), every}, "It cannot be evicted: PodDisruptionBudgets a, b, every select it" + one, "Its Pod p cannot be evicted: PodDisruptionBudgets b, every select it, too" + one},
		"several Pods":       {[]string{pod("p", ready), pod("q", ready), pod("r", ready), pod("s", ready), pod("t", ready), budget("a", "web"), every}, "It cannot be evicted: PodDisruptionBudgets a, every select it" + one, "Its Pods p, q, r and 2 more cannot be evicted: PodDisruptionBudget every selects them, too" + one},
		"not needed":         {[]string{pod("p", "{phase: Succeeded}"), pod("q", "{phase: Pending}"), budget("a", "web"), budget("b", "web")}, "", ""},
		"without a selector": {[]string{pod("p", ready), budget("b", "web"), strings.ReplaceAll(unset, "unset", "a")}, "", "Its selector matches no Pod."},
		"of phase Unknown":   {[]string{pod("p", strings.Replace(ready, "Running", "Unknown", 1)), budget("a", "web"), budget("b", "web")}, "Whether it is ready is not known: the kubelet of node node-1 has not started it; current state unknown: its status cannot be read: unknown phase Unknown.", "Its Pod p cannot be evicted: PodDisruptionBudget b selects it, too" + one},
		"that do not exist":  {[]string{pod("p", ready)}, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, tc.objects...)
			if s, err := c.Examine(t.Context(), "pods", "shop", "p"); err != nil || s.Problem() != tc.pod {
				t.Errorf("got %s, %v\nwant %s", s.Problem(), err, tc.pod)
			}
			if s, err := c.Examine(t.Context(), "poddisruptionbudgets", "shop", "a"); err != nil || s.Problem() != tc.budget {
				t.Errorf("got %s, %v\nwant %s", s.Problem(), err, tc.budget)
			}
		})
	}
}

// A user who may not list PodDisruptionBudgets learns what else is known of a Pod.
func TestExamineWithoutBudgets(t *testing.T) {
	c := newCluster(t, webPod("p", "web", `{phase: Running, conditions: [{type: Ready, status: "True"}]}`))
	c.objects.PrependReactor("list", "poddisruptionbudgets", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, errors.New("poddisruptionbudgets is forbidden")
	})
	if s, err := c.Examine(t.Context(), "pods", "shop", "p"); err != nil || s.Status != Current || strings.Contains(s.Message, "forbidden") {
		t.Errorf("got %+v, %v", s, err)
	}
}

// Many PodDisruptionBudgets of a namespace take as few lists as one.
func TestDoubtsOfManyBudgets(t *testing.T) {
	const count = 200
	manifests := []string{webPod("p", "web", `{phase: Running, conditions: [{type: Ready, status: "True"}]}`)}
	budget := func(i int) string {
		app := "web"
		if i > 1 {
			app = fmt.Sprint("app-", i)
		}
		return fmt.Sprintf(`{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: b-%d, namespace: shop, generation: 1}, spec: {selector: {matchLabels: {app: %s}}}, status: {observedGeneration: 1}}`, i, app)
	}
	for i := range count {
		manifests = append(manifests, budget(i))
	}
	c := newCluster(t, manifests...)
	doubt := c.DoubtOf(t.Context())
	for i := range count {
		want := "its selector matches no Pod"
		if i < 2 {
			want = fmt.Sprintf("its Pod p cannot be evicted: PodDisruptionBudget b-%d selects it, too, and an eviction supports only one for each Pod", 1-i)
		}
		if got := doubt(parseObject(t, budget(i))); got != want {
			t.Errorf("got %s\nwant %s", got, want)
		}
	}
	if n := len(c.objects.Actions()); n != 2 {
		t.Errorf("%d requests, want 2: the Pods, and the PodDisruptionBudgets", n)
	}
}

// What is known of a PodDisruptionBudget is said also if the time for the rest has ended.
func TestDoubtOfBudgetInTime(t *testing.T) {
	unused := `{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: a, namespace: shop, generation: 1}, spec: {selector: {matchLabels: {app: none}}}, status: {observedGeneration: 1}}`
	c := newCluster(t, unused, strings.Replace(unused, "name: a", "name: b", 1))
	c.objects.PrependReactor("list", "poddisruptionbudgets", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, context.DeadlineExceeded
	})
	if s, err := c.Examine(t.Context(), "poddisruptionbudgets", "shop", "a"); err != nil || s.Doubt != "its selector matches no Pod" {
		t.Errorf("got %s, %v", s.Doubt, err)
	}
}

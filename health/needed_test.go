package health

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// What an object refers to is read once, and not without a bound: a binding may have thousands of subjects.
func TestExamineReadsFewNeeds(t *testing.T) {
	repeat := func(n int, format string) string {
		var all []string
		for i := range n {
			all = append(all, fmt.Sprintf(format, i))
		}
		return strings.Join(all, ", ")
	}
	binding := func(subjects string) string {
		return `{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: x, namespace: shop}, subjects: [` + subjects + `], roleRef: {kind: ClusterRole, name: r}}`
	}
	ingress := func(paths string) string {
		return `{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {name: x, namespace: shop}, spec: {rules: [{http: {paths: [` + paths + `]}}]}}`
	}
	const fiveSubjects = "Its subject ServiceAccount shop/sa-0 does not exist; its subject ServiceAccount shop/sa-1 does not exist; its subject ServiceAccount shop/sa-2 does not exist; " +
		"its subject ServiceAccount shop/sa-3 does not exist; its subject ServiceAccount shop/sa-4 does not exist"
	for name, tc := range map[string]struct {
		object, want string
		reads        int // beside that of the object itself
	}{
		"five subjects":     {binding(repeat(5, "{kind: ServiceAccount, name: sa-%d, namespace: shop}")), fiveSubjects + ".", 6},
		"some subjects":     {binding(repeat(90, "{kind: ServiceAccount, name: sa-%d, namespace: shop}")), fiveSubjects + "; and 85 more.", 91},
		"many subjects":     {binding(repeat(3000, "{kind: ServiceAccount, name: sa-%d, namespace: shop}")), fiveSubjects + "; and 94 more; only the first 100 objects that it refers to were examined.", 100},
		"subjects that are": {binding(repeat(3000, "{kind: ServiceAccount, name: is, namespace: shop, apiGroup: \"%d\"}")), "", 2},
		"one Service":       {ingress(repeat(500, "{path: /%d, backend: {service: {name: web, port: {number: 80}}}}")), "", 1},
		"a missing one":     {ingress(repeat(500, "{path: /%d, backend: {service: {name: none, port: {number: 80}}}}")), "Its backend Service none does not exist.", 1},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, tc.object, `{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: r}}`,
				`{apiVersion: v1, kind: ServiceAccount, metadata: {name: is, namespace: shop}}`,
				`{apiVersion: v1, kind: Service, metadata: {name: web, namespace: shop}, spec: {ports: [{port: 80}]}}`)
			r := RefOf(parseObject(t, tc.object))
			s, err := c.Examine(t.Context(), r.Kind, r.Namespace, r.Name)
			if got := s.Problem(); err != nil || got != tc.want {
				t.Errorf("got %s, %v\nwant %s", got, err, tc.want)
			}
			reads := -1
			for _, a := range c.objects.Actions() {
				if slices.Contains([]string{"get", "list"}, a.GetVerb()) {
					reads++
				}
			}
			if reads != tc.reads {
				t.Errorf("%d reads, want %d", reads, tc.reads)
			}
		})
	}
}

package health

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"

	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"

	"github.com/ctrlplane/ctrlplane/observe"
)

// Warnings about custom resources are read once for all objects of a namespace, and of a single object alone. If they cannot be read
// in time, the answer lacks only what they would have said.
func TestReadingWarnings(t *testing.T) {
	for name, test := range map[string]struct {
		objects int
		slow    bool
		want    []string // field selectors
	}{
		"one":               {1, false, []string{"involvedObject.uid=uid-of-w0,type=Warning"}},
		"many":              {20, false, []string{"involvedObject.kind!=Pod,type=Warning"}},
		"many, not in time": {20, true, []string{"involvedObject.kind!=Pod,type=Warning"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCluster(t)
				c.serve("example.com/v1", "widgets", "Widget", true)
				var refs []Ref
				var warned []observe.Object
				for i := range test.objects {
					r := Ref{widgets.GroupVersion().WithKind("Widget"), "shop", fmt.Sprint("w", i)}
					refs = append(refs, r)
					warned = append(warned, observe.Object{Group: r.Group, Kind: r.Kind, Namespace: r.Namespace, Name: r.Name})
					c.create(t, widgets, `{apiVersion: example.com/v1, kind: Widget, metadata: {namespace: shop, name: `+r.Name+`}, status: {a: 1}}`)
				}
				var selectors []string
				c.objects.PrependReactor("list", "events", func(a clienttesting.Action) (bool, runtime.Object, error) {
					selectors = append(selectors, a.(clienttesting.ListAction).GetListRestrictions().Fields.String())
					if test.slow {
						return true, nil, context.DeadlineExceeded
					}
					return false, nil, nil
				})
				if err := c.Wait(t.Context(), refs, Options{Doubtful: func(s State) { t.Errorf("doubtful: %s", s.Doubt) }}); err != nil {
					t.Error(err)
				}
				if found, err := c.FindStuck(t.Context(), Candidates{Warned: warned}); err != nil || len(found) != 0 {
					t.Errorf("stuck: %v, %v", found, err)
				}
				test.want = append(test.want, "involvedObject.kind!=Pod,type=Warning")
				if fmt.Sprint(selectors) != fmt.Sprint(test.want) {
					t.Errorf("got %s\nwant %s", selectors, test.want)
				}
			})
		})
	}
}

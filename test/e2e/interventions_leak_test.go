package e2e_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/ctrlplane/ctrlplane/observe"
)

// controllerResources counts what controllers use: goroutines, by controller and
// stack, and work queues, by name. An event handler has two goroutines.
type controllerResources struct {
	goroutines goroutines
	queues     map[string]int
}

func currentResources(t *testing.T) controllerResources {
	t.Helper()
	s, err := controlPlane.server.Observer().Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	l := controllerResources{goroutinesNow(t), map[string]int{}}
	for _, q := range s.Queues {
		l.queues[q.Controller+" "+q.Name]++
	}
	return l
}

// growthSince lists what there is more of than before: goroutines that grew by at
// least atLeast, and any queue.
func (l controllerResources) growthSince(before controllerResources, atLeast int) (all []string) {
	all = l.goroutines.growthSince(before.goroutines, atLeast, isTransient)
	for _, q := range slices.Sorted(maps.Keys(l.queues)) {
		if more := l.queues[q] - before.queues[q]; more > 0 {
			all = append(all, fmt.Sprintf("%d more queues: %s", more, q))
		}
	}
	return all
}

// isTransient reports whether the number of such goroutines depends on the load: those
// of the API server, and those without a controller.
func isTransient(who string) bool {
	return strings.HasPrefix(who, `{"controller":"kube-apiserver"}`) || !strings.HasPrefix(who, `{"controller"`) && !strings.Contains(who, "/pkg/controller/")
}

// awaitNoGrowth waits until stopped controllers have released their resources.
func awaitNoGrowth(t *testing.T, before controllerResources, atLeast int) {
	t.Helper()
	await(t, "release of the resources of stopped controllers", func(context.Context) ([]string, error) { return currentResources(t).growthSince(before, atLeast), nil },
		func(grown []string) bool { return len(grown) == 0 })
}

// countDeliveries counts the controller's event handlers that received an added
// object: two if an earlier run of the controller left its handler behind.
func countDeliveries(t *testing.T, controller string, of observe.Object, after uint64) int {
	t.Helper()
	p, err := controlPlane.server.Observer().Records(t.Context(), observe.Query{
		After: after, Controller: controller, Object: &of, Kinds: []observe.Kind{observe.KindDelivered},
	})
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, r := range p.Records {
		if d := r.Event.(*observe.Delivered); d.Change == observe.Added {
			n++
		}
	}
	return n
}

package e2e_test

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"regexp"
	"runtime/pprof"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ctrlplane/ctrlplane/observe"
)

// controllerResources counts what controllers use: goroutines, by controller and
// stack, and work queues, by name. An event handler has two goroutines.
type controllerResources struct {
	goroutines map[string]int
	queues     map[string]int
}

func currentResources(t *testing.T) controllerResources {
	t.Helper()
	var b bytes.Buffer
	if err := pprof.Lookup("goroutine").WriteTo(&b, 1); err != nil {
		t.Fatal(err)
	}
	s, err := controlPlane.server.Observer().Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	l := controllerResources{countGoroutines(b.String()), map[string]int{}}
	for _, q := range s.Queues {
		l.queues[q.Controller+" "+q.Name]++
	}
	return l
}

var (
	goroutineHead  = regexp.MustCompile(`^(\d+) @`)
	goroutineLabel = regexp.MustCompile(`(?m)^# labels: (.*)$`)
	goroutineFrame = regexp.MustCompile(`(?m)^#\t\S+\t(.+?)(\+0x[0-9a-f]+)?\t`)
)

// countGoroutines counts the goroutines of a profile in debug form by their labels
// and the functions on their stack.
func countGoroutines(profile string) map[string]int {
	counts := map[string]int{}
	for _, group := range strings.Split(profile, "\n\n") {
		_, rest, ok := strings.Cut(group, "goroutine profile: ")
		if ok {
			_, group, _ = strings.Cut(rest, "\n")
		}
		head := goroutineHead.FindStringSubmatch(group)
		if head == nil {
			continue
		}
		n, _ := strconv.Atoi(head[1]) // digits
		who := ""
		if label := goroutineLabel.FindStringSubmatch(group); label != nil {
			who = label[1]
		}
		for _, frame := range goroutineFrame.FindAllStringSubmatch(group, -1) {
			who += "\n\t" + strings.TrimSpace(frame[1])
		}
		counts[who] += n
	}
	return counts
}

// growthSince lists what there is more of than before: goroutines that grew by at
// least atLeast, and any queue.
func (l controllerResources) growthSince(before controllerResources, atLeast int) (all []string) {
	for _, who := range slices.Sorted(maps.Keys(l.goroutines)) {
		if more := l.goroutines[who] - before.goroutines[who]; more >= atLeast && !isTransient(who) {
			all = append(all, fmt.Sprintf("%d more goroutines of %s", more, who))
		}
	}
	for _, q := range slices.Sorted(maps.Keys(l.queues)) {
		if more := l.queues[q] - before.queues[q]; more > 0 {
			all = append(all, fmt.Sprintf("%d more queues: %s", more, q))
		}
	}
	return all
}

// isTransient reports whether the number of such goroutines depends on the load: those
// of the API server, and those without a controller.
// server's, and none of a controller.
func isTransient(who string) bool {
	return strings.HasPrefix(who, `{"controller":"kube-apiserver"}`) || !strings.HasPrefix(who, `{"controller"`) && !strings.Contains(who, "/pkg/controller/")
}

func TestCountGoroutines(t *testing.T) {
	const profile = `goroutine profile: total 4
2 @ 0x1 0x2
# labels: {"controller":"a"}
#	0x1	main.f+0x1f	/x.go:1
#	0x2	main.g.func1+0x2	/x.go:2

1 @ 0x1
#	0x1	main.f+0x20	/x.go:1

1 @ 0x1 0x2
# labels: {"controller":"a"}
#	0x1	main.f+0x2f	/x.go:3
#	0x2	main.g.func1+0x2	/x.go:2
`
	before := controllerResources{goroutines: countGoroutines(profile), queues: map[string]int{"a q": 1}}
	if want := map[string]int{"{\"controller\":\"a\"}\n\tmain.f\n\tmain.g.func1": 3, "\n\tmain.f": 1}; !maps.Equal(before.goroutines, want) {
		t.Fatalf("got %v", before.goroutines)
	}
	after := controllerResources{goroutines: countGoroutines(strings.Replace(profile, "2 @", "4 @", 1)), queues: map[string]int{"a q": 2}}
	if got := after.growthSince(before, 2); len(got) != 2 || !strings.HasPrefix(got[0], "2 more goroutines of ") || got[1] != "1 more queues: a q" {
		t.Errorf("got %q", got)
	}
	if got := before.growthSince(before, 1); got != nil {
		t.Errorf("got %q", got)
	}
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

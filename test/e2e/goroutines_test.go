package e2e_test

import (
	"bytes"
	"fmt"
	"maps"
	"regexp"
	"runtime/pprof"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// goroutines counts goroutines by their labels and the functions on their stack.
type goroutines map[string]int

// goroutinesNow counts the goroutines of this process.
func goroutinesNow(t *testing.T) goroutines {
	t.Helper()
	g, err := readGoroutines()
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func readGoroutines() (goroutines, error) {
	var b bytes.Buffer
	err := pprof.Lookup("goroutine").WriteTo(&b, 1)
	return countGoroutines(b.String()), err
}

var (
	goroutineHead  = regexp.MustCompile(`^(\d+) @`)
	goroutineLabel = regexp.MustCompile(`(?m)^# labels: (.*)$`)
	goroutineFrame = regexp.MustCompile(`(?m)^#\t\S+\t(.+?)(\+0x[0-9a-f]+)?\t`)
)

// countGoroutines counts the goroutines of a profile in debug form by their labels
// and the functions on their stack.
func countGoroutines(profile string) goroutines {
	counts := goroutines{}
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

// growthSince lists the goroutines that there are at least atLeast more of than before, except
// those that are ignored.
func (g goroutines) growthSince(before goroutines, atLeast int, ignored func(who string) bool) (all []string) {
	for _, who := range slices.Sorted(maps.Keys(g)) {
		if more := g[who] - before[who]; more >= atLeast && !ignored(who) {
			all = append(all, fmt.Sprintf("%d more goroutines of %s", more, who))
		}
	}
	return all
}

// withoutLabels counts by stacks only: the labels depend on who has started what several
// controllers share.
func (g goroutines) withoutLabels() goroutines {
	merged := goroutines{}
	for who, n := range g {
		_, stack, _ := strings.Cut(who, "\n")
		merged[stack] += n
	}
	return merged
}

func (g goroutines) total() (n int) {
	for _, of := range g {
		n += of
	}
	return n
}

// isIdleCaller reports whether goroutines wait for calls of the embedded etcd, which keeps at
// most 32: as many as there were calls at the same time.
func isIdleCaller(stack string) bool {
	top, _, _ := strings.Cut(stack, "\n")
	return strings.HasSuffix(top, "etcd.(*callPool).serve")
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
	if want := (goroutines{"{\"controller\":\"a\"}\n\tmain.f\n\tmain.g.func1": 3, "\n\tmain.f": 1}); !maps.Equal(before.goroutines, want) {
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

package e2e_test

import (
	"bytes"
	"fmt"
	"maps"
	"runtime/pprof"
	"slices"
	"strings"
	"testing"
)

// goroutineStacks counts the goroutines of this process by their stacks.
type goroutineStacks map[string]int

func readGoroutineStacks(t *testing.T) goroutineStacks {
	t.Helper()
	var text bytes.Buffer
	if err := pprof.Lookup("goroutine").WriteTo(&text, 1); err != nil {
		t.Fatal(err)
	}
	all := goroutineStacks{}
	for block := range strings.SplitSeq(text.String(), "\n\n") {
		n, stack := 0, block
		if _, after, ok := strings.Cut(block, "\n"); ok {
			stack = after // its first line has addresses
		}
		if _, err := fmt.Sscanf(block, "%d @", &n); err == nil {
			all[stack] += n
		}
	}
	return all
}

// moreThan describes the stacks that there are more of than before, and those of fewer.
func (s goroutineStacks) moreThan(before goroutineStacks) string {
	var b strings.Builder
	stacks := maps.Clone(s)
	maps.Insert(stacks, maps.All(before))
	for _, stack := range slices.Sorted(maps.Keys(stacks)) {
		if d := s[stack] - before[stack]; d != 0 {
			fmt.Fprintf(&b, "%+d (of %d):\n%s\n", d, s[stack], stack)
		}
	}
	return b.String()
}

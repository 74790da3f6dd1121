package e2e_test

import (
	"bytes"
	"fmt"
	"runtime/pprof"
	"strings"
	"testing"
)

// idleCaller is where goroutines of the embedded etcd wait for calls: it keeps at most 32,
// as many as there were calls at the same time.
const idleCaller = "etcd.(*callPool).serve+"

// goroutineStacks counts the goroutines of this process by their stacks.
type goroutineStacks map[string]int

// readGoroutineStacks leaves out idle callers, and the labels: they depend on who has
// started what several controllers share.
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
		if strings.HasPrefix(stack, "# labels:") {
			_, stack, _ = strings.Cut(stack, "\n")
		}
		top, _, _ := strings.Cut(stack, "\n")
		if _, err := fmt.Sscanf(block, "%d @", &n); err == nil && !strings.Contains(top, idleCaller) {
			all[stack] += n
		}
	}
	return all
}

func (s goroutineStacks) count() (n int) {
	for _, of := range s {
		n += of
	}
	return n
}

// growth returns how many more goroutines have a stack than before, for the stacks with at
// least as many more as given.
func (s goroutineStacks) growth(before goroutineStacks, atLeast int) goroutineStacks {
	grown := goroutineStacks{}
	for stack, n := range s {
		if more := n - before[stack]; more >= atLeast {
			grown[stack] = more
		}
	}
	return grown
}

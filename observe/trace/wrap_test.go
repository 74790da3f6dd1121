package trace

import (
	"slices"
	"testing"
)

// A number and its unit stay on one line.
func TestUnitsStayWithTheirNumbers(t *testing.T) {
	p := newPainter(Style{Width: 40}, "")
	got := p.wrap("updated ReplicaSet web status in 4.5 ms (queued 12 µs); found 3 s lines", 36)
	want := []string{"updated ReplicaSet web status in", "4.5 ms (queued 12 µs); found 3 s", "lines"}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

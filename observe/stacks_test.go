package observe

import (
	"strings"
	"testing"
)

func TestStacks(t *testing.T) {
	o := New(Options{})
	began, end, ended := make(chan struct{}), make(chan struct{}), make(chan struct{})
	waitForEnd := func() { close(began); <-end; close(ended) }
	o.Recorder("stuck-controller").Do(func() { go waitForEnd() })
	<-began
	got, err := Stacks("stuck-controller")
	if err != nil || !strings.Contains(got, "observe.TestStacks.func1") {
		t.Errorf("got %q, %v", got, err)
	}
	if got, err := Stacks("stuck"); err != nil || got != "" {
		t.Errorf("of another controller: %q, %v", got, err)
	}
	close(end)
	<-ended
}

package leaks

import (
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestVerifyNone(t *testing.T) {
	before := goleak.IgnoreCurrent()
	end := make(chan struct{})
	go func() { <-end }()
	if err := find(0, before); err == nil || !strings.Contains(err.Error(), "TestVerifyNone.func1") {
		t.Errorf("of a goroutine that is left: %v", err)
	}
	time.AfterFunc(time.Second, func() { close(end) }) // goleak alone does not wait that long
	VerifyNone(t, before)
}

package controllers

import (
	"context"
	"testing"

	"k8s.io/kubernetes/cmd/kube-controller-manager/app"
	"k8s.io/kubernetes/pkg/controller/garbagecollector"
)

// crdAwareGC needs the method Sync of upstream's garbage collector.
var _ garbageCollector = (*namedGarbageCollector)(nil)

// namedGarbageCollector has the methods of upstream's type and, as upstream's
// wrapper in cmd/kube-controller-manager/app, a name.
type namedGarbageCollector struct {
	*garbagecollector.GarbageCollector
}

func (namedGarbageCollector) Name() string        { return "" }
func (namedGarbageCollector) Run(context.Context) {}

// Another type than the expected one is an error: with the type alone, custom
// resources would be collected late, and nothing would show it.
func TestGarbageCollectorOfOtherTypeIsRefused(t *testing.T) {
	if gc, err := newCRDAwareGC(app.ControllerContext{}, funcController{name: "x"}); gc != nil || err == nil {
		t.Errorf("got %v, %v", gc, err)
	}
	if gc, err := newCRDAwareGC(app.ControllerContext{}, nil); gc != nil || err != nil {
		t.Errorf("a garbage collector that declines to run: %v, %v", gc, err)
	}
}

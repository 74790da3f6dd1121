package controllers

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	controllersmetrics "k8s.io/component-base/metrics/prometheus/controllers"
	"k8s.io/kubernetes/cmd/kube-controller-manager/app"
)

// ExtraController is a controller that upstream's controller manager does not
// have. It is built, run, listed and observed as the others are.
type ExtraController struct {
	Name    string
	Aliases []string
	// Program has the controller in a cluster; it is in the user agent.
	Program string
	// OffReason says why it cannot run, whatever the list of controllers says;
	// empty if it can.
	OffReason string
	// Build builds the controller; run runs it until the context ends. The context
	// has its logger.
	Build func(context.Context, Environment) (run func(context.Context), err error)
}

// Environment is what an ExtraController is built with.
type Environment struct {
	Informers informers.SharedInformerFactory
	// ViewFiltered returns a view of Informers in which those of one resource hold only
	// the objects for which keep is true. Its handlers run from its Start on; if that is
	// not called, Shutdown must be.
	ViewFiltered func(resource schema.GroupVersionResource, keep func(obj any) bool) informers.SharedInformerFactory
	// Client returns a client that acts as the service account of that name.
	Client func(account string) (kubernetes.Interface, error)
	// WaitTurn makes the sync of the calling goroutine wait, once, if the control plane is
	// slowed down. Reads through Informers and calls of Client do so, too.
	WaitTurn func(context.Context)
	Metrics  *controllersmetrics.ControllerManagerMetrics
}

func (e ExtraController) newConstructor(c app.ControllerContext) constructFunc {
	return func(ctx context.Context) (app.Controller, error) {
		view, ok := c.InformerFactory.(*informerView)
		if !ok {
			return nil, fmt.Errorf("informers are a %T", c.InformerFactory)
		}
		run, err := e.Build(ctx, Environment{
			Informers:    view,
			ViewFiltered: view.viewFiltered,
			Client:       c.ClientBuilder.Client,
			WaitTurn:     view.waitTurn,
			Metrics:      c.ControllerManagerMetrics,
		})
		if err != nil {
			return nil, err
		}
		return funcController{e.Name, run}, nil
	}
}

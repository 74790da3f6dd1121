package ctrlplane

import (
	"context"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"
	nodeutil "k8s.io/component-helpers/node/util"

	"github.com/ctrlplane/ctrlplane/controllers"
	"github.com/ctrlplane/ctrlplane/internal/controllernames"
)

// taintTimeout is how long a ready node may keep its first taint: a webhook may refuse to remove it.
const taintTimeout = 5 * time.Second

// waitSchedulable waits until no ready node has the taint that admission gives to each new one,
// and that node-lifecycle-controller removes: the first Pods would meet it.
func (p *controlPlane) waitSchedulable(ctx context.Context) error {
	if p.config.Nodes.Count == 0 || p.config.Controllers.LeaderElect || !p.removesTaints() {
		return nil
	}
	client, err := kubernetes.NewForConfig(p.readerConfig())
	if err != nil {
		return err
	}
	nodes := client.CoreV1().Nodes()
	list, err := nodes.List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	tainted := map[string]bool{}
	for i := range list.Items {
		if node := &list.Items[i]; hasFirstTaint(node) {
			tainted[node.Name] = true
		}
	}
	if len(tainted) == 0 {
		return nil
	}
	bounded, cancel := context.WithTimeout(ctx, taintTimeout)
	defer cancel()
	_, err = watchtools.Until(bounded, list.ResourceVersion, &cache.ListWatch{WatchFuncWithContext: nodes.Watch}, func(e watch.Event) (bool, error) {
		if node, ok := e.Object.(*corev1.Node); ok && (e.Type == watch.Deleted || !hasFirstTaint(node)) {
			delete(tainted, node.Name)
		}
		return len(tainted) == 0, nil
	})
	if err != nil && ctx.Err() == nil { // too long, or a watch that has ended: no reason to fail a start
		p.log.Warn("nodes are ready, but still have the taint of new ones", "nodes", len(tainted), "err", err)
		return nil
	}
	return err
}

// removesTaints reports whether the controller runs that removes the taints of ready nodes.
func (p *controlPlane) removesTaints() bool {
	return slices.ContainsFunc(p.supervisor.Statuses(), func(s controllers.Status) bool {
		return s.Name == controllernames.NodeLifecycle && s.State == controllers.Running
	})
}

// hasFirstTaint reports whether a node is ready and still has the taint of new ones.
func hasFirstTaint(node *corev1.Node) bool {
	_, ready := nodeutil.GetNodeCondition(&node.Status, corev1.NodeReady)
	return ready != nil && ready.Status == corev1.ConditionTrue && slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool {
		return t.Key == corev1.TaintNodeNotReady && t.Effect == corev1.TaintEffectNoSchedule
	})
}

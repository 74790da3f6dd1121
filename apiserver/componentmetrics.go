package apiserver

import (
	"k8s.io/component-base/compatibility"
	"k8s.io/component-base/featuregate"
	// Upstream's programs have the metrics of client-go; those of its work queues come with
	// upstream's controllers.
	_ "k8s.io/component-base/metrics/prometheus/clientgo/leaderelection"
	_ "k8s.io/component-base/metrics/prometheus/restclient"
)

// recordVersions sets the metrics of feature gates and versions, as upstream's program does
// before it runs.
func recordVersions(components compatibility.ComponentGlobalsRegistry) {
	if gate, ok := components.FeatureGateFor(compatibility.DefaultKubeComponent).(featuregate.MutableFeatureGate); ok {
		gate.AddMetrics()
	}
	components.AddMetrics()
}

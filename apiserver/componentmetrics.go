package apiserver

import (
	"k8s.io/component-base/compatibility"
	"k8s.io/component-base/featuregate"
	// Upstream's programs have the metrics of client-go; those of its work queues come with
	// upstream's controllers.
	_ "k8s.io/component-base/metrics/prometheus/clientgo/leaderelection"
	"k8s.io/component-base/metrics/prometheus/compatversion"
	"k8s.io/component-base/metrics/prometheus/feature"
	_ "k8s.io/component-base/metrics/prometheus/restclient"
)

// recordVersions sets the metrics of feature gates and versions, as upstream's program does
// before it runs, and removes those of an earlier start.
func recordVersions(components compatibility.ComponentGlobalsRegistry) {
	feature.ResetFeatureInfoMetric()
	if gate, ok := components.FeatureGateFor(compatibility.DefaultKubeComponent).(featuregate.MutableFeatureGate); ok {
		gate.AddMetrics()
	}
	compatversion.ResetCompatVersionInfoMetric()
	components.AddMetrics()
}

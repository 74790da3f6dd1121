package apiserver

import (
	"k8s.io/component-base/compatibility"
	"k8s.io/component-base/featuregate"
	_ "k8s.io/component-base/metrics/prometheus/clientgo/leaderelection" // metrics of upstream's programs
	"k8s.io/component-base/metrics/prometheus/compatversion"
	"k8s.io/component-base/metrics/prometheus/feature"
	_ "k8s.io/component-base/metrics/prometheus/restclient" // metrics of upstream's programs
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

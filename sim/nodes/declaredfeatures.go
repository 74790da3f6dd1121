package nodes

import (
	"slices"

	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/component-base/featuregate"
	ndf "k8s.io/component-helpers/nodedeclaredfeatures"
	"k8s.io/component-helpers/nodedeclaredfeatures/features/inplacepodresize"
	"k8s.io/component-helpers/nodedeclaredfeatures/features/restartallcontainers"
	"k8s.io/kubernetes/pkg/features"
)

// simulatedFeatures are the features of kubelets that nodes declare and that are
// simulated. The scheduler binds a Pod that needs one only to a node that declares it.
var simulatedFeatures = []string{
	restartallcontainers.Feature.Name(),
	inplacepodresize.PodLevelResourcesResizeFeature.Name(),
	inplacepodresize.NonSidecarInitContainerResizeFeature.Name(),
}

// declaredFeatures returns what the status of a simulated node declares with the feature
// gates of this process.
func declaredFeatures() []string {
	if !utilfeature.DefaultFeatureGate.Enabled(features.NodeDeclaredFeatures) {
		return nil // the API server drops the field
	}
	enabled := ndf.DefaultFramework.DiscoverNodeFeatures(&ndf.NodeConfiguration{FeatureGates: gatesByName{utilfeature.DefaultFeatureGate}})
	return slices.DeleteFunc(enabled, func(name string) bool { return !slices.Contains(simulatedFeatures, name) })
}

// gatesByName are feature gates as the helpers of declared features ask for them.
type gatesByName struct{ featuregate.FeatureGate }

// Enabled implements nodedeclaredfeatures.FeatureGate.
func (g gatesByName) Enabled(name string) bool {
	return g.FeatureGate.Enabled(featuregate.Feature(name))
}

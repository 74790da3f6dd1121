package apiserver

import (
	basecompatibility "k8s.io/component-base/compatibility"
	"k8s.io/component-base/featuregate"

	"k8s.io/apiserver/pkg/features"
)

// decodeWatchesSerially turns off a feature gate of upstream, unless the user has set it
// or all gates of its kind, or there is a watch cache. With the gate each watch decodes each
// event in a goroutine of its own, whose stack grows every time. It is for watch caches of
// kinds with a conversion webhook; without it a watch decodes one event after the other, as
// up to Kubernetes 1.36.
func decodeWatchesSerially(registry basecompatibility.ComponentGlobalsRegistry, watchCache bool) error {
	if watchCache {
		return nil
	}
	gates, ok := registry.FeatureGateFor(basecompatibility.DefaultKubeComponent).(featuregate.MutableVersionedFeatureGate)
	if !ok || gates.ExplicitlySet(features.ConcurrentWatchObjectDecode) || gates.ExplicitlySet("AllBeta") {
		return nil
	}
	return gates.SetFromMap(map[string]bool{string(features.ConcurrentWatchObjectDecode): false})
}

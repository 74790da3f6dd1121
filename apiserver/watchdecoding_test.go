package apiserver

import (
	"testing"

	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/apiserver/pkg/features"
	basecompatibility "k8s.io/component-base/compatibility"
	"k8s.io/component-base/featuregate"
)

// A watch decodes its events one after the other unless the user wants it otherwise.
func TestWatchesDecodeSerially(t *testing.T) {
	for _, tt := range []struct {
		name  string
		set   map[string]bool
		cache bool
		want  bool // whether they decode concurrently
	}{
		{"by default", nil, false, false},
		{"another gate is set", map[string]bool{"Other": true}, false, false},
		{"the user sets it", map[string]bool{"ConcurrentWatchObjectDecode": true}, false, true},
		{"the user sets all", map[string]bool{"AllBeta": true}, false, true},
		{"there is a watch cache", nil, true, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			is := version.MustParse("1.37")
			gates := featuregate.NewVersionedFeatureGate(is)
			if err := gates.AddVersioned(map[featuregate.Feature]featuregate.VersionedSpecs{
				features.ConcurrentWatchObjectDecode: {{Version: is, Default: true, PreRelease: featuregate.Beta}},
				"Other":                              {{Version: is, PreRelease: featuregate.Alpha}},
			}); err != nil {
				t.Fatal(err)
			}
			registry := basecompatibility.NewComponentGlobalsRegistry()
			if err := registry.Register(basecompatibility.DefaultKubeComponent, basecompatibility.NewEffectiveVersionFromString("1.37", "1.36", "1.36"), gates); err != nil {
				t.Fatal(err)
			}
			if err := gates.SetFromMap(tt.set); err != nil {
				t.Fatal(err)
			}
			if err := decodeWatchesSerially(registry, tt.cache); err != nil {
				t.Fatal(err)
			}
			if got := gates.Enabled(features.ConcurrentWatchObjectDecode); got != tt.want {
				t.Errorf("concurrently: got %v, want %v", got, tt.want)
			}
		})
	}
}

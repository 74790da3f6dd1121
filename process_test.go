package ctrlplane

import (
	"fmt"
	"testing"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/version"
	basecompatibility "k8s.io/component-base/compatibility"
	"k8s.io/component-base/featuregate"
)

func TestCaptureFeatureGatesRestoresThem(t *testing.T) {
	specs := map[featuregate.Feature]featuregate.FeatureSpec{
		"Alpha":  {PreRelease: featuregate.Alpha},
		"Beta":   {PreRelease: featuregate.Beta, Default: true},
		"Chosen": {PreRelease: featuregate.Beta},
	}
	gates := featuregate.NewVersionedFeatureGate(version.MustParse("1.37"))
	if err := gates.Add(specs); err != nil {
		t.Fatal(err)
	}
	if err := gates.Set("Chosen=true"); err != nil {
		t.Fatal(err)
	}
	restore := captureFeatureGates(gates)
	if err := gates.Set("AllAlpha=true,Beta=false,Chosen=false"); err != nil {
		t.Fatal(err)
	}
	if !gates.Enabled("Alpha") || gates.Enabled("Beta") || gates.Enabled("Chosen") {
		t.Fatal("the gates were not set")
	}
	if err := restore(); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[featuregate.Feature]bool{"Alpha": false, "Beta": true, "Chosen": true, "AllAlpha": false} {
		if got := gates.Enabled(name); got != want {
			t.Errorf("%s: got %v, want %v", name, got, want)
		}
		if got, want := gates.ExplicitlySet(name), name == "Chosen"; got != want {
			t.Errorf("%s: set explicitly: %v, want %v", name, got, want)
		}
	}
}

func TestCaptureFeaturesRestoresThem(t *testing.T) {
	gates := featuregate.NewVersionedFeatureGate(version.MustParse("1.37"))
	if err := gates.AddVersioned(map[featuregate.Feature]featuregate.VersionedSpecs{"New": {
		{Version: version.MustParse("1.36"), PreRelease: featuregate.Alpha},
		{Version: version.MustParse("1.37"), PreRelease: featuregate.Beta, Default: true},
	}, "Alpha": {
		{Version: version.MustParse("1.35"), PreRelease: featuregate.Alpha},
	}}); err != nil {
		t.Fatal(err)
	}
	registry := basecompatibility.NewComponentGlobalsRegistry()
	effective := basecompatibility.NewEffectiveVersionFromString("1.37", "1.34", "1.34")
	if err := registry.Register(basecompatibility.DefaultKubeComponent, effective, gates); err != nil {
		t.Fatal(err)
	}
	start := func(args ...string) string {
		flags := pflag.NewFlagSet("", pflag.ContinueOnError)
		registry.AddFlags(flags)
		if err := flags.Parse(args); err != nil {
			t.Fatal(err)
		}
		if err := registry.Set(); err != nil {
			t.Fatal(err)
		}
		return fmt.Sprintf("%s, compatible with %s, New %v, Alpha %v", gates.EmulationVersion(), effective.MinCompatibilityVersion(), gates.Enabled("New"), gates.Enabled("Alpha"))
	}
	const before = "1.37, compatible with 1.36, New true, Alpha false"
	if got := start(); got != before {
		t.Fatalf("before: %s, want %s", got, before)
	}
	for _, args := range [][]string{{"--feature-gates=Alpha=true"}, {"--emulated-version=1.35"}, {"--feature-gates=New=false,Alpha=true", "--emulated-version=1.36"}} {
		restore := captureFeatures(registry, gates)
		if got := start(args...); got == before {
			t.Fatalf("%q changes nothing", args)
		}
		if err := restore(); err != nil {
			t.Errorf("%q: %v", args, err)
		}
		if got := start(); got != before {
			t.Errorf("after %q: the next start has %s, want %s", args, got, before)
		}
	}
}

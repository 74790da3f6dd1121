package ctrlplane

import (
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

func TestClearFeatureGateFlags(t *testing.T) {
	gates := featuregate.NewVersionedFeatureGate(version.MustParse("1.37"))
	if err := gates.Add(map[featuregate.Feature]featuregate.FeatureSpec{"Alpha": {PreRelease: featuregate.Alpha}}); err != nil {
		t.Fatal(err)
	}
	registry := basecompatibility.NewComponentGlobalsRegistry()
	effective := basecompatibility.NewEffectiveVersionFromString("1.37", "1.36", "1.36")
	if err := registry.Register(basecompatibility.DefaultKubeComponent, effective, gates); err != nil {
		t.Fatal(err)
	}
	start := func(args ...string) bool {
		flags := pflag.NewFlagSet("", pflag.ContinueOnError)
		registry.AddFlags(flags)
		if err := flags.Parse(args); err != nil {
			t.Fatal(err)
		}
		if err := registry.Set(); err != nil {
			t.Fatal(err)
		}
		return gates.Enabled("Alpha")
	}
	restore := captureFeatureGates(gates)
	if !start("--feature-gates=Alpha=true") {
		t.Fatal("the gate was not set")
	}
	if err := restore(); err != nil {
		t.Fatal(err)
	}
	if err := clearFeatureGateFlags(registry); err != nil {
		t.Fatal(err)
	}
	if start() {
		t.Error("the next start has set the gate of the one before")
	}
}

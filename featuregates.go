package ctrlplane

import (
	"errors"
	"fmt"

	"github.com/spf13/pflag"
	cliflag "k8s.io/component-base/cli/flag"
	basecompatibility "k8s.io/component-base/compatibility"
	"k8s.io/component-base/featuregate"
)

// captureFeatures returns what restores the present state of a registry's emulated
// version and feature gates, which are the process's.
func captureFeatures(registry basecompatibility.ComponentGlobalsRegistry, gates featuregate.MutableVersionedFeatureGate) (restore func() error) {
	restoreGates := captureFeatureGates(gates)
	effective := registry.EffectiveVersionFor(basecompatibility.DefaultKubeComponent)
	emulated, compatible := effective.EmulationVersion(), effective.MinCompatibilityVersion()
	return func() error {
		version, ok := effective.(basecompatibility.MutableEffectiveVersion)
		if !ok {
			return fmt.Errorf("emulated version: upstream's type %T cannot be changed back to %s: the next start has it, too", effective, emulated)
		}
		version.SetEmulationVersion(emulated)
		version.SetMinCompatibilityVersion(compatible)
		// Gates after the version: some exist in newer versions only.
		return errors.Join(
			clearFeatureFlags(registry),
			gates.SetEmulationVersionAndMinCompatibilityVersion(emulated, compatible),
			restoreGates(),
		)
	}
}

// captureFeatureGates returns what restores the present state of feature gates.
func captureFeatureGates(gates featuregate.MutableVersionedFeatureGate) (restore func() error) {
	type state struct{ enabled, explicit bool }
	read := func(name featuregate.Feature) state { return state{gates.Enabled(name), gates.ExplicitlySet(name)} }
	before := map[featuregate.Feature]state{}
	for name := range gates.GetAll() {
		before[name] = read(name)
	}
	return func() error {
		var errs []error
		explicit := map[string]bool{}
		for name, was := range before {
			switch {
			case read(name) == was:
			case was.explicit:
				explicit[string(name)] = was.enabled
			default:
				errs = append(errs, gates.ResetFeatureValueToDefault(name))
			}
		}
		if len(explicit) > 0 { // last, because it applies AllAlpha and AllBeta again if they are set
			errs = append(errs, gates.SetFromMap(explicit))
		}
		return errors.Join(errs...)
	}
}

// clearFeatureFlags removes the values of --feature-gates and --emulated-version that a
// registry keeps, and would apply again at the next start.
func clearFeatureFlags(registry basecompatibility.ComponentGlobalsRegistry) error {
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	registry.AddFlags(flags)
	gates, ok := flags.Lookup("feature-gates").Value.(*cliflag.ColonSeparatedMultimapStringString)
	if !ok {
		return fmt.Errorf("feature gates: the flag has the unexpected type %T, the next start applies its values again", flags.Lookup("feature-gates").Value)
	}
	clear(*gates.Multimap)
	versions, ok := flags.Lookup("emulated-version").Value.(pflag.SliceValue)
	if !ok {
		return fmt.Errorf("emulated version: the flag has the unexpected type %T, the next start applies its value again", flags.Lookup("emulated-version").Value)
	}
	return versions.Replace(nil)
}

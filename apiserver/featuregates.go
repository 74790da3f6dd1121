package apiserver

import (
	"errors"
	"fmt"
	"strings"

	cliflag "k8s.io/component-base/cli/flag"
	"k8s.io/component-base/compatibility"
	"k8s.io/component-base/featuregate"
)

// setFeatureGates sets feature gates of the process, and its emulated version, which is in
// the registry already. Upstream's gates remember values that they have refused, and refuse
// them at every later change: they are tried on a copy first.
func setFeatureGates(registry compatibility.ComponentGlobalsRegistry, flags cliflag.NamedFlagSets, value string) error {
	if err := registry.Set(); err != nil {
		return err
	}
	if err := tryFeatureGates(registry, value); err != nil {
		return err
	}
	if err := setOwnFlag(flags, "feature-gates", value); err != nil {
		return err
	}
	return registry.Set()
}

func tryFeatureGates(registry compatibility.ComponentGlobalsRegistry, value string) error {
	if value == "" {
		return nil
	}
	byComponent := map[string][]string{}
	if err := cliflag.NewColonSeparatedMultimapStringStringAllowDefaultEmptyKey(&byComponent).Set(value); err != nil {
		return err
	}
	if len(byComponent[""]) > 0 && len(byComponent[compatibility.DefaultKubeComponent]) > 0 {
		return errors.New(`the prefix "kube:" is on some gates only: write it before all gates, or before none`)
	}
	for component, gates := range byComponent {
		if component == "" {
			component = compatibility.DefaultKubeComponent
		}
		known, ok := registry.FeatureGateFor(component).(featuregate.MutableVersionedFeatureGate)
		if !ok {
			return fmt.Errorf("unknown component %q", component)
		}
		if err := known.DeepCopy().Set(strings.Join(gates, ",")); err != nil {
			return err
		}
	}
	return nil
}

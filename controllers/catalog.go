package controllers

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	genericapp "k8s.io/controller-manager/app"
	"k8s.io/kubernetes/cmd/kube-controller-manager/app"
	"k8s.io/kubernetes/cmd/kube-controller-manager/names"

	"github.com/ctrlplane/ctrlplane/internal/suggest"
	"github.com/ctrlplane/ctrlplane/internal/usage"
)

// Default is the list that is used where the user gives none: upstream's own
// defaults and, as kubeadm has it, the two that bootstrap tokens need.
var Default = []string{"*", names.BootstrapSignerController, names.TokenCleanerController}

// CheckList refuses a name in a list of controllers (upstream's syntax: "*",
// "name", "-name"; aliases work) that no controller has.
func CheckList(list []string) error {
	known := slices.Sorted(maps.Keys(app.NewControllerDescriptors()))
	aliases := app.ControllerAliases()
	for _, entry := range list {
		name := strings.TrimPrefix(entry, "-")
		if name == "*" && entry == "*" || slices.Contains(known, name) || aliases[name] != "" {
			continue
		}
		hint := `"ctrlplane controllers" lists them`
		if near, ok := suggest.Nearest(name, append(slices.Collect(maps.Keys(aliases)), known...)); ok {
			hint = fmt.Sprintf("did you mean %q?", near)
		}
		return usage.Errorf("--controllers: unknown controller %q: %s", name, hint)
	}
	return nil
}

// Catalogue lists, by name, every controller and why list (nil = Default) or a
// feature gate keeps it off; an empty reason is that of one that would run.
func Catalogue(list []string) []Status {
	if list == nil {
		list = Default
	}
	return catalogue(list)
}

func catalogue(list []string) []Status {
	canonical := resolve(list)
	var all []Status
	for _, d := range app.NewControllerDescriptors() {
		s := Status{Name: d.Name(), Aliases: d.GetAliases(), State: Off, Reason: whyOff(d, canonical)}
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b Status) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// resolve replaces aliases by names.
func resolve(list []string) []string {
	aliases := app.ControllerAliases()
	var out []string
	for _, entry := range list {
		name, minus := strings.CutPrefix(entry, "-")
		if canonical := aliases[name]; canonical != "" {
			name = canonical
		}
		if minus {
			name = "-" + name
		}
		out = append(out, name)
	}
	return out
}

// whyOff says why the list or a feature gate keeps a controller off; empty if
// nothing does. A controller that is on may still decline when it is built.
func whyOff(d *app.ControllerDescriptor, list []string) string {
	for _, gate := range d.GetRequiredFeatureGates() {
		if !utilfeature.DefaultFeatureGate.Enabled(gate) {
			return fmt.Sprintf("feature gate %s is off", gate)
		}
	}
	offByDefault := sets.NewString()
	if d.IsDisabledByDefault() {
		offByDefault.Insert(d.Name())
	}
	switch {
	case genericapp.IsControllerEnabled(d.Name(), offByDefault, list):
		return ""
	case slices.Contains(list, "-"+d.Name()):
		return "turned off by --controllers"
	case d.IsDisabledByDefault() && slices.Contains(list, "*"):
		return "off by default"
	}
	return "not in --controllers"
}

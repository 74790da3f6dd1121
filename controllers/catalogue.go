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

// DefaultList is the list of controllers if the user gives none: upstream's own
// defaults and, as with kubeadm, the two controllers of bootstrap tokens.
var DefaultList = []string{"*", names.BootstrapSignerController, names.TokenCleanerController}

// checkList returns a usage error if a list of controllers has an unknown name.
// Its entries are "*", "NAME" and "-NAME", as upstream's; aliases are allowed.
func checkList(list []string, extra []ExtraController) error {
	known, aliases := knownControllers(extra)
	for _, entry := range list {
		name := strings.TrimPrefix(entry, "-")
		if name == "*" && entry == "*" || slices.Contains(known, name) || aliases[name] != "" {
			continue
		}
		return usage.Errorf("--controllers: unknown controller %q: %s", name, suggestController(name, known, aliases))
	}
	return nil
}

// WarnOnlyExcluded returns a warning about a list of controllers that only excludes some: by upstream's rule
// it excludes the others, too. It returns an empty string for any other list.
func WarnOnlyExcluded(list []string) string {
	if len(list) == 0 || slices.ContainsFunc(list, func(entry string) bool { return !strings.HasPrefix(entry, "-") }) {
		return ""
	}
	given := strings.Join(list, ",")
	return fmt.Sprintf("--controllers=%s turns off all controllers: to turn off only these, use --controllers='*,%s'", given, given)
}

// suggestController says what to do about an unknown name.
func suggestController(name string, known []string, aliases map[string]string) string {
	return suggest.Hint(name, append(slices.Collect(maps.Keys(aliases)), known...), `"ctrlplane controllers" lists them`)
}

// knownControllers returns the names of all controllers, sorted, and their names by alias.
func knownControllers(extra []ExtraController) (all []string, aliases map[string]string) {
	all, aliases = slices.Collect(maps.Keys(app.NewControllerDescriptors())), maps.Clone(app.ControllerAliases())
	for _, e := range extra {
		all = append(all, e.Name)
		for _, alias := range e.Aliases {
			aliases[alias] = e.Name
		}
	}
	slices.Sort(all)
	return all, aliases
}

// Catalogue returns every controller, sorted by name, with the reason for which
// list or a feature gate turns it off. The reason is empty if the controller would
// run.
func Catalogue(list []string, extra []ExtraController) []Status {
	canonical := resolveAliases(list, extra)
	var all []Status
	for _, e := range extra {
		s := Status{Name: e.Name, Aliases: e.Aliases, State: Off, Reason: e.OffReason}
		if s.Reason == "" {
			s.Reason = unlistedReason(e.Name, false, canonical)
		}
		all = append(all, s)
	}
	for _, d := range app.NewControllerDescriptors() {
		s := Status{Name: d.Name(), Aliases: d.GetAliases(), State: Off, Reason: offReason(d, canonical)}
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b Status) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// resolveAliases replaces the aliases in a list of controllers by names.
func resolveAliases(list []string, extra []ExtraController) []string {
	_, aliases := knownControllers(extra)
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

// offReason returns why the list or a feature gate turns a controller off; empty
// if neither does. The controller may still decline to run when it is built.
func offReason(d *app.ControllerDescriptor, list []string) string {
	for _, gate := range d.GetRequiredFeatureGates() {
		if !utilfeature.DefaultFeatureGate.Enabled(gate) {
			return fmt.Sprintf("feature gate %s is off", gate)
		}
	}
	return unlistedReason(d.Name(), d.IsDisabledByDefault(), list)
}

// unlistedReason returns why the list turns a controller off; empty if it does not.
func unlistedReason(name string, offByDefault bool, list []string) string {
	defaults := sets.NewString()
	if offByDefault {
		defaults.Insert(name)
	}
	switch {
	case genericapp.IsControllerEnabled(name, defaults, list):
		return ""
	case slices.Contains(list, "-"+name):
		return "turned off by --controllers"
	case offByDefault && slices.Contains(list, "*"):
		return "off by default"
	}
	return "not in --controllers"
}

package explain

import (
	"slices"

	"github.com/ctrlplane/ctrlplane/internal/suggest"
	"github.com/ctrlplane/ctrlplane/ui"
)

// Names finds pages by their names, short names and aliases.
type Names struct{ pageNames map[string]string }

// NewNames collects each page's name, its short name, and the aliases. The map has
// the aliases of controllers by name.
func NewNames(aliases map[string][]string) Names {
	n := Names{pageNames: map[string]string{}}
	for _, p := range loadPages() {
		n.pageNames[p.ShortName()] = p.Name
		for _, alias := range slices.Concat(p.Aliases, aliases[p.Name]) {
			n.pageNames[alias] = p.Name
		}
	}
	for _, p := range loadPages() { // a name takes precedence over an alias of another page
		n.pageNames[p.Name] = p.Name
	}
	return n
}

// kubectlNames are kubectl's names of the kinds that one controller is known for, except for those
// that are the controller's name without "-controller".
var kubectlNames = map[string]string{
	"cj":     "cronjob-controller",
	"deploy": "deployment-controller",
	"ds":     "daemonset-controller",
	"ep":     "endpoints-controller",
	"hpa":    "horizontal-pod-autoscaler-controller",
	"ns":     "namespace-controller",
	"pdb":    "disruption-controller",
	"quota":  "resourcequota-controller",
	"rc":     "replicationcontroller-controller",
	"rs":     "replicaset-controller",
	"sa":     "serviceaccount-controller",
	"sts":    "statefulset-controller",

	"horizontalpodautoscaler": "horizontal-pod-autoscaler-controller",
	"poddisruptionbudget":     "disruption-controller",
}

// ExpandShortName returns the controller that a name of kubectl or of a table, or a
// name without "-controller", stands for; other names stay as they are.
func ExpandShortName(name string) string {
	if full, ok := kubectlNames[name]; ok {
		return full
	}
	if full := ui.LongName(name); full != name {
		return full
	}
	if full := name + "-controller"; slices.ContainsFunc(loadPages(), func(p Page) bool { return p.Name == full }) {
		return full
	}
	return name
}

// Resolve returns the name of the page that word stands for. If there is none, it
// returns the nearest known word, or an empty string if none is near.
func (n Names) Resolve(word string) (name, nearest string, ok bool) {
	if name, ok := n.pageNames[ExpandShortName(word)]; ok {
		return name, "", true
	}
	var known []string
	for k := range n.pageNames {
		known = append(known, k)
	}
	nearest, _ = suggest.Nearest(word, known)
	return "", nearest, false
}

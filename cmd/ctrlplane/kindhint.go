package main

import (
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/ctrlplane/ctrlplane/internal/usage"
)

// isBuiltInKind reports whether a word is a kind of Kubernetes, singular or plural.
func isBuiltInKind(word string) bool {
	word = strings.ToLower(word)
	for gvk := range scheme.Scheme.AllKnownTypes() {
		plural, singular := meta.UnsafeGuessKindToResource(gvk)
		if word == plural.Resource || word == singular.Resource {
			return true
		}
	}
	return false
}

// requireName returns an error if the arguments of a verb are a kind alone.
func requireName(t *target, verb string, args []string) error {
	if len(args) != 1 || !isBuiltInKind(args[0]) {
		return nil
	}
	return usage.Errorf(`a name is missing: use KIND/NAME, as in "%s %s/NAME": %q lists the names`,
		verb, args[0], t.commandLine("kubectl get "+args[0]))
}

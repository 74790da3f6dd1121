package manifests

import (
	"cmp"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Duplicates says which objects are defined more than once, one line each: of those the last one is what remains.
func Duplicates(objs []Object) (lines []string) {
	type key struct {
		kind            schema.GroupKind
		namespace, name string
	}
	seen := map[key]Object{}
	for _, o := range objs {
		k := key{o.GroupVersionKind().GroupKind(), cmp.Or(o.GetNamespace(), metav1.NamespaceDefault), o.GetName()}
		if first, ok := seen[k]; ok {
			lines = append(lines, fmt.Sprintf("%s: %s is defined in %s, too: the last one is what remains", o.Source, o, first.Source))
		}
		seen[k] = o
	}
	return lines
}

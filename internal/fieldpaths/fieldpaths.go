// Package fieldpaths names the fields of objects as Kubernetes writes them: spec.containers[0].image,
// metadata.labels[app.kubernetes.io/name].
package fieldpaths

import (
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/structured-merge-diff/v6/typed"
)

// Append appends the name of a field, a key or an index to a path.
func Append(path, name string) string {
	switch _, err := strconv.ParseUint(name, 10, 32); {
	case err == nil, strings.Contains(name, "."):
		return path + "[" + name + "]"
	case path == "":
		return name
	}
	return path + "." + name
}

// Changed returns the paths of the fields that differ between two states of an object, sorted. A list counts as one field.
func Changed(before, after map[string]any) ([]string, error) {
	from, err := typed.DeducedParseableType.FromUnstructured(before)
	if err != nil {
		return nil, err
	}
	to, err := typed.DeducedParseableType.FromUnstructured(after)
	if err != nil {
		return nil, err
	}
	differences, err := from.Compare(to)
	if err != nil {
		return nil, err
	}
	var fields []string
	for elements := range differences.Added.Union(differences.Modified).Union(differences.Removed).Leaves().All() {
		path := ""
		for _, e := range elements {
			path = Append(path, strings.TrimPrefix(e.String(), "."))
		}
		fields = append(fields, path)
	}
	slices.Sort(fields)
	return fields, nil
}

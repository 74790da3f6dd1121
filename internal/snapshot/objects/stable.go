package objects

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
)

// hidden replaces a value that differs from run to run.
const hidden = "*"

// Stable returns the differences without what differs from run to run: UIDs, times,
// versions, generated names, assigned addresses, ports and nodes. Two runs that do the
// same give the same result, in the same order. What only differs in such fields is left
// out.
func Stable(list []Difference) []Difference {
	names := generatedNames(list)
	stable := []Difference{}
	for _, d := range list {
		if isAllocation(d) {
			continue
		}
		s := Difference{Change: d.Change, Kind: d.Kind, Namespace: d.Namespace, Name: names.clean(d.Name)}
		s.Before, s.After = names.cleanObject(d.Before), names.cleanObject(d.After)
		if s.Change == Changed && reflect.DeepEqual(s.Before, s.After) {
			continue
		}
		stable = append(stable, s)
	}
	slices.SortStableFunc(stable, func(a, b Difference) int {
		return cmp.Or(
			cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Change, b.Change),
			cmp.Compare(canonicalText(a.Before), canonicalText(b.Before)), cmp.Compare(canonicalText(a.After), canonicalText(b.After)),
		)
	})
	return stable
}

// isAllocation reports whether the object only records which addresses and ports are in
// use.
func isAllocation(d Difference) bool {
	return d.Kind == "IPAddress.networking.k8s.io" || d.Kind == "RangeAllocation"
}

// canonicalText is a text by which values are sorted.
func canonicalText(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v) // cannot happen: it was decoded from JSON or protobuf
	}
	return string(text)
}

// cleaner replaces what differs from run to run.
type cleaner struct{ generated, hashes *strings.Replacer }

// generatedNames finds the names that the API server has generated.
func generatedNames(list []Difference) cleaner {
	prefixes := map[string]string{}
	for _, d := range list {
		for _, object := range []map[string]any{d.Before, d.After} {
			metadata, _ := object["metadata"].(map[string]any)
			prefix, _ := metadata["generateName"].(string)
			name, _ := metadata["name"].(string)
			if prefix != "" && strings.HasPrefix(name, prefix) && name != prefix {
				prefixes[name] = prefix
			}
		}
	}
	names := slices.SortedFunc(maps.Keys(prefixes), func(a, b string) int { // a name may begin with another one
		return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b))
	})
	var pairs []string
	for _, name := range names {
		pairs = append(pairs, name, prefixes[name]+hidden)
	}
	return cleaner{strings.NewReplacer(pairs...), variableHashes(list)}
}

// templateHashes are the labels with the hash of a template, which names are made of, and where the
// template is, by kind.
var templateHashes = map[string]struct{ label, template string }{
	"ReplicaSet.apps":         {"pod-template-hash", "spec"},
	"ControllerRevision.apps": {"controller.kubernetes.io/hash", "data"},
}

// variableHashes replaces the hashes of templates that differ from run to run, such as that with the
// time of a "kubectl rollout restart".
func variableHashes(list []Difference) *strings.Replacer {
	var pairs []string
	for _, d := range list {
		at, ok := templateHashes[d.Kind]
		if !ok {
			continue
		}
		for _, object := range []map[string]any{d.Before, d.After} {
			metadata, _ := object["metadata"].(map[string]any)
			labels, _ := metadata["labels"].(map[string]any)
			hash, _ := labels[at.label].(string)
			if hash != "" && isVariable(canonicalText(object[at.template])) {
				pairs = append(pairs, hash, hidden)
			}
		}
	}
	return strings.NewReplacer(pairs...)
}

func isVariable(text string) bool {
	return slices.ContainsFunc(variableText, func(v variablePattern) bool { return v.pattern.MatchString(text) })
}

// variableText matches parts of values that differ from run to run.
var variableText = []variablePattern{
	{regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`), "<uid>"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)`), "<time>"},
	{regexp.MustCompile(`(?s)-----BEGIN CERTIFICATE-----.*-----END CERTIFICATE-----\n?`), "<certificate>"},
	{regexp.MustCompile(`kube-api-access-[a-z0-9]{5}`), "kube-api-access-" + hidden},
}

type variablePattern struct {
	pattern *regexp.Regexp
	by      string
}

func (c cleaner) clean(text string) string {
	for _, v := range variableText {
		text = v.pattern.ReplaceAllString(text, v.by)
	}
	return c.hashes.Replace(c.generated.Replace(text))
}

var (
	// omittedMetadata are fields of metadata that differ from run to run.
	omittedMetadata = []string{"uid", "creationTimestamp", "resourceVersion", "generation", "managedFields"}
	// omittedFields are others, anywhere in an object. Whether the second exists depends on
	// how many changes a controller sees at once.
	omittedFields = map[string]bool{"resourceVersion": true, "endpoints.kubernetes.io/last-change-trigger-time": true}
	// assignedFields have values that a controller or the scheduler picks.
	assignedFields = map[string]bool{
		"clusterIP": true, "clusterIPs": true, "podIP": true, "podIPs": true, "hostIP": true, "hostIPs": true, "ip": true, "addresses": true,
		"podCIDR": true, "podCIDRs": true, "nodePort": true, "healthCheckNodePort": true, "nodeName": true, "containerID": true, "imageID": true,
		"observedGeneration": true, "caBundle": true, "volume.kubernetes.io/selected-node": true,
	}
	// unorderedFields are lists whose order differs from run to run.
	unorderedFields = map[string]bool{"endpoints": true}
)

func (c cleaner) cleanObject(object map[string]any) map[string]any {
	if object == nil {
		return nil
	}
	clean, _ := c.cleanValue(object).(map[string]any)
	if metadata, ok := clean["metadata"].(map[string]any); ok {
		for _, field := range omittedMetadata {
			delete(metadata, field)
		}
	}
	return clean
}

// cleanValue returns a copy of a value.
func (c cleaner) cleanValue(value any) any {
	switch v := value.(type) {
	case string:
		return c.clean(v)
	case []any:
		all := make([]any, len(v))
		for i := range v {
			all[i] = c.cleanValue(v[i])
		}
		return all
	case map[string]any:
		return c.cleanFields(v)
	}
	return value
}

// cleanFields returns a copy of a map. Keys that become the same are numbered in the order of their
// values.
func (c cleaner) cleanFields(fields map[string]any) map[string]any {
	values := make(map[string][]any, len(fields)) // by clean key
	for name, field := range fields {
		if omittedFields[name] {
			continue
		}
		name = c.clean(name)
		clean := c.cleanValue(field)
		if m, ok := clean.(map[string]any); ok && name == "annotations" && len(m) == 0 {
			continue
		}
		switch list, isList := clean.([]any); {
		case assignedFields[name] && isAssigned(clean):
			clean = hidden
		case isList && unorderedFields[name]:
			sortValues(list)
		}
		values[name] = append(values[name], clean)
	}
	clean := make(map[string]any, len(fields))
	for name, list := range values {
		sortValues(list)
		clean[name] = list[0]
		for i, value := range list[1:] {
			clean[fmt.Sprintf("%s#%d", name, i+2)] = value
		}
	}
	return clean
}

func sortValues(list []any) {
	slices.SortFunc(list, func(a, b any) int { return cmp.Compare(canonicalText(a), canonicalText(b)) })
}

// isAssigned reports whether a value is set, and not to what only a user writes.
func isAssigned(v any) bool {
	switch v := v.(type) {
	case nil:
		return false
	case string:
		return v != "" && v != "None"
	case []any:
		return len(v) > 0 && v[0] != "None"
	}
	return true
}

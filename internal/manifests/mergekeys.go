package manifests

import (
	"bytes"
	"fmt"

	yamlv3 "go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/util/yaml"
)

const (
	mergeTag      = "!!merge" // of the key <<
	maxMergeDepth = 100
)

// unmarshalYAML reads a document in which no key occurs twice in a map. To the strict decoder a
// key that overrides a merged one (<<: *anchor) is such a key, too.
func unmarshalYAML(data []byte, value *any) error {
	strictErr := yaml.UnmarshalStrict(data, value)
	if strictErr == nil || !bytes.Contains(data, []byte("<<")) {
		return strictErr
	}
	var document yamlv3.Node
	if yamlv3.Unmarshal(data, &document) != nil {
		return strictErr
	}
	if err := findDuplicateKey(&document); err != nil {
		return err
	}
	return yaml.Unmarshal(data, value)
}

// mapKey is a key of a map as YAML compares it.
type mapKey struct{ tag, value string }

// findDuplicateKey returns an error for the first map in which a key is written twice, or in front of
// the << that has it, too: the decoder then takes the merged value.
func findDuplicateKey(n *yamlv3.Node) error {
	seen := map[mapKey]bool{}
	for i, child := range n.Content {
		if isKey := n.Kind == yamlv3.MappingNode && i%2 == 0; isKey && child.Kind == yamlv3.ScalarNode {
			k := mapKey{child.ShortTag(), child.Value}
			if seen[k] {
				return &lineError{child.Line, fmt.Errorf("key %q already set in map", child.Value)}
			}
			if k.tag != mergeTag {
				seen[k] = true
			} else if name, found := findMergedKey(n.Content[i+1], seen, maxMergeDepth); found {
				return &lineError{child.Line, fmt.Errorf("<< would replace key %q, which precedes it: put << first", name)}
			}
		}
		if err := findDuplicateKey(child); err != nil {
			return err
		}
	}
	return nil
}

// findMergedKey returns a key of what << merges, a map or a list of maps, that the map has already.
func findMergedKey(merged *yamlv3.Node, seen map[mapKey]bool, depth int) (name string, found bool) {
	if merged.Kind == yamlv3.AliasNode {
		merged = merged.Alias
	}
	if depth == 0 {
		return "", false
	}
	for i, child := range merged.Content {
		switch {
		case merged.Kind == yamlv3.SequenceNode:
			name, found = findMergedKey(child, seen, depth-1)
		case i%2 == 1:
		case child.ShortTag() == mergeTag:
			name, found = findMergedKey(merged.Content[i+1], seen, depth-1)
		case seen[mapKey{child.ShortTag(), child.Value}]:
			name, found = child.Value, true
		}
		if found {
			return name, true
		}
	}
	return "", false
}

package manifests

import (
	"bytes"
	"fmt"

	yamlv3 "go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/util/yaml"
)

const mergeTag = "!!merge" // of the key <<

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

// findDuplicateKey returns an error for the first map in which a key is written twice.
func findDuplicateKey(n *yamlv3.Node) error {
	type key struct{ tag, value string }
	seen := map[key]bool{}
	for i, child := range n.Content {
		if isKey := n.Kind == yamlv3.MappingNode && i%2 == 0; isKey && child.Kind == yamlv3.ScalarNode && child.ShortTag() != mergeTag {
			k := key{child.ShortTag(), child.Value}
			if seen[k] {
				return &lineError{child.Line, fmt.Errorf("key %q already set in map", child.Value)}
			}
			seen[k] = true
		}
		if err := findDuplicateKey(child); err != nil {
			return err
		}
	}
	return nil
}

package intervene

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"mime"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/yaml"

	"github.com/ctrlplane/ctrlplane/observe"
)

// objectContent is an object, or a patch of one, as decoded from a request or a response.
type objectContent struct{ value any }

// decodeContent decodes a body of that content type.
func decodeContent(contentType string, data []byte) (c objectContent, err error) {
	switch mediaType, _, _ := mime.ParseMediaType(contentType); mediaType {
	case "application/apply-patch+yaml":
		data, err = yaml.YAMLToJSON(data)
	case runtime.ContentTypeProtobuf:
		data, err = protobufToJSON(data)
	}
	if err != nil {
		return c, err
	}
	return c, utiljson.Unmarshal(data, &c.value)
}

func protobufToJSON(data []byte) ([]byte, error) {
	obj, kind, err := scheme.Codecs.UniversalDeserializer().Decode(data, nil, nil)
	if err != nil {
		return nil, err
	}
	obj.GetObjectKind().SetGroupVersionKind(*kind)
	return json.Marshal(obj)
}

// stringField returns a field of the object; empty if there is none.
func (c objectContent) stringField(path ...string) string {
	v := c.value
	for _, name := range path {
		m, _ := v.(map[string]any)
		v = m[name]
	}
	s, _ := v.(string)
	return s
}

// redactedJSON returns the content without managed fields and a Secret's values.
// It changes c.
func (c objectContent) redactedJSON(of observe.Object) (json.RawMessage, error) {
	m, ok := c.value.(map[string]any)
	secret := of.Group == "" && of.Resource == "secrets"
	switch {
	case !ok && secret:
		return nil, nil // a JSON patch, any operation of which may have a value
	case ok:
		if meta, ok := m["metadata"].(map[string]any); ok {
			delete(meta, "managedFields")
			if annotations, ok := meta["annotations"].(map[string]any); ok && secret {
				maskValue(annotations, corev1.LastAppliedConfigAnnotation, false)
			}
		}
		if secret {
			maskValues(m, "data")
			maskValues(m, "stringData")
		}
	}
	return json.Marshal(c.value)
}

func maskValues(m map[string]any, field string) {
	values, ok := m[field].(map[string]any)
	if !ok { // absent, or of a type that is not valid
		delete(m, field)
	}
	for name := range values {
		maskValue(values, name, field == "data")
	}
}

// maskValue replaces a value of a Secret by its length.
func maskValue(values map[string]any, name string, encoded bool) {
	s, ok := values[name].(string)
	if !ok {
		return // null: a patch removes it
	}
	n := len(s)
	if decoded, err := base64.StdEncoding.DecodeString(s); err == nil && encoded {
		n = len(decoded)
	}
	values[name] = fmt.Sprintf("*** (%d bytes)", n)
}

package intervene

import (
	"encoding/json"
	"mime"

	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/yaml"

	"github.com/ctrlplane/ctrlplane/internal/secretmask"
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
	s, _ := c.field(path...).(string)
	return s
}

// field returns a field of the object; nil if there is none.
func (c objectContent) field(path ...string) any {
	v := c.value
	for _, name := range path {
		m, _ := v.(map[string]any)
		v = m[name]
	}
	return v
}

// redactedJSON returns the content without managed fields and a Secret's values.
// It changes c.
func (c objectContent) redactedJSON(of observe.Object) (json.RawMessage, error) {
	m, ok := c.value.(map[string]any)
	secret := of.Group == "" && of.Resource == "secrets"
	if !ok && secret {
		return nil, nil // a JSON patch, any operation of which may have a value
	}
	if meta, ok := m["metadata"].(map[string]any); ok {
		delete(meta, "managedFields")
	}
	if secret {
		secretmask.Mask(m)
	}
	return json.Marshal(c.value)
}

package manifests

import (
	"errors"
	"fmt"
	"strings"
	"sync"

	yamlv3 "go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// decodeObjects returns the document's object, or the items of its list; none if the
// document is null.
func (d decodedDocument) decodeObjects(file string) ([]Object, []error) {
	if d.value == nil {
		return nil, nil
	}
	node := sync.OnceValue(func() *yamlv3.Node { return parseNode(d.text) })
	return objectsOf(origin{file: file, line: d.line, node: node}, d.value)
}

func objectsOf(from origin, value any) ([]Object, []error) {
	fail := func(err error) ([]Object, []error) { return nil, []error{fmt.Errorf("%s: %w", from, err)} }
	content, ok := value.(map[string]any)
	if !ok {
		return fail(fmt.Errorf("not an object but %s", typeName(value)))
	}
	u := &unstructured.Unstructured{Object: content}
	if err := checkType(content); err != nil {
		return fail(err)
	}
	if items, ok := content["items"]; ok && strings.HasSuffix(u.GetKind(), "List") {
		return listItems(from, u, items)
	}
	if err := checkName(content); err != nil {
		return fail(fmt.Errorf("%s: %w", u.GetKind(), err))
	}
	return []Object{{Source: from.String(), Unstructured: u, from: from}}, nil
}

// listItems returns the items of a list. In a typed list, such as a ConfigMapList, the
// items may leave out apiVersion and kind.
func listItems(from origin, list *unstructured.Unstructured, items any) (all []Object, errs []error) {
	if items == nil {
		return nil, nil
	}
	values, ok := items.([]any)
	if !ok {
		return nil, []error{fmt.Errorf("%s: %s: items is not a list but %s", from, list.GetKind(), typeName(items))}
	}
	kind := strings.TrimSuffix(list.GetKind(), "List")
	for i, value := range values {
		if item, ok := value.(map[string]any); ok && kind != "" {
			for key, implied := range map[string]string{"apiVersion": list.GetAPIVersion(), "kind": kind} {
				if _, ok := item[key]; !ok {
					item[key] = implied
				}
			}
		}
		objs, failed := objectsOf(from.item(i), value)
		all, errs = append(all, objs...), append(errs, failed...)
	}
	return all, errs
}

func checkType(content map[string]any) error {
	for _, key := range []string{"apiVersion", "kind"} {
		if err := checkString(content, key); err != nil {
			return err
		}
	}
	_, err := schema.ParseGroupVersion(content["apiVersion"].(string))
	if err != nil {
		return fmt.Errorf("apiVersion: %w", err)
	}
	return nil
}

func checkName(content map[string]any) error {
	u := unstructured.Unstructured{Object: content}
	if u.GetName() == "" && u.GetGenerateName() != "" {
		return errors.New("generated names are not supported: write metadata.name in place of metadata.generateName")
	}
	if err := checkString(content, "metadata", "name"); err != nil {
		return err
	}
	namespace, _, err := unstructured.NestedFieldNoCopy(content, "metadata", "namespace")
	if err != nil || namespace == nil || namespace == "" {
		return err
	}
	return checkString(content, "metadata", "namespace")
}

// checkString rejects a field that is missing or not a string.
func checkString(content map[string]any, path ...string) error {
	field := strings.Join(path, ".")
	value, ok, err := unstructured.NestedFieldNoCopy(content, path...)
	if err != nil || !ok || value == nil || value == "" {
		return fmt.Errorf("%s is missing", field)
	}
	if _, ok := value.(string); !ok {
		return fmt.Errorf("%s is %s instead of a string: put it in quotes", field, typeName(value))
	}
	return nil
}

func typeName(value any) string {
	switch value.(type) {
	case nil:
		return "null"
	case map[string]any:
		return "an object"
	case []any:
		return "a list"
	case string:
		return "a string"
	case bool:
		return "a boolean"
	}
	return "a number"
}

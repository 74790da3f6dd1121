package trace

import (
	"os"
	"reflect"
	"strings"
	"testing"
)

// TestFieldsAreDocumented compares what is written as JSON with docs/json.md.
func TestFieldsAreDocumented(t *testing.T) {
	data, err := os.ReadFile("../../docs/json.md")
	if err != nil {
		t.Fatal(err)
	}
	text := strings.ReplaceAll(string(data), "\r\n", "\n")
	for section, types := range map[string][]reflect.Type{
		"trace": {reflect.TypeFor[Tree]()}, "why": {reflect.TypeFor[Chain]()}, "node": {reflect.TypeFor[Node](), reflect.TypeFor[Cause]()},
	} {
		_, words, _ := strings.Cut(text, "\n### `"+section+"`\n")
		words, _, _ = strings.Cut(words, "\n#")
		for _, of := range types {
			for _, field := range reflect.VisibleFields(of) {
				name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
				if name != "" && !strings.Contains(words, "`"+name+"`") {
					t.Errorf("section %s does not mention %s", section, name)
				}
			}
		}
	}
}

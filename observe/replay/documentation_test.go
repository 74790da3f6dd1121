package replay

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
)

// TestLinesMatchDocumentation compares the lines that only recordings have with docs/json.md.
func TestLinesMatchDocumentation(t *testing.T) {
	data := testutil.ReadFile(t, "../../docs/json.md")
	text := strings.ReplaceAll(data, "\r\n", "\n")
	for kind, line := range map[string]any{stateChangedKind: &stateChange{}, resourcesKind: &resourcesLine{}} {
		_, section, _ := strings.Cut(text, "\n### `"+kind+"`\n")
		section, _, _ = strings.Cut(section, "\n#")
		words, example, _ := strings.Cut(section, "```json\n")
		example, _, _ = strings.Cut(example, "\n```")
		if err := json.Unmarshal([]byte(example), line); err != nil {
			t.Fatalf("%s: %v", kind, err)
		}
		written, err := json.Marshal(line)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(written), example); diff != "" {
			t.Errorf("%s (-written +documented):\n%s", kind, diff)
		}
		for _, field := range reflect.VisibleFields(reflect.TypeOf(line).Elem()) {
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			if name != "kind" && name != "time" && !strings.Contains(words, "`"+name+"`") {
				t.Errorf("section %s does not mention %s", kind, name)
			}
		}
	}
	for _, field := range append(reflect.VisibleFields(reflect.TypeFor[Resource]()), reflect.VisibleFields(reflect.TypeFor[queueChange]())[1:]...) {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if len(field.Index) == 1 && !strings.Contains(text, "`"+name+"`") {
			t.Errorf("docs/json.md does not mention %s", name)
		}
	}
}

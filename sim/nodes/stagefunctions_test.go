package nodes

import (
	"strings"
	"testing"

	"sigs.k8s.io/kwok/pkg/utils/gotpl"
)

// A Stage may come from someone the user does not know: its templates do not read the environment of the
// machine, nor use its network or all of its memory.
func TestTemplatesOfStages(t *testing.T) {
	t.Setenv("STAGE_SECRET", "hunter2")
	renderer := gotpl.NewRenderer(newTestRegistry(t, testNode(nil)).templateFunctions())
	for _, tt := range []struct{ template, want, wantError string }{
		{`{{ env "STAGE_SECRET" }}`, "", "stages have no function env"},
		{`{{ expandenv "$STAGE_SECRET" }}`, "", "stages have no function expandenv"},
		{`{{ getHostByName "localhost" }}`, "", "stages have no function getHostByName"},
		{`{{ repeat 3 "ab" }}`, "ababab", ""},
		{`{{ repeat 1048577 "" }}`, "", "use at most 1048576"},
		{`{{ repeat 524288 "a" | repeat 2 }}`, "", "use at most 1"},
		{`a{{ indent 2 "b" }}{{ nindent 1 "c" }}`, "a  b\n c", ""},
		{`{{ indent 99999999999 "b" }}`, "", "99999999999 is too many"},
		{`{{ nindent 99999999999 "b" }}`, "", "99999999999 is too many"},
		{`{{ until 3 }} {{ untilStep 4 0 -2 }} {{ seq 1 3 }}`, "[0 1 2] [4 2] 1 2 3", ""},
		{`{{ until -99999999999 }}`, "", "-99999999999 is too many"},
		{`{{ untilStep 0 99999999999 1 }}`, "", "99999999999 is too many"},
		{`{{ seq 99999999999 }}`, "", "99999999999 is too many"},
		{`{{ randAlpha 3 | len }} {{ randAlphaNum 3 | len }} {{ randAscii 3 | len }} {{ randNumeric 3 | len }} {{ randBytes 3 | len }}`, "3 3 3 3 4", ""},
		{`{{ randAlpha 2097152 }}`, "", "2097152 is too many"},
		{`{{ randBytes 2097152 }}`, "", "2097152 is too many"},
		{`{{ YAML . 5000000 }}`, "", "5000000 is too many: use at most 262144"},
		{`{{ YAML (repeat 262144 "a\n" | splitList "\n") 2 }}`, "", "2 is too many: use at most 1"},
	} {
		got, err := renderer.ToText(tt.template, nil)
		switch {
		case tt.wantError != "" && (err == nil || !strings.Contains(err.Error(), tt.wantError) || strings.Contains(err.Error(), "hunter2")):
			t.Errorf("%s: %v, want an error with %q", tt.template, err, tt.wantError)
		case tt.wantError == "" && (err != nil || string(got) != tt.want):
			t.Errorf("%s: %q, %v, want %q", tt.template, got, err, tt.want)
		}
	}
}

// YAML has the same results as kwok's.
func TestYAMLOfStages(t *testing.T) {
	value := map[string]any{"a": []any{"b", map[string]any{"c": "1"}}, "d": "e\nf"}
	for _, template := range []string{`{{ YAML . }}`, `x: {{ YAML . 1 }}`, `x: {{ YAML .a 2 }}`, `{{ YAML . 0 }}`, `{{ YAML . -1 }}`, `{{ YAML . 1 2 }}`} {
		want, err := gotpl.NewRenderer(nil).ToText(template, value)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := gotpl.NewRenderer(limitedFunctions()).ToText(template, value); err != nil || string(got) != string(want) {
			t.Errorf("%s: %q, %v, want %q", template, got, err, want)
		}
	}
}

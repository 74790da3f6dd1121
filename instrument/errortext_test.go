package instrument

import (
	"strings"
	"testing"
)

// An error may quote a whole object, and say what is wrong with it only then.
func TestErrorTextLeavesObjectsOut(t *testing.T) {
	const begin = `restore info: Job.batch "low1" is invalid: `
	long := strings.Repeat("x", 3*maxError)
	for text, want := range map[string]string{
		"no luck": "no luck",
		begin + `spec.template: Invalid value: {"labels":{"a":"}\""},"list":["` + long + `"]}: field is immutable`: begin + "spec.template: Invalid value: {…}: field is immutable",
		begin + `[spec.a: Duplicate value: [1,[2]], spec.b: Not found: {}]`:                                        begin + "[spec.a: Duplicate value: […], spec.b: Not found: {…}]",
		`Invalid value: "a": too long`: `Invalid value: "a": too long`,
		`Invalid value: {"a`:           `Invalid value: {"a`,
		long:                           long[:maxError] + "…",
	} {
		if got := errorText(text); got != want {
			t.Errorf("%.80s: got %.200s", text, got)
		}
	}
}

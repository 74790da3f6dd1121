package intervene

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/ctrlplane/ctrlplane/control"
	"github.com/ctrlplane/ctrlplane/internal/usage"
)

// FuzzValidateFault: an accepted fault can occur; any other is refused in one line.
func FuzzValidateFault(f *testing.F) {
	f.Add(1.0, "500", "", "")
	f.Add(0.3, "409", "update", "deployments.apps")
	f.Add(-1.0, "timeout", "get", "pods")
	f.Add(2.0, "409", "list", "\x1b")
	f.Fuzz(func(t *testing.T, rate float64, code, verb, resource string) {
		if err := ValidateFault(control.Fault{Rate: rate, Code: code, Verb: verb, Resource: resource}); err != nil {
			if !errors.As(err, new(usage.Error)) || strings.IndexFunc(err.Error(), unicode.IsControl) >= 0 {
				t.Errorf("got %q", err)
			}
			return
		}
		reads := []string{"get", "list", "watch"}
		if !(rate > 0 && rate <= 1) || !slices.Contains(control.FaultCodes, code) || code == "409" && slices.Contains(reads, verb) {
			t.Errorf("accepted: rate %v, code %q, verb %q", rate, code, verb)
		}
	})
}

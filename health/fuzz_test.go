package health

import (
	"errors"
	"strings"
	"testing"
	"unicode"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ctrlplane/ctrlplane/internal/usage"
)

// FuzzCheckArgs: what is accepted names a kind that can be looked up and an object; what is
// not is refused in one line.
func FuzzCheckArgs(f *testing.F) {
	for _, seed := range []string{"deployment/web", "deployments.v1.apps/web", "a/b/c", "/", "", "a/", "/a", "..../a", "\x1b/\n"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, arg string) {
		if err := CheckArgs([]string{arg}); err != nil {
			if !errors.As(err, new(usage.Error)) || strings.IndexFunc(err.Error(), unicode.IsControl) >= 0 {
				t.Errorf("got %q", err)
			}
			return
		}
		kind, name, _ := strings.Cut(arg, "/")
		if full, short := schema.ParseResourceArg(kind); kind == "" || name == "" || strings.Contains(name, "/") || full == nil && short.Resource == "" && !strings.HasPrefix(kind, ".") {
			t.Errorf("%q: got kind %q, name %q, %v, %v", arg, kind, name, full, short)
		}
	})
}

package health

import (
	"regexp"
	"testing"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
)

// docs/ci-reference.md has a row for each kind with a rule of its own.
func TestCustomRulesAreDocumented(t *testing.T) {
	page := testutil.ReadFile(t, "../docs/ci-reference.md")
	for kind := range customRules {
		row := regexp.MustCompile(`(?m)^\| .*\b` + kind.Kind + `\b.* \(` + "`" + regexp.QuoteMeta(kind.Group) + "`" + `\)`)
		if !row.MatchString(page) {
			t.Errorf("docs/ci-reference.md has no row for %s", kind)
		}
	}
}

package ctrlplanetest

import (
	"strings"
	"testing"

	"github.com/ctrlplane/ctrlplane/health/assert"
	"github.com/ctrlplane/ctrlplane/observe"
)

// Assert fails the test for each rule that does not hold, with the evidence: too many
// conflicts or failed syncs of controllers, or conflicts of a client such as the operator
// under test, and work that causes itself again and again. The rules are about the whole
// control plane, so use it with a control plane of the test's own. Wait until it has settled
// before. Limits need Options.ExcludeStart: otherwise they would count what controllers do
// while the control plane starts.
func (p *ControlPlane) Assert(t testing.TB, rules assert.Rules) {
	t.Helper()
	ctx, stop := p.testContext(t)
	defer stop()
	now, err := p.control.Snapshot(ctx)
	if err != nil {
		t.Fatalf("ctrlplanetest: assert: %v", preferCause(ctx, err))
	}
	records, err := p.fetchRecords(ctx, "", observe.Query{})
	if err != nil {
		t.Fatalf("ctrlplanetest: assert: %v", err)
	}
	if rules.Limits() && now.Journal.StartEnd == 0 {
		t.Fatal("ctrlplanetest: assert: limits would count the start of the control plane itself: set Options.ExcludeStart")
	}
	for _, r := range assert.Check(rules, now, records) {
		if r.Failure != "" {
			t.Errorf("ctrlplanetest: %s: %s", r.Rule, strings.Join(append([]string{r.Failure}, r.Evidence...), "\n  "))
		}
	}
}

package live

import (
	"strings"
	"testing"

	"github.com/ctrlplane/ctrlplane/observe"
)

// What a source of metrics cannot know is not shown as 0.
func TestUnknownNumbersAreNotZero(t *testing.T) {
	m := model{width: 120, height: 30}.withTheme(newTheme(false, true, false))
	m.snapshot.Process = observe.Process{RequestRate: -1, MemoryBytes: 1 << 20}
	var header strings.Builder
	for _, f := range m.numberFields() {
		header.WriteString(f.line.plainText() + "\n")
	}
	if text := header.String(); !strings.Contains(text, "memory") || strings.Contains(text, "API") || strings.Contains(text, "CPU") {
		t.Errorf("header: %q", text)
	}
	unknown := &observe.Queue{Name: "widget", Depth: -1, InFlight: -1, Adds: -1, Gets: -1, Done: -1, Retries: -1, ErrorRetries: -1, AddRate: -1, DoneRate: -1}
	for _, c := range tableColumns() {
		want := unknownNumber
		switch c.id {
		case colController, colQueue, colState, colBar, colNow, colHistory:
			continue // not a number
		}
		if text := c.cell(m, row{queue: unknown}, c.min).plainText(); text != want {
			t.Errorf("column %s: %q, want %q", c.heading, text, want)
		}
	}
	b := &detailBuilder{w: 120}
	m.addQueueDetails(b, unknown, observe.Controller{})
	m.addControllerTotals(b, observe.Controller{Name: "widget", State: "running", Syncs: 7, Delivered: -1, Reads: -1, Changes: -1, Errors: -1, Conflicts: -1})
	m.addControllerTotals(b, observe.Controller{Name: "gadget", State: "running", Syncs: -1, Failures: -1, Delivered: -1, Reads: -1, Changes: -1, Errors: -1, Conflicts: -1})
	var page strings.Builder
	for _, l := range b.lines {
		page.WriteString(l.line.plainText() + "\n")
	}
	if text := page.String(); !strings.Contains(text, "7 syncs (0 failed)") || !strings.Contains(text, "? syncs (? failed)") || strings.Contains(text, "no key") || !strings.Contains(text, "waiting     ?") || !strings.Contains(text, "in work     ?") ||
		!strings.Contains(text, "wait ?  work ?  longest running ?") || strings.Contains(text, "none yet") || strings.Contains(text, "event") || strings.Contains(text, "-1") {
		t.Errorf("page: %q", text)
	}
}

package ctrlplane

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ctrlplane/ctrlplane/observe"
)

// TestExcludeStart has a conflict during the start, which settles, does not settle in time, or is
// interrupted before.
func TestExcludeStart(t *testing.T) {
	for name, tt := range map[string]struct {
		busyFor, interruptedAfter, took time.Duration
		warns, marks                    bool
	}{
		"settled":         {busyFor: 3 * time.Second, interruptedAfter: time.Hour, took: 3 * time.Second, marks: true},
		"not settled":     {busyFor: time.Hour, interruptedAfter: time.Hour, took: startSettleLimit, warns: true, marks: true},
		"interrupted":     {busyFor: time.Hour, interruptedAfter: 2 * time.Second, took: 2 * time.Second},
		"settled at once": {interruptedAfter: time.Hour, marks: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				var warnings []string
				p := newControlPlane(&Server{OnWarning: func(msg string) { warnings = append(warnings, msg) }})
				p.observer = observe.New(observe.Options{
					Process: func() observe.Process { return observe.Process{State: observe.Starting} },
					MoreQueues: func() []observe.Queue {
						depth := int64(0)
						if time.Since(began) < tt.busyFor {
							depth = 1
						}
						return []observe.Queue{{Controller: "node-ipam-controller", Name: "node", Depth: depth}}
					},
				})
				defer p.observer.Close()
				p.observer.Recorder("node-lifecycle-controller").RecordCall(&observe.Called{Verb: "patch", Status: 409, Conflict: true})

				interrupted := errors.New("interrupted")
				ctx, cancel := context.WithTimeoutCause(t.Context(), tt.interruptedAfter, interrupted)
				defer cancel()
				err := p.excludeStart(ctx)
				if (err != nil) != !tt.marks || err != nil && !errors.Is(err, interrupted) {
					t.Errorf("got the error %v", err)
				}
				if took := time.Since(began); took < tt.took || took > tt.took+time.Second {
					t.Errorf("took %v, want %v", took, tt.took)
				}
				if text := strings.Join(warnings, "\n"); (text != "") != tt.warns || tt.warns && !strings.Contains(text, "include a part of the start: not settled: node-ipam-controller") {
					t.Errorf("warnings: %s", text)
				}
				now, _ := p.observer.Snapshot(t.Context()) // never fails
				if c := now.Controllers[0]; c.Conflicts != 1 || (c.StartConflicts == 1) != tt.marks || (now.Journal.StartEnd > 0) != tt.marks {
					t.Errorf("conflicts %d, of the start %d, which ended at %d", c.Conflicts, c.StartConflicts, now.Journal.StartEnd)
				}
			})
		})
	}
}

package report

import (
	"context"
	"errors"
	"strings"

	"github.com/ctrlplane/ctrlplane/observe"
	"github.com/ctrlplane/ctrlplane/observe/trace"
)

// maxChains is how many unhealthy objects are traced back: each takes a search of all
// records.
const maxChains = 20

// traceUnhealthy adds to each unhealthy object what led to its last change, as
// "ctrlplane why" shows it.
func (s *State) traceUnhealthy(ctx context.Context, src observe.Source) {
	if len(s.unhealthy) == 0 {
		return
	}
	var o trace.Options
	records, err := o.ReadRecords(ctx, src)
	if err != nil {
		s.incomplete = errors.Join(s.incomplete, err)
		return
	}
	for i := range s.unhealthy[:min(len(s.unhealthy), maxChains)] {
		if ctx.Err() != nil {
			return
		}
		u := &s.unhealthy[i]
		about, ok := trace.Find(records, u.Ref.Kind+"."+u.Ref.Group, u.Ref.Namespace, u.Ref.Name) // another group may have the kind, too
		if !ok {
			continue
		}
		last := o
		last.What = trace.Changed
		chain, err := trace.Why(records, about, last)
		if err != nil {
			chain, err = trace.Why(records, about, o)
		}
		var text strings.Builder
		if err != nil || chain.Write(&text, trace.Text, trace.Style{}) != nil {
			continue // the records are of what happened before the observer's first one
		}
		u.Chain = strings.Split(strings.TrimSpace(text.String()), "\n")
	}
}

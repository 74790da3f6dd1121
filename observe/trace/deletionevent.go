package trace

import (
	"strconv"
	"strings"
	"time"

	"github.com/ctrlplane/ctrlplane/observe"
)

// maxBeforeDelete is how long before a delete its client writes the Event that says why.
const maxBeforeDelete = 2 * time.Second

// eventTime returns when a client made an Event: it may send it later. The recorders of client-go name Events NAME.HEX, with
// the time in nanoseconds.
func eventTime(e *observe.Called, sent time.Time) time.Time {
	nanos, err := strconv.ParseInt(e.Object.Name[strings.LastIndexByte(e.Object.Name, '.')+1:], 16, 64)
	if made := time.Unix(0, nanos); err == nil && sent.Sub(made) > 0 && sent.Sub(made) < time.Minute {
		return made
	}
	return sent
}

// quoteReason finds the newest Event that the client that deletes the object wrote about it just before: operators such as
// Karpenter say in it why they delete.
func (c *Chain) quoteReason(records []observe.Record) {
	by := c.Links[0].decisive()
	if c.What != Deleted || !by.byClient {
		return
	}
	for i := range records {
		r := &records[i]
		e, ok := r.Event.(*observe.Called)
		if !ok || e.Event == nil || e.Controller != by.Controller || e.Failed() || !e.Event.Regarding.Same(c.About) {
			continue
		}
		if before := by.End().Sub(eventTime(e, r.Time)); before >= 0 && before <= maxBeforeDelete+by.Took {
			c.quoted = e.Event
		}
	}
}

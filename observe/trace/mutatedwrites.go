package trace

import (
	"cmp"
	"slices"
	"strings"

	"github.com/ctrlplane/ctrlplane/internal/words"
	"github.com/ctrlplane/ctrlplane/observe"
)

// DescribeWebhooks says what webhooks and policies did to the write because of which the key has failed last, before it was refused: the
// error may be about what they have changed. It is empty if they did nothing.
func (f FailingKey) DescribeWebhooks(records []observe.Record) string {
	c := f.refusedWrite(records)
	if c == nil {
		return ""
	}
	var did []string
	for _, w := range c.Webhooks {
		did = append(did, describeWebhook(w, true))
	}
	what := words.OneLine(strings.TrimSpace(c.Verb + " " + cmp.Or(c.Object.Kind, c.Object.Resource) + " " + c.Object.Name))
	return "At the last attempt to " + what + ", " + strings.Join(did, "; ") + "."
}

// refusedWrite returns the last write that has failed in the last sync of the key, if webhooks or policies did something to it.
func (f FailingKey) refusedWrite(records []observe.Record) *observe.Called {
	sync := uint64(0)
	for i := range slices.Backward(records) {
		switch e := records[i].Event.(type) {
		case *observe.Synced:
			if sync == 0 && e.Controller == f.Controller.Name && e.Queue == f.Queue && e.Key == f.Key {
				sync = e.ID
			}
		case *observe.Called:
			switch {
			case sync == 0 || e.Sync != sync || !e.Failed():
			case len(e.Webhooks) > 0:
				return e
			default:
				return nil
			}
		}
	}
	return nil
}

package ui

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/ctrlplane/ctrlplane/health"
	"github.com/ctrlplane/ctrlplane/internal/words"
	"github.com/ctrlplane/ctrlplane/observe"
	"github.com/ctrlplane/ctrlplane/observe/trace"
)

// describeFinalizers says what the operators that have added the finalizers of an object have done since its deletion was
// requested: nothing fails, but the object stays. It leaves out those of which something else is said.
func describeFinalizers(now observe.Snapshot, records []observe.Record, about observe.Object, deletion *health.Deletion, s trace.Style) (list []string) {
	if deletion == nil || len(deletion.Finalizers) == 0 {
		return nil
	}
	held := trace.ReadHeldDeletion(records, about)
	if held.Requested.IsZero() || now.Time.Sub(held.Requested) < minSilence {
		return nil
	}
	added := map[string]string{} // the finalizers, by controller or client
	for _, f := range deletion.Finalizers {
		if f.Manager == "" {
			continue
		}
		if writers := trace.WritersAs(records, about, f.Manager); len(writers) == 1 { // several programs may have one name
			added[writers[0]] = f.Name
		}
	}
	for _, name := range slices.Sorted(maps.Keys(held.Synced)) {
		if sync := held.Synced[name]; !sync.Failed && !hasWritten(now, held, name) && isIdleFor(now, name, about.Key()) && (added[name] != "" || len(added) == 0) {
			list = append(list, fmt.Sprintf("%s%s has synced it since the deletion was requested, last at %s, without an error and without changing it.",
				words.OneLine(name), addedNote(added[name]), s.FormatClock(sync.Ended)))
		}
	}
	for i := range now.Clients {
		if c := &now.Clients[i]; added[c.Name] != "" && hasIgnored(now, c, held.Requested) {
			list = append(list, fmt.Sprintf("%s%s has made no request since the deletion was requested %s ago.",
				words.OneLine(c.Name), addedNote(added[c.Name]), words.Duration(now.Time.Sub(held.Requested))))
		}
	}
	return list
}

// hasWritten reports whether a controller, or its client in a call whose sync is not known, has written the object since the
// deletion was requested.
func hasWritten(now observe.Snapshot, held trace.HeldDeletion, controller string) bool {
	return held.Wrote[controller] || slices.ContainsFunc(now.Clients, func(c observe.Client) bool {
		return held.Wrote[c.Name] && slices.Contains(c.Controllers, controller)
	})
}

func addedNote(finalizer string) string {
	if finalizer == "" {
		return ""
	}
	return ", which added the finalizer " + words.OneLine(finalizer) + ","
}

// isIdleFor reports whether a controller runs, and no sync of a key.
func isIdleFor(now observe.Snapshot, controller, key string) bool {
	return slices.ContainsFunc(now.Controllers, func(c observe.Controller) bool {
		return c.Name == controller && c.State == observe.StateRunning && !slices.ContainsFunc(c.Running, func(r observe.RunningSync) bool { return r.Key == key })
	})
}

// hasIgnored reports whether a client that runs, and does not report its syncs, has made no request since a moment.
func hasIgnored(now observe.Snapshot, c *observe.Client, since time.Time) bool {
	last := lastRequest(now, c.User)
	return mayWork(c) && c.IsWatching() && c.Reason == "" && len(c.Controllers) == 0 && !last.IsZero() && last.Before(since)
}

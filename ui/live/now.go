package live

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/ctrlplane/ctrlplane/internal/words"
	"github.com/ctrlplane/ctrlplane/observe"
	"github.com/ctrlplane/ctrlplane/ui"
)

// nowText says in a few words what a controller is doing, or what is wrong with it: that
// which explains the rest of the row.
func (m model) nowText(r row) (string, style) {
	c := r.info
	if c == nil {
		return "", plain
	}
	reason := words.OneLine(ui.DescribeReason(*c, m.snapshot.Time))
	failing, fails := r.failingKey()
	isError := fails && !ui.IsPassing(failing)
	switch {
	case c.State == stateFailed:
		return joinReason("failed", reason), bad
	case c.State == statePaused && isError:
		return pausedText(c, reason) + ", " + failingText("fails", failing), bad
	case c.State == statePaused:
		return pausedText(c, reason), caution
	case c.State == stateOff && isError:
		return m.offText(c, reason) + ", " + failingText("failed", failing), bad
	case c.State == stateOff:
		return m.offText(c, reason), caution
	case isError:
		return failingText("fails", failing), bad
	}
	if c.Unlisted != "" {
		return "waits: " + shortUnlisted(c.Unlisted), caution
	}
	if loop := m.loopOf(r); loop != "" {
		return loop, caution
	}
	running := r.runningSyncs()
	if q := r.queue; q != nil && q.Parked && q.Depth > 0 {
		return "wait for a change elsewhere", caution
	}
	switch {
	case len(running) > 0:
		return m.runningText(running, r.inFlight())
	case fails && observe.StaleCacheOf(failing.Error) != "":
		return "stale cache, tries again: " + ui.FormatKey(failing.Key, failing.KeyBasis), caution
	case fails:
		return "conflict, tries again: " + ui.FormatKey(failing.Key, failing.KeyBasis), caution
	case reason != "":
		return reason, caution
	case c.State != stateRunning && c.State != "":
		return c.State, accent
	}
	return m.delayedText(r)
}

// offText says first since when the process of an operator has ended: the column is narrow.
func (m model) offText(c *observe.Controller, reason string) string {
	if c.Gone == observe.GoneEnded && !c.Since.IsZero() {
		return "ended " + formatAge(m.snapshot.Time.Sub(c.Since)) + " ago" + strings.TrimSuffix(", "+c.Interventions.String(), ", ")
	}
	return cmp.Or(reason, "off")
}

func joinReason(what, why string) string {
	if why == "" {
		return what
	}
	return what + ": " + why
}

func pausedText(c *observe.Controller, reason string) string {
	if c.Held > 0 {
		return fmt.Sprintf("paused, %d held", c.Held)
	}
	if rest, ok := strings.CutPrefix(reason, observe.WritesHeld); ok {
		return "paused" + rest
	}
	return "paused"
}

// failingKey returns the newest failing key of the row's queue: of one that does not only
// conflict, if there is any.
func (r row) failingKey() (found observe.FailingKey, ok bool) {
	for _, f := range r.info.Failing {
		if r.queue != nil && f.Queue != r.queue.Name {
			continue
		}
		if !ui.IsPassing(f) {
			return f, true
		}
		if !ok {
			found, ok = f, true
		}
	}
	return found, ok
}

// failingText says first what is wrong: the key may be long.
func failingText(verb string, f observe.FailingKey) string {
	key := ui.FormatKey(f.Key, f.KeyBasis)
	if f.Error == "" {
		return verb + ": " + key
	}
	return verb + ": " + ui.ShortErrorOf(words.OneLine(f.Error), f.Key) + " (" + key + ")"
}

// runningSyncs returns the syncs in flight of the row's queue.
func (r row) runningSyncs() (list []observe.RunningSync) {
	for _, s := range r.info.Running {
		if r.queue == nil || s.Queue == r.queue.Name {
			list = append(list, s)
		}
	}
	return list
}

func (m model) runningText(running []observe.RunningSync, inFlight int64) (string, style) {
	text := ui.FormatKey(running[0].Key, running[0].KeyBasis)
	if more := max(int64(len(running)), inFlight) - 1; more > 0 {
		text = fmt.Sprintf("%s +%d", text, more)
	}
	if running[0].Waits {
		return m.theme.pickGlyph("‖ ", "waits ") + text, caution
	}
	return text, accent
}

// delayedText says when the next delayed key is due.
func (m model) delayedText(r row) (string, style) {
	if r.queue == nil || r.queue.NextDue.IsZero() || r.queue.Delayed <= 0 {
		return "", plain
	}
	in := r.queue.NextDue.Sub(m.snapshot.Time)
	if in <= 0 || in > time.Hour {
		return "", plain
	}
	text := "next key in " + formatDuration(in, m.theme.ascii)
	if r.queue.Delayed > 1 {
		text += fmt.Sprintf(", %s delayed", m.atMost(r.queue.Delayed))
	}
	return text, faint
}

// atMost formats an upper bound.
func (m model) atMost(n int64) string { return m.theme.pickGlyph("≤", "<=") + formatShort(n) }

// shortUnlisted begins with the kind: there is little room. Several kinds each have an error.
func shortUnlisted(why string) string {
	const failed = "failed to list *"
	if strings.HasPrefix(why, failed) {
		return words.OneLine(strings.ReplaceAll(why, failed, "cannot list "))
	}
	return ui.DescribeUnlisted(why)
}

package live

import (
	"fmt"
	"strings"

	"github.com/ctrlplane/ctrlplane/observe"
)

// lastSyncs is how many of a controller's latest syncs its page tells.
const lastSyncs = 5

// controllerDetails tells what is known of a controller.
func (m model) controllerDetails(s *sheet, sc screen) {
	m.heldDetails(s, sc.controller)
	s.field("", sc.purpose)
	c, ok := m.controller(sc.controller)
	if !ok {
		s.field("state", "?")
	} else {
		m.controllerState(s, c)
	}
	for _, q := range m.snapshot.Queues {
		if clean(q.Controller) == sc.controller {
			m.queueDetails(s, &q)
		}
	}
	m.syncDetails(s, c, sc.feed)
}

func (m model) controller(name string) (observe.Controller, bool) {
	for _, c := range m.snapshot.Controllers {
		if clean(c.Name) == name {
			return c, true
		}
	}
	return observe.Controller{}, false
}

func (m model) controllerState(s *sheet, c observe.Controller) {
	state := line{{clean(orUnknown(c.State)), stateStyle(c.State)}}
	if c.Reason != "" {
		state = append(state, span{": " + clean(c.Reason), plain})
	}
	s.entry("state", 0, state)
	if m.doing != "" {
		s.entry("", 0, text(m.doing+m.theme.tail(), accent))
	}
	if len(c.Aliases) > 0 {
		s.field("also", clean(strings.Join(c.Aliases, ", ")))
	}
	s.field("watches", clean(orUnknown(strings.Join(c.Watches, ", "))))
	var writes []string
	for _, w := range c.Writes {
		writes = append(writes, fmt.Sprintf("%s %s ×%s", w.Verb, w.Resource, count(w.Count)))
	}
	if m.theme.ascii {
		for i := range writes {
			writes[i] = strings.Replace(writes[i], "×", "x", 1)
		}
	}
	s.field("writes", clean(orNothing(strings.Join(writes, ", "))))
	s.field("so far", strings.Join([]string{
		plural(c.Delivered, "event"), plural(c.Syncs, "sync") + " (" + count(c.Failures) + " failed)", plural(c.Reads, "read"),
		plural(c.Changes, "write"), plural(c.Errors, "error"), plural(c.Conflicts, "conflict"),
	}, ", "))
}

// queueDetails draws a queue's numbers and, over three rows, its last minute.
func (m model) queueDetails(s *sheet, q *observe.Queue) {
	const rows = 3
	flight, _ := flightCell(q, m.theme)
	s.add(nil)
	s.entry("queue", 0, line{{clean(q.Name), strong}})
	numbers := []string{
		fmt.Sprintf("depth %s  in flight %s", short(q.Depth), flight),
		fmt.Sprintf("adds %s/s  done %s/s  retries %s", m.orZero(rate(q.AddRate)), m.orZero(rate(q.DoneRate)), count(q.Retries)),
		fmt.Sprintf("wait %s  work %s  longest now %s", m.quantiles(q.Wait), m.quantiles(q.Work), m.orZero(m.lasted(q.Longest))),
	}
	if q.Delayed >= 0 {
		numbers[1] += fmt.Sprintf("  delayed at most %s", short(q.Delayed))
	}
	chart := m.theme.chart(q.History, m.snapshot.Time.Unix(), chartWidth(s.w-labelWidth-8), rows)
	var top int64
	for _, h := range q.History {
		top = max(top, h.Depth)
	}
	scale := []string{"  " + short(top), "", "  0"}
	for _, n := range numbers {
		s.entry("", 0, text(n, plain))
	}
	if top > 0 {
		for i, row := range chart {
			s.entry("last minute", i, line{{row, accent}, {scale[i], faint}})
		}
	}
	if len(q.Waiting) > 0 {
		var names []string
		for _, o := range q.Waiting {
			names = append(names, "~"+name(o))
		}
		s.field("waiting", strings.Join(names, ", "))
	}
}

func (m model) quantiles(d observe.Durations) string {
	if d.Recent.Count == 0 {
		return m.theme.zero()
	}
	return fmt.Sprintf("p50 %s p99 %s", duration(d.Recent.P50, m.theme.ascii), duration(d.Recent.P99, m.theme.ascii))
}

// syncDetails tells the syncs under way, the keys that fail and the last syncs.
func (m model) syncDetails(s *sheet, c observe.Controller, f feed) {
	tail := m.theme.tail()
	keyWidth := min(max(s.w/3, 16), 48)
	if len(c.Running)+len(c.Failing) > 0 {
		s.add(nil)
	}
	for i, r := range c.Running {
		s.entry("running", i, line{{left(key(r.Key, r.KeyBasis), keyWidth, tail), accent},
			{"  for " + age(m.snapshot.Time.Sub(r.Since)), plain}, {"  " + clean(r.Queue), faint}})
	}
	for i, k := range c.Failing {
		s.entry("failing", i, line{{left(key(k.Key, k.KeyBasis), keyWidth, tail), bad},
			{fmt.Sprintf("  %s, last %s ago", plural(int64(k.Times), "time"), age(m.snapshot.Time.Sub(k.Last))), plain}})
		if k.Error != "" {
			s.field("", clean(k.Error))
		}
	}
	shown := 0
	for i := len(f.entries) - 1; i >= 0 && shown < lastSyncs; i-- {
		sync, ok := f.entries[i].record.Event.(*observe.Synced)
		if !ok {
			continue
		}
		if shown == 0 {
			s.add(nil)
		}
		it := describe(f.entries[i].record)
		s.entry("last syncs", shown, line{{left(it.what, keyWidth, tail), it.style()}, {"  " + left(it.status, 5, tail), plain},
			{"  waited " + left(duration(sync.Waited, m.theme.ascii), 6, "") + " worked " + left(duration(sync.Took, m.theme.ascii), 6, ""), faint},
			{" " + it.note, faint}})
		shown++
	}
}

func orUnknown(s string) string {
	if s == "" {
		return "?"
	}
	return s
}

func orNothing(s string) string {
	if s == "" {
		return "nothing so far"
	}
	return s
}

func (m model) orZero(s string) string {
	if s == "" {
		return m.theme.zero()
	}
	return s
}

package live

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ctrlplane/ctrlplane/internal/words"
	"github.com/ctrlplane/ctrlplane/observe"
	"github.com/ctrlplane/ctrlplane/ui"
)

// maxSyncsShown is how many recent syncs the page of a controller shows.
const maxSyncsShown = 5

// addControllerDetails adds the details of a controller.
func (m model) addControllerDetails(s *detailBuilder, sc screen) {
	m.addHeldDetails(s, sc.controller)
	if c, is := m.findClient(sc.controller); is {
		m.addClientDetails(s, c)
		for _, q := range m.snapshot.Queues {
			if words.OneLine(q.Controller) == sc.controller {
				m.addQueueDetails(s, &q, observe.Controller{})
			}
		}
		m.addStepDetails(s, sc.controller)
		return
	}
	s.addField("", sc.purpose)
	c, ok := m.findController(sc.controller)
	if !ok {
		s.addField("state", "?")
	} else if c.State == "" && m.interventionsIn(sc.controller) != nil {
		s.addField("state", "none: it is not a controller, and cannot be paused, stepped or stopped")
	} else {
		m.addStateLine(s, c)
	}
	for _, q := range m.snapshot.Queues {
		if words.OneLine(q.Controller) == sc.controller {
			m.addQueueDetails(s, &q, c)
		}
	}
	m.addStepDetails(s, sc.controller)
	if ok {
		m.addKeyDetails(s, c)
		s.addLine(nil)
		m.addControllerTotals(s, c)
	}
	m.addLatestSyncs(s, sc.feed)
}

func (m model) findController(name string) (observe.Controller, bool) {
	for _, c := range m.snapshot.Controllers {
		if words.OneLine(c.Name) == name {
			return c, true
		}
	}
	return observe.Controller{}, false
}

func (m model) addStateLine(s *detailBuilder, c observe.Controller) {
	state := line{{words.OneLine(cmp.Or(c.State, "?")), stateStyle(c.State)}}
	if c.Reason != "" {
		state = append(state, span{": " + words.OneLine(ui.DescribeReason(c, m.snapshot.Time)), plain})
	}
	s.addEntry("state", 0, state)
	if c.Unlisted != "" {
		s.addField("waits", ui.DescribeUnlisted(c.Unlisted))
	}
	m.addLoops(s, words.OneLine(c.Name))
	if m.inProgress != "" {
		s.addEntry("", 0, styledLine(m.inProgress+m.theme.ellipsis(), accent))
	}
}

// addControllerTotals adds what a controller watches and writes, and its counters.
func (m model) addControllerTotals(s *detailBuilder, c observe.Controller) {
	if len(c.Aliases) > 0 {
		s.addField("aliases", words.OneLine(strings.Join(c.Aliases, ", ")))
	}
	watches := "watches"
	if observe.IsReported(c.Name) { // what its client watches is not known for each of its controllers
		watches = "events of"
	}
	s.addField(watches, words.OneLine(cmp.Or(strings.Join(c.Watches, ", "), "?")))
	var writes []string
	for _, w := range c.Writes {
		writes = append(writes, fmt.Sprintf("%s %s ×%s", w.Verb, w.Resource, ui.GroupDigits(w.Count)))
	}
	if m.theme.ascii {
		for i := range writes {
			writes[i] = strings.Replace(writes[i], "×", "x", 1)
		}
	}
	syncs := countKnown(c.Syncs, "sync") + " (" + groupKnown(c.Failures) + " failed)"
	if c.Changes < 0 { // the source has no calls and events
		s.addField("writes", "?")
		s.addField("totals", syncs)
		return
	}
	s.addField("writes", words.OneLine(cmp.Or(strings.Join(writes, ", "), "none yet")))
	s.addField("totals", strings.Join([]string{
		ui.CountNoun(c.Delivered, "event"), syncs, ui.CountNoun(c.Reads, "read"),
		ui.CountNoun(c.Changes, "write"), ui.CountNoun(c.Errors, "error"), ui.CountNoun(c.Conflicts, "conflict"),
	}, ", "))
}

// addQueueDetails adds the numbers of a queue and a chart of its last minute.
func (m model) addQueueDetails(s *detailBuilder, q *observe.Queue, c observe.Controller) {
	const rows = 3
	inFlight := formatKnown(q.InFlight)
	if q.Workers > 0 {
		inFlight += fmt.Sprintf("/%d", q.Workers)
	}
	s.addLine(nil)
	s.addEntry("queue", 0, line{{words.OneLine(q.Name), strong}})
	numbers := []string{
		fmt.Sprintf("depth %s  in flight %s", formatKnown(q.Depth), inFlight),
		fmt.Sprintf("adds %s/s  done %s/s  retries %s", formatKnownRate(q.AddRate), formatKnownRate(q.DoneRate), groupKnown(q.ErrorRetries)),
		fmt.Sprintf("wait %s  work %s  longest running %s", m.formatQuantiles(q.Wait, q.Gets), m.formatQuantiles(q.Work, q.Done), cmp.Or(m.formatTook(q.Longest), durationMark(q.InFlight, "-"))),
	}
	if planned := ui.PlannedRequeues(q); planned > 0 {
		numbers[1] += fmt.Sprintf("  requeues %s", ui.GroupDigits(planned))
	}
	m.addQueueBoxes(s, q, c)
	chart := m.theme.depthChart(q.History, m.snapshot.Time.Unix(), chartWidth(s.w-labelWidth-8), rows)
	var top int64
	for _, h := range q.History {
		top = max(top, h.MaxDepth)
	}
	scale := []string{"  " + formatShort(top), "", "  0"}
	for _, n := range numbers {
		s.addEntry("", 0, styledLine(n, plain))
	}
	if top > 0 {
		for i, row := range chart {
			s.addEntry("last minute", i, line{{row, accent}, {scale[i], faint}})
		}
	}
}

func formatKnown(n int64) string {
	if n < 0 {
		return unknownNumber
	}
	return formatShort(n)
}

// durationMark stands for a missing duration: none, unless the number of keys is not known.
func durationMark(keys int64, none string) string {
	if keys < 0 {
		return unknownNumber
	}
	return none
}

func countKnown(n int64, noun string) string {
	if n < 0 {
		return unknownNumber + " " + noun + "s"
	}
	return ui.CountNoun(n, noun)
}

func groupKnown(n int64) string {
	if n < 0 {
		return unknownNumber
	}
	return ui.GroupDigits(n)
}

func formatKnownRate(f float64) string {
	if f < 0 {
		return unknownNumber
	}
	return cmp.Or(formatRate(f), "0")
}

// formatQuantiles describes durations of n keys since the start, or of a number that is not known.
func (m model) formatQuantiles(d observe.Durations, n int64) string {
	if d.Recent.Count == 0 {
		return durationMark(n, "-")
	}
	return fmt.Sprintf("p50 %s p99 %s", formatDuration(d.Recent.P50, m.theme.ascii), formatDuration(d.Recent.P99, m.theme.ascii))
}

// hasQueue reports whether a queue of a controller is known.
func (m model) hasQueue(controller string) bool {
	return slices.ContainsFunc(m.snapshot.Queues, func(q observe.Queue) bool { return q.Controller == controller })
}

// keyWidth is the width of a column of keys.
func (s *detailBuilder) keyWidth() int { return min(max(s.w/3, 16), 48) }

// addKeyDetails adds the running syncs and failing keys of a controller whose queue is not
// known, or has ended: other queues show them in boxes.
func (m model) addKeyDetails(s *detailBuilder, c observe.Controller) {
	if len(c.Running)+len(c.Failing) == 0 || m.hasQueue(c.Name) {
		return
	}
	s.addLine(nil)
	tail, keyWidth := m.theme.ellipsis(), s.keyWidth()
	for i, r := range c.Running {
		s.addEntry("running", i, line{{alignLeft(ui.FormatKey(r.Key, r.KeyBasis), keyWidth, tail), accent},
			{"  for " + formatAge(m.snapshot.Time.Sub(r.Since)), plain}, {"  " + words.OneLine(r.Queue), faint}})
	}
	for i, k := range c.Failing {
		s.addEntry("failing", i, line{{alignLeft(ui.FormatKey(k.Key, k.KeyBasis), keyWidth, tail), bad},
			{fmt.Sprintf("  %s, last %s ago", k.HowOften(), formatAge(m.snapshot.Time.Sub(k.Last))), plain}})
		if k.Error != "" {
			s.addField("", words.OneLine(k.Error))
		}
	}
}

// addLatestSyncs adds the latest syncs of a page's feed.
func (m model) addLatestSyncs(s *detailBuilder, f feed) {
	tail, keyWidth, shown := m.theme.ellipsis(), s.keyWidth(), 0
	for i := len(f.entries) - 1; i >= 0 && shown < maxSyncsShown; i-- {
		sync, ok := f.entries[i].record.Event.(*observe.Synced)
		if !ok {
			continue
		}
		if shown == 0 {
			s.addLine(nil)
		}
		it := describeRecord(f.entries[i].record)
		s.addEntry("last syncs", shown, line{{alignLeft(it.subject, keyWidth, tail), it.textStyle()}, {"  " + alignLeft(it.status, 5, tail), plain},
			{"  wait " + alignLeft(formatDuration(sync.Waited, m.theme.ascii), 6, "") + " work " + alignLeft(formatDuration(sync.Took, m.theme.ascii), 6, ""), faint},
			{" " + it.note, faint}})
		shown++
	}
}

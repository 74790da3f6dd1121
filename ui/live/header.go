package live

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ctrlplane/ctrlplane/internal/words"
	"github.com/ctrlplane/ctrlplane/observe"
	"github.com/ctrlplane/ctrlplane/ui"
)

// headerField is a part of the header. Fields that do not fit are dropped, highest
// dropOrder first.
type headerField struct {
	line      line
	dropOrder int
}

// joinFields joins the fields that fit into w columns.
func joinFields(fields []headerField, w int) line {
	for {
		var l line
		for i, f := range fields {
			if i > 0 {
				l = append(l, span{"  ", faint})
			}
			l = append(l, f.line...)
		}
		if l.width() <= w || len(fields) == 1 {
			return l
		}
		worst := 0
		for i, f := range fields {
			if f.dropOrder > fields[worst].dropOrder {
				worst = i
			}
		}
		fields = slices.Delete(slices.Clone(fields), worst, worst+1)
	}
}

// stateWidth is the room that the first line of w columns keeps for the state: "busy", "settled"
// and a few keys that fail take nothing of what stands beside them.
func stateWidth(w int) int { return min(len("! settled, 3 keys fail "), w*3/10) }

// busyWidth is the room that the second line keeps for who is busy.
func busyWidth(w int) int { return w / 3 }

// headerLines draws the header: the identity, state and numbers of the control
// plane.
func (m model) headerLines(w, h int) []string {
	p := m.snapshot.Process
	modes, state := m.modesLine(), append(m.stateLine(p), span{" ", plain})
	room := w - modes.width() - max(state.width(), stateWidth(w)) - 2
	identity, numbers := m.identityFields(p), m.numberFields()
	if h == 1 {
		identity, numbers = append(identity, numbers...), nil
	}
	first := append(styledLine(" ", plain), joinFields(identity, room)...)
	lines := []string{m.theme.renderLine(joinJustified(first, append(modes, state...), w, m.theme.ellipsis()), w, false)}
	if h == 1 || !m.hasSnapshot {
		return lines
	}
	busy := m.busyLine(p, w)
	second := append(styledLine(" ", plain), joinFields(numbers, w-max(busy.width(), busyWidth(w))-4)...)
	return append(lines, m.theme.renderLine(joinJustified(second, busy, w, m.theme.ellipsis()), w, false))
}

// modesLine says what the user has done to the view and to controllers.
func (m model) modesLine() line {
	l := styledLine(" ", plain)
	if m.past != nil {
		l = append(l, m.pastLine()...)
	}
	if m.frozen {
		l = append(l, span{"frozen, space resumes  ", caution})
	}
	n := 0
	for _, i := range m.activeInterventions() {
		n += i.Count()
	}
	if n > 0 && m.pullError == "" {
		l = append(l, span{ui.CountNoun(int64(n), "intervention") + "  ", caution})
	}
	return l
}

// stateLine returns the state of the control plane.
func (m model) stateLine(p observe.Process) line {
	state := ui.StateWord(m.snapshot)
	mark, st := "◐ ", accent
	switch {
	case m.pullError != "":
		return styledLine(m.theme.pickGlyph("○ ", "")+"disconnected", bad)
	case !m.hasSnapshot || p.State == observe.Starting:
		return styledLine(m.theme.pickGlyph("◌ ", "")+"starting", accent)
	case p.State == observe.Stopping:
		return styledLine(m.theme.pickGlyph("◌ ", "")+state, caution)
	case p.StandbyReason() != "" || state == "unknown":
		mark, st = "○ ", caution
	case p.Settled:
		mark, st = "● ", good
	}
	failing := ui.DescribeFailing(m.snapshot)
	if textWidth(failing) > m.width*3/5 {
		failing = ui.DescribeFailing(ui.MergeProblems(m.snapshot))
	}
	if failing != "" {
		return styledLine(markBad+" "+state+", "+failing, bad)
	}
	return styledLine(m.theme.pickGlyph(mark, "")+state, st)
}

// busyLine names the busy controllers with the keys that wait for each, as far as they
// fit into busyWidth. Without work it names who was active a moment ago. A hot loop and the leader
// last: they may take half of the w columns.
func (m model) busyLine(p observe.Process, w int) line {
	if p.Leader == observe.LeaderOther && p.LeaseHolder != "" {
		return styledLine(truncate("leader: "+words.OneLine(p.LeaseHolder), w/2-1, m.theme.ellipsis())+" ", faint)
	}
	if l := m.loopLine(w / 2); l != nil {
		return l
	}
	w = busyWidth(w)
	if p.Settled || p.State != "" && p.State != observe.Ready {
		return nil
	}
	if len(p.Busy) == 0 {
		if p.LastActive == "" {
			return nil
		}
		const when = " just now "
		return styledLine(truncate(ui.ShortName(words.OneLine(p.LastActive)), w-len(when), m.theme.ellipsis())+when, faint)
	}
	var text string
	for i, name := range p.Busy {
		part := ui.ShortName(words.OneLine(name))
		if depth := m.depthOf(name); depth > 0 {
			part += " " + formatShort(depth)
		}
		if i > 0 {
			part = ", " + part
		}
		more := ""
		if rest := len(p.Busy) - i - 1; rest > 0 {
			more = fmt.Sprintf(" +%d", rest)
		}
		if i > 0 && textWidth(text+part+more) > w-2 {
			more = fmt.Sprintf(" +%d ", len(p.Busy)-i)
			return line{{truncate(text, w-len(more), m.theme.ellipsis()), plain}, {more, faint}}
		}
		text += part
	}
	return styledLine(truncate(text, w-1, m.theme.ellipsis())+" ", plain)
}

// depthOf returns how many keys wait for a controller.
func (m model) depthOf(controller string) (depth int64) {
	for i := range m.snapshot.Queues {
		if q := &m.snapshot.Queues[i]; q.Controller == controller && !q.Parked && !q.Outside {
			depth += max(q.Depth, 0)
		}
	}
	return depth
}

// identityFields identifies the control plane.
func (m model) identityFields(p observe.Process) []headerField {
	fields := []headerField{{line{{"ctrlplane", faint}, {" " + words.OneLine(p.Name), strong}}, 0}}
	add := func(s string, dropOrder int) {
		if s = words.OneLine(s); s != "" {
			fields = append(fields, headerField{styledLine(s, plain), dropOrder})
		}
	}
	add(p.Version, 8)
	if version, _, emulated := strings.Cut(p.Kubernetes, " (emulated"); emulated {
		add("Kubernetes "+version+" (emulated)", 5) // what differs from usual stays longer
	} else if version != "" {
		add("Kubernetes "+version, 9)
	}
	add(p.URL, 6)
	if p.Ephemeral {
		add("ephemeral", 7)
	}
	if !p.Started.IsZero() {
		fields = append(fields, labelledField("up", alignLeft(formatAge(m.snapshot.Time.Sub(p.Started)), 7, ""), 3))
	}
	return fields
}

// numberFields returns the changing numbers. They have fixed widths, so that the
// text beside them does not move.
func (m model) numberFields() []headerField {
	p := m.snapshot.Process
	requests := formatRate(p.RequestRate)
	if requests == "" {
		requests = m.theme.zeroMark()
	}
	var fields []headerField // without what is unknown
	if p.Speed != "" {
		fields = append(fields, m.speedField(p.Speed))
	}
	if p.RequestRate >= 0 {
		fields = append(fields, labelledField("API", alignRight(requests, 5, "")+"/s", 2))
	}
	if p.MemoryBytes > 0 {
		fields = append(fields, labelledField("memory", alignRight(words.Size(p.MemoryBytes), 7, ""), 4))
	}
	if p.CPU > 0 || p.CPUPercent > 0 {
		fields = append(fields, labelledField("CPU", alignRight(fmt.Sprintf("%.0f", p.CPUPercent), 3, "")+" %", 5))
	}
	if p.EtcdRevision > 0 {
		fields = append(fields, labelledField("etcd", alignRight(words.Size(p.EtcdBytes), 7, ""), 7),
			labelledField("revision", alignLeft(ui.GroupDigits(p.EtcdRevision), 9, m.theme.ellipsis()), 10))
	}
	return fields
}

// speedField shows the speed, and how many keys wait because of it.
func (m model) speedField(s observe.Speed) headerField {
	if s == observe.SpeedFull {
		return headerField{line{{"speed ", faint}, {m.theme.plainSpeed(s), faint}}, 6}
	}
	text := m.theme.plainSpeed(s)
	waiting := ""
	if n := m.waitingKeys(); n > 0 {
		waiting = fmt.Sprintf(", %s %s", formatShort(int64(n)), map[bool]string{true: "key waits", false: "keys wait"}[n == 1])
	}
	waiting = alignLeft(waiting, len(", 99.9k keys wait"), "")
	return headerField{line{{"speed ", caution}, {text + waiting, caution}}, 1}
}

func labelledField(label, value string, dropOrder int) headerField {
	return headerField{line{{label + " ", faint}, {value, plain}}, dropOrder}
}

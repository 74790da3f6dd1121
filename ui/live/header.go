package live

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ctrlplane/ctrlplane/observe"
)

// field is a part of the header. Where there is no room, the one with the
// highest keep goes first.
type field struct {
	line line
	keep int
}

// joined puts the fields that fit into w columns in a line.
func joined(fields []field, w int, gap string) line {
	for {
		var l line
		for i, f := range fields {
			if i > 0 {
				l = append(l, span{gap, faint})
			}
			l = append(l, f.line...)
		}
		if l.width() <= w || len(fields) == 1 {
			return l
		}
		worst := 0
		for i, f := range fields {
			if f.keep > fields[worst].keep {
				worst = i
			}
		}
		fields = slices.Delete(slices.Clone(fields), worst, worst+1)
	}
}

// headerLines draws what is known of the control plane as a whole.
func (m model) headerLines(w, h int) []string {
	p := m.snapshot.Process
	state := append(text(" ", plain), m.stateLine(p)...)
	state = append(state, span{" ", plain})
	identity, numbers := m.identity(p), m.numbers()
	if h == 1 {
		identity, numbers = append(identity, numbers...), nil
	}
	first := append(text(" ", plain), joined(identity, w-state.width()-2, "  ")...)
	lines := []string{m.theme.render(between(first, state, w, m.theme.tail()), w, false)}
	if h == 1 || !m.known {
		return lines
	}
	busy := text(busyWith(p.Busy)+" ", faint)
	if len(p.Busy) == 0 || p.Settled {
		busy = nil
	}
	second := append(text(" ", plain), joined(numbers, w-2, "  ")...)
	switch room := w - second.width() - 4; {
	case room < 12: // nobody's name fits
		busy = nil
	case room < busy.width():
		busy = append(busy.cut(room-1, m.theme.tail()), span{" ", plain})
	}
	return append(lines, m.theme.render(between(second, busy, w, m.theme.tail()), w, false))
}

// stateLine says how the control plane is doing.
func (m model) stateLine(p observe.Process) line {
	var l line
	if m.frozen {
		l = append(l, span{"on hold, space goes on  ", caution})
	}
	if n := len(m.hands()); n > 0 && m.lost == "" {
		l = append(l, span{fmt.Sprintf("%d by hand  ", n), caution})
	}
	switch {
	case m.lost != "":
		return append(l, span{m.theme.either("○ ", "") + "lost", bad})
	case !m.known || p.State == observe.Starting:
		return append(l, span{m.theme.either("◌ ", "") + "starting", accent})
	case p.State == observe.Stopping:
		return append(l, span{m.theme.either("◌ ", "") + "stopping", caution})
	case p.Settled:
		return append(l, span{m.theme.either("● ", "") + "settled", good})
	}
	return append(l, span{m.theme.either("◐ ", "") + "busy", accent})
}

func busyWith(names []string) string {
	const shown = 2
	s := clean(strings.Join(names[:min(len(names), shown)], ", "))
	if more := len(names) - shown; more > 0 {
		s += fmt.Sprintf(" and %d more", more)
	}
	return s
}

// identity says which control plane this is.
func (m model) identity(p observe.Process) []field {
	fields := []field{{line{{"ctrlplane", faint}, {" " + clean(p.Name), strong}}, 0}}
	add := func(s string, keep int) {
		if s = clean(s); s != "" {
			fields = append(fields, field{text(s, plain), keep})
		}
	}
	add(p.Version, 8)
	if p.Kubernetes != "" {
		add("Kubernetes "+p.Kubernetes, 9)
	}
	add(p.URL, 6)
	if p.Ephemeral {
		add("ephemeral", 7)
	}
	if !p.Started.IsZero() {
		fields = append(fields, labelled("up", left(age(m.snapshot.Time.Sub(p.Started)), 6, ""), 3))
	}
	return fields
}

// numbers are what moves. They keep their widths, so that nothing beside them
// moves with them.
func (m model) numbers() []field {
	p := m.snapshot.Process
	requests := rate(p.RequestRate)
	if requests == "" {
		requests = m.theme.zero()
	}
	fields := []field{
		labelled("API", right(requests, 5, "")+"/s", 2),
		labelled("memory", right(size(p.MemoryBytes), 7, ""), 4),
		labelled("CPU", right(fmt.Sprintf("%.0f", p.CPUPercent), 3, "")+" %", 5),
	}
	if p.EtcdRevision > 0 {
		fields = append(fields, labelled("etcd", right(size(p.EtcdBytes), 7, ""), 7),
			labelled("revision", left(count(p.EtcdRevision), 9, m.theme.tail()), 10))
	}
	if d := m.snapshot.Journal.Dropped; d > 0 {
		fields = append(fields, labelled("records dropped", count(d), 11))
	}
	return fields
}

func labelled(label, value string, keep int) field {
	return field{line{{label + " ", faint}, {value, plain}}, keep}
}

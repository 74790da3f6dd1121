package live

import (
	"cmp"
	"fmt"
	"time"

	"github.com/ctrlplane/ctrlplane/internal/words"
	"github.com/ctrlplane/ctrlplane/observe"
	"github.com/ctrlplane/ctrlplane/ui"
)

// maxBoxes is how many waiting keys are drawn.
const maxBoxes = 10

// addQueueBoxes draws a queue as it is: the keys that wait, the keys in work for each
// worker, the delayed and the failed keys, and where each of them goes next.
func (m model) addQueueBoxes(s *detailBuilder, q *observe.Queue, c observe.Controller) {
	m.addWaitingBoxes(s, q)
	m.addWorkerBoxes(s, q, c)
	m.addDelayedBoxes(s, q, c)
}

// box draws a key as a box.
func (m model) box(text string) string {
	return m.theme.pickGlyph("▐", "[") + text + m.theme.pickGlyph("▌", "]")
}

func (m model) arrow() string { return m.theme.pickGlyph(" → ", " -> ") }

func (m model) addWaitingBoxes(s *detailBuilder, q *observe.Queue) {
	if q.Depth <= 0 {
		s.addEntry("waiting", 0, styledLine(noKey(q.Depth), faint))
		return
	}
	room := s.w - labelWidth - textWidth(m.arrow()+"the next free worker")
	l, shown := line{}, int64(0)
	for _, o := range q.Waiting {
		b := m.box("~" + words.OneLine(o.Key()))
		if l.width()+textWidth(b)+10 > room || shown == maxBoxes {
			break
		}
		l, shown = append(l, span{b, accent}, span{" ", plain}), shown+1
	}
	if more := q.Depth - shown; more > 0 {
		text := fmt.Sprintf("+%s ", formatShort(more))
		if shown == 0 {
			text = formatShort(more) + " "
		}
		l = append(l, span{text, strong})
	}
	s.addEntry("waiting", 0, append(l, span{m.arrow() + "the next free worker", faint}))
}

// noKey describes a number of keys that is 0 or not known.
func noKey(n int64) string {
	if n < 0 {
		return unknownNumber
	}
	return "no key"
}

// addWorkerBoxes draws a line for each worker, as far as their number is known.
func (m model) addWorkerBoxes(s *detailBuilder, q *observe.Queue, c observe.Controller) {
	var running []observe.RunningSync
	for _, r := range c.Running {
		if r.Queue == q.Name {
			running = append(running, r)
		}
	}
	for i, r := range running {
		l := line{{fmt.Sprintf("%2d ", i+1), faint}, {m.box(ui.FormatKey(r.Key, r.KeyBasis)), accent}}
		age := m.snapshot.Time.Sub(r.Since)
		if r.Waits {
			l[1].style = caution
			l = append(l, span{"  " + m.waitingText(age), caution})
		} else {
			l = append(l, span{"  for " + formatDuration(max(age, time.Millisecond), m.theme.ascii), plain})
		}
		s.addEntry("in work", i, append(l, span{m.arrow() + "done, or queued again", faint}))
	}
	free, are := q.Workers-max(len(running), int(q.InFlight)), "are"
	if free == 1 {
		are = "is"
	}
	switch {
	case free > 0 && len(running) == 0:
		s.addEntry("in work", 0, styledLine(words.Count(q.Workers, "worker")+" "+are+" free", faint))
	case free > 0:
		s.addEntry("", 0, styledLine(fmt.Sprintf("   %d of %s %s free", free, words.Count(q.Workers, "worker"), are), faint))
	case len(running) == 0 && q.InFlight > 0:
		s.addEntry("in work", 0, styledLine(formatShort(q.InFlight)+" keys that are not known", plain))
	case len(running) == 0:
		s.addEntry("in work", 0, styledLine(noKey(q.InFlight), faint))
	}
}

// waitingText says how long a worker still waits because of the speed.
func (m model) waitingText(age time.Duration) string {
	speed := m.snapshot.Process.Speed
	if speed == observe.SpeedStep {
		return "waits for a step (s)"
	}
	return "waits " + formatDuration(max(speed.Delay()-age, time.Millisecond), m.theme.ascii) + " more"
}

func (m model) addDelayedBoxes(s *detailBuilder, q *observe.Queue, c observe.Controller) {
	i, known := 0, int64(0)
	for _, f := range c.Failing {
		if f.Queue != q.Name {
			continue
		}
		l := line{{m.box(ui.FormatKey(f.Key, f.KeyBasis)), bad}}
		switch in := f.Due.Sub(m.snapshot.Time); {
		case f.Due.IsZero() && f.Retried: // when is not known
			l = append(l, span{"  waiting", plain})
		case f.Due.IsZero():
			l = append(l, span{"  not retried", plain})
		case in <= 0:
			l = append(l, span{"  due", plain})
		case f.Early:
			l = append(l, span{"  " + f.NextAttempt(m.snapshot.Time), plain})
			known++
		default:
			l = append(l, span{"  in " + formatDuration(in, m.theme.ascii) + m.arrow() + "waiting", plain})
			known++
		}
		s.addEntry("failed", i, l)
		s.addField("", cmp.Or(words.OneLine(f.Error), "no error is known"))
		i++
	}
	if q.Delayed <= known || q.NextDue.IsZero() {
		return
	}
	in := q.NextDue.Sub(m.snapshot.Time)
	text := fmt.Sprintf("%s, the next in %s", m.atMost(q.Delayed-known), formatDuration(max(in, time.Millisecond), m.theme.ascii))
	s.addEntry("delayed", 0, line{{text, plain}, {m.arrow() + "waiting", faint}})
}

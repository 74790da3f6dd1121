package learn

import (
	"strings"
	"time"
)

// slowWait is from when on a lesson says what it waits for.
const slowWait = time.Second

// sayIfSlow prints a line unless done, which reports whether it did, is called soon. Nothing else may be printed until done
// has returned.
func (r *runner) sayIfSlow(text string) (done func() (said bool)) {
	said := false
	stop, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		timer := time.NewTimer(slowWait)
		defer timer.Stop()
		select {
		case <-timer.C:
			r.printAside(text)
			said = true
		case <-stop:
		}
	}()
	return func() bool {
		close(stop)
		<-ended
		return said
	}
}

// printAside prints what is not part of the lesson's text.
func (r *runner) printAside(text string) {
	r.printf("%s", r.wrap("", "", r.faint(r.renderInline(text))))
}

// awaited says once in a period which check is waited for.
type awaited struct {
	*runner
	period time.Duration
	began  time.Time
	told   map[*Check]time.Time
}

func (r *runner) newAwaited(period time.Duration) *awaited {
	return &awaited{runner: r, period: period, began: time.Now(), told: map[*Check]time.Time{}}
}

// tellIfSlow says what is waited for if that lasts.
func (a *awaited) tellIfSlow(out []*unmetCheck) {
	if time.Since(a.began) >= slowWait {
		a.tell(out)
	}
}

func (a *awaited) tell(out []*unmetCheck) {
	m := out[0]
	last, again := a.told[m.check]
	if again && time.Since(last) < a.period {
		return
	}
	a.told[m.check] = time.Now()
	word := "Waiting"
	if again {
		word = "Still waiting"
	}
	if say := m.check.Say; say != "" {
		a.printAside(word + " for “" + strings.TrimRight(a.substituteNamespace(say), ".") + "” …")
		return
	}
	a.printAside(word + ": " + m.plain(a.substituteNamespace))
}

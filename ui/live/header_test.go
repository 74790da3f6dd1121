package live

import (
	"strings"
	"testing"
	"time"
)

// TestUptimeFits checks that the header does not cut the uptime.
func TestUptimeFits(t *testing.T) {
	for _, up := range []time.Duration{10*time.Minute + 54*time.Second, 23*time.Hour + 59*time.Minute, 99*24*time.Hour + 23*time.Hour} {
		source := &fixedSource{snapshot: burstSnapshot()}
		source.snapshot.Process.Started = source.snapshot.Time.Add(-up)
		m := newTestModel(t, Options{Source: source, NoColor: true}, 100, 30)
		if want := "up " + formatAge(up) + " "; !strings.Contains(m.View().Content, want) {
			t.Errorf("no %q in\n%s", want, strings.SplitAfterN(m.View().Content, "\n", 3)[0])
		}
	}
}

// TestSettledIsNotBusy has the header and the table agree when work is over.
func TestSettledIsNotBusy(t *testing.T) {
	source := &fixedSource{snapshot: idleSnapshot()}
	for i := range source.snapshot.Queues {
		switch q := &source.snapshot.Queues[i]; q.Name {
		case "deployment", "replicaset":
			q.AddRate, q.DoneRate = 2, 2
		case "job":
			q.Depth, q.Peak, q.Parked = 3, 3, true
		}
	}
	m := newTestModel(t, Options{Source: source, NoColor: true}, 100, 30)
	for _, want := range []string{"● settled", "0 of 23 busy, 2 a moment ago"} {
		if got := m.View().Content; !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
}

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

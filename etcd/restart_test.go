package etcd

import (
	"fmt"
	"testing"
)

// A log of more entries than etcd keeps in memory while it replays them must
// not trip the election that a start hastens.
func TestRestartWithALongLog(t *testing.T) {
	const entries, restarts = 450, 25
	dir := t.TempDir()
	last := fmt.Sprintf("key-%d", entries-1)
	for n := range restarts {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			s := start(t, Config{Dir: dir, NoSync: true})
			c := dialEmbedded(t, s)
			if n == 0 {
				for i := range entries {
					put(t, c, fmt.Sprintf("key-%d", i), "value")
				}
			}
			if got, _ := get(t, c, last); got != "value" {
				t.Fatalf("got %q", got)
			}
		})
	}
}

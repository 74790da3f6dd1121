package etcd

import "testing"

// While a write is reported to watches it cannot be read yet: the member is not caught up.
func TestCaughtUp(t *testing.T) {
	s := startServer(t, Config{Dir: t.TempDir(), NoSync: true})
	during := make(chan bool, 1)
	if err := s.ObserveWrites(func([]byte, int64, bool) { during <- s.CaughtUp() }); err != nil {
		t.Fatal(err)
	}
	c := dialEmbedded(t, s)
	putKey(t, c, "k", "v")
	if <-during {
		t.Error("caught up before the write was applied")
	}
	getKey(t, c, "k") // waits until all that is committed is applied
	if !s.CaughtUp() {
		t.Error("not caught up after the write was applied")
	}
}

package etcd

import (
	"fmt"
	"slices"
	"testing"
)

// The observer has been called when the writer gets its answer. It relies on how etcd
// calls the filters of watchers, which is not documented.
func TestObserveWrites(t *testing.T) {
	s := startServer(t, Config{Dir: t.TempDir(), NoSync: true})
	var got []string
	err := s.ObserveWrites(func(key []byte, revision int64, deleted bool) {
		got = append(got, fmt.Sprintf("%s %d %v", key, revision, deleted))
	})
	if err != nil {
		t.Fatal(err)
	}
	c := dialEmbedded(t, s)
	first := putKey(t, c, "a", "1")
	second := putKey(t, c, "b", "2")
	want := []string{fmt.Sprintf("a %d false", first), fmt.Sprintf("b %d false", second)}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	deleted, err := c.Delete(testContext(t), "a")
	if err != nil {
		t.Fatal(err)
	}
	if want = append(want, fmt.Sprintf("a %d true", deleted.Header.Revision)); !slices.Equal(got, want) {
		t.Errorf("after a deletion: got %q, want %q", got, want)
	}
}

package etcd

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// All changes below the prefix are read, in order, and no others.
func TestEachChange(t *testing.T) {
	forEachStore(t, func(t *testing.T, s *Server, c *clientv3.Client) {
		const marker = prefix + ".marker"
		putKey(t, c, prefix+"/a", "1")
		since, err := s.Revision(testContext(t), prefix)
		must(t, err)
		read := func(limit int) (got []string, err error) {
			err = s.EachChange(testContext(t), prefix, marker, since, func(c Change) bool {
				got = append(got, fmt.Sprintf("%s: %q → %q %v", c.Key, c.Before, c.Value, c.Value == nil))
				return len(got) != limit
			})
			return got, err
		}
		if got, err := read(0); err != nil || len(got) > 0 {
			t.Errorf("nothing has changed: got %v, %v", got, err)
		}
		putKey(t, c, prefix+"-other/x", "1")
		putKey(t, c, prefix+"/a", "2")
		putKey(t, c, prefix+"/b", "")
		_, err = c.Delete(testContext(t), prefix+"/a")
		must(t, err)
		putKey(t, c, "/other", "1")
		want := []string{`/a: "1" → "2" false`, `/b: "" → "" false`, `/a: "2" → "" true`}
		for range 2 { // the second time after the marker of the first
			got, err := read(0)
			must(t, err)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		}
		got, err := read(1)
		must(t, err)
		if diff := cmp.Diff(want[:1], got); diff != "" {
			t.Errorf("until f returns false (-want +got):\n%s", diff)
		}
		if value, err := s.Record(testContext(t), marker); err != nil || value != "" {
			t.Errorf("the marker was left behind: %q, %v", value, err)
		}
		now, err := s.Revision(testContext(t), prefix)
		must(t, err)
		if err := s.EachChange(testContext(t), prefix, marker, now+100, func(Change) bool { return true }); !errors.Is(err, ErrOlder) {
			t.Errorf("after a revision that does not exist yet: got %v, want %v", err, ErrOlder)
		}
		_, err = c.Compact(testContext(t), now)
		must(t, err)
		if got, err := read(0); !errors.Is(err, ErrCompacted) {
			t.Errorf("compacted: got %v, %v; want %v", got, err, ErrCompacted)
		}
	})
}

package replay

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/ctrlplane/ctrlplane/observe"
)

// TestPlayer plays from a position, and stays at the end.
func TestPlayer(t *testing.T) {
	path := write(t, NewHeader(start), record(1, 0), record(2, 2*time.Second), record(3, 4*time.Second), record(4, 60*time.Second))
	synctest.Test(t, func(t *testing.T) {
		r := openTest(t, path)
		p := r.Play(r.Seek(at(time.Second)))
		time.Sleep(time.Hour) // until the page is opened
		for _, want := range []int{1, 2, 3, 3} {
			page, err := p.Records(t.Context(), observe.Query{})
			if err != nil || len(page.Records) != want {
				t.Errorf("%d records, %v; want %d", len(page.Records), err, want)
			}
			time.Sleep(1500 * time.Millisecond)
		}
		time.Sleep(time.Hour)
		if page, err := p.Records(t.Context(), observe.Query{}); err != nil || len(page.Records) != 4 {
			t.Errorf("%d records at the end, %v", len(page.Records), err)
		}
		if s, err := p.Snapshot(t.Context()); err != nil || s.Controllers[0].State != "4" {
			t.Errorf("snapshot %+v, %v", s, err)
		}
	})
}

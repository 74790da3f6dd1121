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

// TestPlayerIsChanged pauses, changes the speed and goes elsewhere.
func TestPlayerIsChanged(t *testing.T) {
	path := write(t, NewHeader(start), record(1, 0), record(2, 100*time.Second))
	synctest.Test(t, func(t *testing.T) {
		r := openTest(t, path)
		p := r.Play(r.Begin())
		change := func(f func(now time.Time, shown Playback) (Playback, error)) {
			t.Helper()
			if err := p.Change(f); err != nil {
				t.Error(err)
			}
		}
		expect := func(want time.Duration) {
			t.Helper()
			if got := p.Playback().Position.At; !got.Equal(at(want)) {
				t.Errorf("at %s, want %s", got.Sub(start), want)
			}
		}
		expect(0)
		time.Sleep(2 * time.Second)
		change(func(now time.Time, shown Playback) (Playback, error) { return shown.WithSpeed("10", now) })
		time.Sleep(time.Second)
		expect(12 * time.Second)
		change(func(_ time.Time, shown Playback) (Playback, error) { shown.Playing = false; return shown, nil })
		time.Sleep(time.Hour)
		expect(12 * time.Second)
		change(func(_ time.Time, shown Playback) (Playback, error) { shown.Playing = true; return shown, nil })
		time.Sleep(time.Second)
		expect(22 * time.Second)
		change(func(_ time.Time, shown Playback) (Playback, error) { return shown.To(r.Seek(at(time.Minute))), nil })
		time.Sleep(time.Second)
		expect(time.Minute)
		if err := p.Change(func(now time.Time, shown Playback) (Playback, error) { return shown.WithSpeed("3", now) }); err == nil {
			t.Error("any speed is possible")
		}
	})
}

package observe

import (
	"testing"
	"testing/synctest"
	"time"
)

// After the clock was set back, what happened before is not awaited until the clock is there again.
func TestQuietAfterTheClockWasSetBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := New(Options{VersionsUnknown: true})
		defer o.Close()
		o.Recorder("c").markActive(time.Now().Add(time.Hour))
		if o.isQuiet(time.Now()) {
			t.Error("quiet right after something has happened")
		}
		time.Sleep(busyQuietTime + 1)
		if !o.isQuiet(time.Now()) {
			t.Error("not quiet")
		}
	})
}

// The durations from before are not recent then.
func TestRecentWindowAfterTheClockWasSetBack(t *testing.T) {
	var h histogram
	now := time.Unix(100000, 0)
	h.observe(time.Second, now)
	now = now.Add(-time.Hour)
	h.observe(time.Millisecond, now)
	if d := h.summarizeDurations(now); d.Recent.Count != 1 || d.Recent.Max != time.Millisecond || d.Total.Count != 2 {
		t.Errorf("%+v", d)
	}
}

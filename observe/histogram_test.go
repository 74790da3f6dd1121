package observe

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

func TestBucketsAreOrderedAndNarrow(t *testing.T) {
	for d := time.Duration(1); d < time.Hour; d += d/50 + 1 {
		i := bucketOf(d)
		if next := bucketOf(d + d/50 + 1); next < i {
			t.Fatalf("%v is in bucket %d, more in %d", d, i, next)
		}
		if i == 0 || i == buckets-1 {
			continue
		}
		if m := bucketMiddle(i); bucketOf(m) != i || float64(m) < 0.87*float64(d) || float64(m) > 1.13*float64(d) {
			t.Errorf("%v is in bucket %d, whose middle is %v of bucket %d", d, i, m, bucketOf(m))
		}
	}
	if bucketOf(-1) != 0 || bucketOf(0) != 0 || bucketOf(1<<62) != buckets-1 {
		t.Error("values out of range are not in the first or last bucket")
	}
}

func TestQuantilesAreAccurate(t *testing.T) {
	var h histogram
	now := time.Unix(1000, 0)
	var all []time.Duration
	random := rand.New(rand.NewPCG(1, 2))
	for range 10000 {
		d := time.Duration(random.ExpFloat64() * float64(5*time.Millisecond))
		all = append(all, d)
		h.observe(d, now)
	}
	slices.Sort(all)
	q := h.summarizeDurations(now).Recent
	for name, c := range map[string]struct{ got, want time.Duration }{
		"p50": {q.P50, all[5000]}, "p99": {q.P99, all[9900]}, "max": {q.Max, all[9999]},
	} {
		if float64(c.got) < 0.87*float64(c.want) || float64(c.got) > 1.13*float64(c.want) {
			t.Errorf("%s: got %v, want %v", name, c.got, c.want)
		}
	}
	if q.Count != 10000 {
		t.Errorf("count: %d", q.Count)
	}
}

func TestRecentWindowIsAMinute(t *testing.T) {
	start := time.Unix(1000, 0) // of a slot
	for at := time.Duration(0); at < windowSlot; at += time.Second {
		var h histogram
		h.observe(time.Second, start.Add(at))
		if d := h.summarizeDurations(start.Add(at + 59*time.Second)); d.Recent.Count != 1 {
			t.Errorf("%v after the start of its slot, a duration is missing 59 s later", at)
		}
	}
}

func TestRecentWindowExpires(t *testing.T) {
	var h histogram
	now := time.Unix(1000, 0)
	h.observe(time.Second, now)
	h.observe(time.Millisecond, now.Add(30*time.Second))
	if d := h.summarizeDurations(now.Add(40 * time.Second)); d.Recent.Count != 2 || d.Recent.Max != time.Second {
		t.Errorf("within a minute: %+v", d.Recent)
	}
	if d := h.summarizeDurations(now.Add(70 * time.Second)); d.Recent.Count != 1 || d.Recent.Max != time.Millisecond {
		t.Errorf("when the first is older: %+v", d.Recent)
	}
	h.observe(time.Microsecond, now.Add(time.Hour))
	if d := h.summarizeDurations(now.Add(time.Hour)); d.Recent.Count != 1 || d.Total.Count != 3 || d.Total.Max != time.Second {
		t.Errorf("after an hour: %+v", d)
	}
}

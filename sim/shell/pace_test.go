package shell

import (
	"testing"
	"time"
)

// busyLoops lets commands that never stop run on a machine of this test, one after the
// other, for some time. Each pause ends late. It returns the CPU time that they got and how
// often they paused.
func busyLoops(n, cores int, during time.Duration, contended bool, late time.Duration) (used time.Duration, pauses int) {
	const check = stepsPerCheck * time.Microsecond
	all := newBucket(float64(cores)/4, 0.5)
	own := make([]*bucket, n)
	due := make([]time.Time, n)
	start := time.Now()
	for i := range own {
		own[i], due[i] = newBucket(0.05, cpuBurst), start
	}
	for now := start; now.Sub(start) < during; now = now.Add(check) {
		for ran, i := 0, 0; i < n && ran < cores; i++ {
			if due[i].After(now) {
				continue
			}
			ran++
			used += check
			if d := (pacer{own[i], all}).charge(check, now, func() bool { return contended }); d > 0 {
				due[i] = now.Add(d + late)
				pauses++
			}
		}
	}
	return used, pauses
}

// TestPacer checks how much of the CPU busy loops get, and that they pause seldom: each
// pause costs a change of threads.
func TestPacer(t *testing.T) {
	const cores, during = 2, 20 * time.Second
	for name, c := range map[string]struct {
		loops      int
		contended  bool
		late, most time.Duration
	}{
		"one":                  {1, false, 0, 1300 * time.Millisecond}, // 200 ms and a twentieth
		"one, contended":       {1, true, 0, 320 * time.Millisecond},   // 200 ms and a two hundredth
		"one, contended, late": {1, true, 30 * time.Millisecond, 320 * time.Millisecond},
		"three":                {3, false, 0, 3700 * time.Millisecond},  // what each gets
		"a hundred":            {100, false, 0, 11 * time.Second},       // 500 ms and a quarter of 2 cores
		"a hundred, contended": {100, true, 0, 1700 * time.Millisecond}, // 500 ms and a fortieth
	} {
		used, pauses := busyLoops(c.loops, cores, during, c.contended, c.late)
		if used > c.most || used < c.most/2 {
			t.Errorf("%s: %v of the CPU in %v, want at most %v", name, used, during, c.most)
		}
		if most := c.loops * int(during/minPause); pauses > most {
			t.Errorf("%s: %d pauses, want at most %d", name, pauses, most)
		}
	}
}

// TestPacerYields checks that a command does not yield before it has used up what it gets
// at once: short ones end as soon as they can.
func TestPacerYields(t *testing.T) {
	p, now := pacer{newBucket(0.05, cpuBurst), newBucket(0.5, 0.5)}, time.Now()
	yields := 0
	yield := func() bool { yields++; return true }
	if d := p.charge(200*time.Millisecond, now, yield); d != 0 || yields != 0 {
		t.Errorf("a pause of %v and %d yields after 200 ms of CPU time", d, yields)
	}
	if d := p.charge(time.Millisecond, now, yield).Round(time.Millisecond); d != 200*time.Millisecond || yields != 1 {
		t.Errorf("a pause of %v and %d yields after 1 ms more", d, yields)
	}
}

// TestAreContended counts the command that asks as one that wants a processor.
func TestAreContended(t *testing.T) {
	for _, test := range []struct {
		wanted, processors uint64
		want               bool
	}{
		{0, 1, false}, {1, 1, false}, {2, 1, true},
		{1, 2, false}, {2, 2, true},
		{2, 4, false}, {3, 4, true},
		{2, 5, false}, {3, 5, true},
		{8, 16, false}, {9, 16, true},
	} {
		if got := areContended(test.wanted, test.processors); got != test.want {
			t.Errorf("%d of %d processors: %v", test.wanted, test.processors, got)
		}
	}
}

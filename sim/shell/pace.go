package shell

import (
	"runtime"
	"sync"
	"time"
)

// bucket is a token bucket: it hands out rate tokens per second, and burst at
// once.
type bucket struct {
	mu          sync.Mutex
	rate, burst float64
	tokens      float64
	last        time.Time
}

func newBucket(rate, burst float64) *bucket {
	return &bucket{rate: rate, burst: burst, tokens: burst}
}

// take takes n tokens and returns how long to wait until they are there.
func (b *bucket) take(n float64, now time.Time) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.last.IsZero() {
		b.tokens = min(b.burst, b.tokens+b.rate*now.Sub(b.last).Seconds())
	}
	b.last = now
	b.tokens -= n
	if b.tokens >= 0 {
		return 0
	}
	return time.Duration(-b.tokens / b.rate * float64(time.Second))
}

// cpuBurst is how much CPU time, in seconds, a command gets at once.
const cpuBurst = 0.2

// allCPU bounds the CPU time of all commands together, in seconds: a quarter of
// the cores.
var allCPU = sync.OnceValue(func() *bucket {
	return newBucket(float64(runtime.GOMAXPROCS(0))/4, 0.5)
})

// stepsPerCheck is how many steps a process makes between two looks at the
// clock.
const stepsPerCheck = 64

// maxStep bounds the CPU time that a step is charged: what takes longer was
// waiting for a processor, on a machine that is busy with something else.
const maxStep = 20 * time.Microsecond

// step counts work: about a microsecond each. It does not return if the process
// is to end.
func (p *proc) step(n int) {
	p.budget -= n
	if p.budget <= 0 {
		p.check()
	}
}

// check charges the CPU time since the last check, pauses the process if it
// used more than its share, and ends it if it is to end.
func (p *proc) check() {
	used := stepsPerCheck - p.budget
	p.budget = stepsPerCheck
	p.abortIfDone()
	if limit := p.m.lim.Steps; p.m.steps.Add(int64(used)) > limit && limit > 0 {
		p.m.kill()
	}
	now := time.Now()
	if !p.since.IsZero() {
		busy := min(now.Sub(p.since), time.Duration(used)*maxStep).Seconds()
		p.pause(max(p.m.cpu.take(busy, now), allCPU().take(busy, now)))
		now = time.Now()
	}
	p.since = now
	p.abortIfDone()
}

// pause waits, unless the process is to end.
func (p *proc) pause(d time.Duration) {
	if d <= 0 {
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-p.ctx.Done():
		p.abortIfDone()
	}
}

// idle runs what blocks: the time does not count as CPU time.
func (p *proc) idle(block func()) {
	p.check()
	block()
	p.since = time.Now()
	p.abortIfDone()
}

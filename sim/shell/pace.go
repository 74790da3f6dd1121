package shell

import (
	"runtime"
	"runtime/metrics"
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
		most := b.burst
		if b.tokens < 0 { // time beyond the planned pause is not credited
			most = 0
		}
		b.tokens = min(most, b.tokens+b.rate*now.Sub(b.last).Seconds())
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

// pacer hands out the CPU time of a command.
type pacer struct{ own, all *bucket }

// newPacer returns the pacer of a command that gets a share of one core. What may use all
// cores is not counted in what all commands together get.
func newPacer(share float64) pacer {
	p := pacer{newBucket(share, cpuBurst), allCPU()}
	if share >= float64(runtime.GOMAXPROCS(0)) {
		p.all = newBucket(share, cpuBurst)
	}
	return p
}

const (
	// minPause is the shortest pause: each is a timer and a change of threads, which cost
	// more than a few steps of a command.
	minPause = 20 * time.Millisecond
	// contendedCost multiplies the price of CPU time while more than half of the processors
	// are in use or wanted, beyond
	// what a command gets at once.
	contendedCost = 10
)

// charge takes CPU time that was used and returns how long to pause. contended is called
// if the command has used up what it gets at once.
func (p pacer) charge(used time.Duration, now time.Time, contended func() bool) time.Duration {
	wait := p.take(used, now)
	if wait > 0 && contended() {
		wait = p.take((contendedCost-1)*used, now)
	}
	if wait < minPause {
		return 0
	}
	return wait
}

func (p pacer) take(used time.Duration, now time.Time) time.Duration {
	return max(p.own.take(used.Seconds(), now), p.all.take(used.Seconds(), now))
}

// yield reports whether the processors are contended, and lets other goroutines run then.
func yield() bool {
	wanted := []metrics.Sample{{Name: "/sched/goroutines/running:goroutines"}, {Name: "/sched/goroutines/runnable:goroutines"}}
	metrics.Read(wanted)
	if !areContended(wanted[0].Value.Uint64()+wanted[1].Value.Uint64(), uint64(runtime.GOMAXPROCS(0))) {
		return false
	}
	runtime.Gosched()
	return true
}

// areContended reports whether goroutines, the caller included, use or want more than half of
// the processors. Only when they want more than all would be too late.
func areContended(wanted, processors uint64) bool {
	return wanted > max(1, processors/2)
}

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
		p.pause(p.m.cpu.charge(min(now.Sub(p.since), time.Duration(used)*maxStep), now, yield))
		now = time.Now()
	}
	p.since = now
	p.abortIfDone()
}

// pause waits, unless the process is to end.
func (p *proc) pause(d time.Duration) {
	if d > 0 {
		p.wait(d)
		p.abortIfDone()
	}
}

// sleep waits for the time that the command asks for.
func (p *proc) sleep(d time.Duration) {
	if d > 0 {
		p.noteWait()
	}
	p.idle(func() { p.wait(d) })
}

// noteWait tells the caller of Run that the command waits.
func (p *proc) noteWait() {
	m := p.m
	if m.cfg.OnWait == nil {
		return
	}
	if p.isJob {
		if m.jobWaits.Store(true); !m.awaitsJob.Load() {
			return
		}
	}
	m.waited.Do(m.cfg.OnWait)
}

// noteAwaitedJob notes that the command waits for a job, which may wait itself.
func (p *proc) noteAwaitedJob() {
	if p.isJob || p.m.cfg.OnWait == nil {
		return
	}
	if p.m.awaitsJob.Store(true); p.m.jobWaits.Load() {
		p.m.waited.Do(p.m.cfg.OnWait)
	}
}

// idle runs what blocks: the time does not count as CPU time.
func (p *proc) idle(block func()) {
	p.check()
	block()
	p.since = time.Now()
	p.abortIfDone()
}

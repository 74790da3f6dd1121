package memory

import (
	"errors"
	"io"
	"log/slog"
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ctrlplane/ctrlplane/internal/testutil/leaks"
)

func TestMain(m *testing.M) { os.Exit(leaks.Main(m)) }

func TestStartPercent(t *testing.T) {
	const mib = 1 << 20
	for _, tt := range []struct {
		name string
		base uint64
		want int
	}{
		{"an empty heap", 0, 6400}, // of the smallest heap, 4 MiB
		{"the smallest heap", 4 * mib, 6400},
		{"this program", 32 * mib, 800},
		{"a test binary with 200 MiB alive", 200 * mib, 128},
		{"more than the headroom", 1024 * mib, 100},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := startPercent(heap{base: tt.base})
			if got != tt.want {
				t.Errorf("got %d %%, want %d %%", got, tt.want)
			}
			if beyond := max(tt.base, minBase) * uint64(got) / 100; got > 100 && beyond > startHeadroom {
				t.Errorf("the next collection comes %d MiB beyond what is alive, want at most %d MiB", beyond/mib, startHeadroom/mib)
			}
		})
	}
}

func TestGovernedPercent(t *testing.T) {
	const mib = 1 << 20
	for _, tt := range []struct {
		live        uint64
		busy, quiet int
	}{
		{0, 0, 600}, // not beyond an int32
		{30 * mib, 300, 80},
		{60 * mib, 300, 40},
		{160 * mib, 200, 40},
		{320 * mib, 100, 40},
		{1000 * mib, 100, 40},
	} {
		if got := percentFor(heap{tt.live, tt.live}, busyHeadroomFor(tt.live)); got != tt.busy {
			t.Errorf("busy, %d MiB alive: got %d %%, want %d %%", tt.live/mib, got, tt.busy)
		}
		if got := percentFor(heap{tt.live, tt.live}, quietHeadroomFor(tt.live)); got != tt.quiet {
			t.Errorf("quiet, %d MiB alive: got %d %%, want %d %%", tt.live/mib, got, tt.quiet)
		}
	}
}

func TestHeadroomOfLongWork(t *testing.T) {
	const mib = 1 << 20
	for live, want := range map[uint64]uint64{20: 60, 100: 160, 200: 160, 320: 160, 400: 240, 1000: 840} {
		if got := longBusyHeadroomFor(live*mib) / mib; got != want {
			t.Errorf("%d MiB alive: got %d MiB, want %d MiB", live, got, want)
		}
	}
}

func TestHeapLimit(t *testing.T) {
	const mib = 1 << 20
	for _, tt := range []struct {
		memory, others uint64
		want           int64
	}{
		{100 * mib, 0, 50 * mib},
		{200 * mib, 0, 104 * mib},
		{240 * mib, 0, 144 * mib},
		{320 * mib, 0, 224 * mib},
		{2000 * mib, 0, 1800 * mib},
		{2000 * mib, 1500 * mib, 404 * mib},
		{2000 * mib, 1900 * mib, leastHeap},
		{512 * mib, 600 * mib, leastHeap},
		{math.MaxUint64, 0, math.MaxInt64 - math.MaxInt64/10},
	} {
		if got := heapLimit(tt.memory, tt.others); got != tt.want {
			t.Errorf("of %d bytes, of which others use %d: got %d, want %d", tt.memory, tt.others, got, tt.want)
		}
	}
}

// fakeCollector is a garbage collector that collects when a test says so.
type fakeCollector struct {
	mu       sync.Mutex
	percent  int
	heap     heap
	waiting  []func()
	released int
	extended []uint64
	limited  bool
	total    uint64 // allocated so far
}

func (c *fakeCollector) governor() *Governor {
	return newGovernor(collector{setPercent: c.setPercent, read: c.read, allocated: c.allocated, afterCollection: c.afterCollection, extend: c.extend, release: c.release, limit: c.limit})
}

func (c *fakeCollector) setPercent(percent int) (old int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	old, c.percent = c.percent, percent
	return old
}

func (c *fakeCollector) read() heap {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.heap
}

// roots is what the percentage refers to beside what is alive.
const roots = 10 << 20

func (c *fakeCollector) setLive(bytes uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.heap = heap{live: bytes, base: bytes + roots}
}

func (c *fakeCollector) allocated() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.total
}

func (c *fakeCollector) allocate(bytes uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.total += bytes
}

func (c *fakeCollector) afterCollection(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waiting = append(c.waiting, f)
}

func (c *fakeCollector) extend(bytes uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.extended = append(c.extended, bytes)
}

func (c *fakeCollector) release() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.released++
	return errors.New("not here")
}

func (c *fakeCollector) limit() (restore func()) {
	c.limited = true
	return func() { c.limited = false }
}

// collect makes a collection and returns the percentage that follows from it.
func (c *fakeCollector) collect() int {
	c.mu.Lock()
	waiting := c.waiting
	c.waiting = nil
	c.mu.Unlock()
	for _, f := range waiting {
		f()
	}
	synctest.Wait()
	return c.current()
}

func (c *fakeCollector) current() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.percent
}

func quietLog() *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) }

func TestGovernorFollowsLoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &fakeCollector{percent: 100, heap: heap{live: 30 << 20, base: 32 << 20}}
		g := c.governor()
		want := func(when string, got, want int) {
			t.Helper()
			if got != want {
				t.Errorf("%s: got %d %%, want %d %%", when, got, want)
			}
		}
		g.start()
		want("starting", c.current(), 800)
		if !c.limited {
			t.Error("the heap is not limited")
		}
		want("after the first collection of a start", c.collect(), longStartPercent)
		g.Started(quietLog())
		want("started", c.current(), longStartPercent)
		time.Sleep(time.Second)
		want("after a collection within a second", c.collect(), 281)
		if want := []uint64{(32 + 90) << 20}; !slices.Equal(c.extended, want) {
			t.Errorf("%d bytes are in huge pages, want %d: what is alive and the headroom", c.extended, want)
		}
		time.Sleep(quietAfter)
		synctest.Wait()
		want("after a quiet time", c.current(), 75)
		if c.released != 1 {
			t.Errorf("memory was released %d times, want once", c.released)
		}
		want("after the collection of the release", c.collect(), 75)
		g.Close()
		want("closed", c.current(), 100)
		if c.limited {
			t.Error("the heap is limited after Close")
		}
		want("after a collection that follows Close", c.collect(), 100)
		g.Close()
	})
}

// A collection right after the start would take time from the first requests.
func TestWhatAStartLeavesIsCollectedLater(t *testing.T) {
	for _, tt := range []struct {
		name           string
		collectedAfter time.Duration // 0 = not before the release
		percent        int
		released       int
	}{
		{"when it is quiet", 0, 600, 1},
		{"when there is more at once", busyWithin / 2, percentFor(heap{80 << 20, 90 << 20}, 240<<20), 0},
		{"when there is more", quietAfter - time.Millisecond, percentFor(heap{80 << 20, 90 << 20}, 80<<20), 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := &fakeCollector{percent: 100}
				g := c.governor()
				g.start()
				g.Started(quietLog())
				defer g.Close()
				if got := c.current(); got != 6400 {
					t.Errorf("after the start: got %d %%, want %d %%", got, 6400)
				}
				if tt.collectedAfter > 0 {
					time.Sleep(tt.collectedAfter)
					c.setLive(80 << 20)
					c.collect()
				} else {
					time.Sleep(quietAfter)
					synctest.Wait()
				}
				if got := c.current(); got != tt.percent || c.released != tt.released {
					t.Errorf("got %d %%, memory was released %d times, want %d %% and %d times", got, c.released, tt.percent, tt.released)
				}
			})
		})
	}
}

// On a slow machine the headroom for times of much work lasts for longer than what makes
// a time quiet. Releasing memory then would cost a collection every few seconds.
func TestGovernorStaysBusyBetweenRareCollections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &fakeCollector{percent: 100, heap: heap{live: 150 << 20, base: 160 << 20}}
		g := c.governor()
		g.start()
		g.Started(quietLog())
		defer g.Close()
		time.Sleep(time.Second)
		busy := c.collect()
		for range 10 {
			c.allocate(100 << 20) // in the time after which there is little to do
			time.Sleep(quietAfter)
			synctest.Wait()
			if got := c.current(); got != busy || c.released > 0 {
				t.Fatalf("got %d %%, memory was released %d times, want %d %% and no release while much is allocated", got, c.released, busy)
			}
		}
		c.allocate(50 << 20) // the next collection would come after more than busyWithin
		time.Sleep(quietAfter)
		synctest.Wait()
		if got := c.current(); got >= busy || c.released != 1 {
			t.Errorf("got %d %%, memory was released %d times, want less than %d %% and one release", got, c.released, busy)
		}
	})
}

// The percentage refers to what is alive, which changes from one collection to the next.
func TestGovernorFollowsWhatIsAlive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &fakeCollector{percent: 100, heap: heap{live: 100 << 20, base: 110 << 20}}
		g := c.governor()
		g.start()
		g.Started(quietLog())
		defer g.Close()
		time.Sleep(time.Second)
		c.collect()
		for _, live := range []uint64{100 << 20, 250 << 20, 150 << 20, 400 << 20} {
			c.allocate(300 << 20)
			time.Sleep(busyWithin + quietAfter/6) // rarely, but not because little is allocated
			c.setLive(live)
			if got, want := c.collect(), percentFor(heap{live, live + roots}, busyHeadroomFor(live)); got != want {
				t.Errorf("%d MiB alive: got %d %%, want %d %%", live>>20, got, want)
			}
		}
	})
}

// Work that goes on for long gets less memory, until there was a quiet time.
func TestGovernorSavesMemoryInLongWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := heap{live: 120 << 20, base: 130 << 20}
		c := &fakeCollector{percent: 100, heap: h}
		g := c.governor()
		g.start()
		g.Started(quietLog())
		defer g.Close()
		burst := func(d time.Duration, want uint64) {
			t.Helper()
			got := 0
			for began := time.Now(); time.Since(began) <= d; {
				time.Sleep(time.Second)
				got = c.collect()
			}
			if want := percentFor(h, want); got != want {
				t.Errorf("after %v: got %d %%, want %d %%", d, got, want)
			}
		}
		burst(longBusy-time.Second, busyHeadroom)
		burst(10*time.Second, longBusyHeadroom)
		time.Sleep(quietAfter)
		synctest.Wait()
		burst(longBusy/2, busyHeadroom)
	})
}

func TestGovernorLeavesPercentOfOthers(t *testing.T) {
	for _, when := range []string{"starting", "started"} {
		t.Run(when, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := &fakeCollector{percent: 100}
				g := c.governor()
				g.start()
				if when == "started" {
					g.Started(quietLog())
					synctest.Wait()
				}
				c.setPercent(50)
				c.collect()
				g.Started(quietLog())
				time.Sleep(2 * quietAfter)
				g.Close()
				if got := c.current(); got != 50 {
					t.Errorf("got %d %%, want the 50 %% that was set meanwhile", got)
				}
			})
		})
	}
}

func percentNow() int {
	sample := []metrics.Sample{{Name: "/gc/gogc:percent"}}
	metrics.Read(sample)
	return int(sample[0].Value.Uint64())
}

func TestStartRespectsUser(t *testing.T) {
	t.Run("GOGC", func(t *testing.T) {
		t.Setenv("GOGC", "100")
		wantUntouched(t, false)
	})
	t.Run("SetGCPercent", func(t *testing.T) {
		defer debug.SetGCPercent(debug.SetGCPercent(200))
		wantUntouched(t, false)
	})
	t.Run("SetMemoryLimit", func(t *testing.T) {
		defer debug.SetMemoryLimit(math.MaxInt64)
		debug.SetMemoryLimit(4 << 30)
		wantUntouched(t, false)
	})
	t.Run("keep", func(t *testing.T) { wantUntouched(t, true) })
}

func wantUntouched(t *testing.T, keep bool) {
	t.Helper()
	before := percentNow()
	g := Start(keep)
	if got := percentNow(); got != before {
		t.Errorf("starting: got %d %%, want %d %%", got, before)
	}
	g.Started(quietLog())
	g.Close()
	if got := percentNow(); got != before {
		t.Errorf("closed: got %d %%, want %d %%", got, before)
	}
}

// TestStartBoundsNextCollection starts with 200 MiB alive.
func TestStartBoundsNextCollection(t *testing.T) {
	t.Setenv("GOGC", "")
	alive := make([]byte, 200<<20)
	runtime.GC()
	g := Start(false)
	defer g.Close()
	sample := []metrics.Sample{{Name: "/gc/heap/goal:bytes"}}
	metrics.Read(sample)
	if goal := sample[0].Value.Uint64(); goal < 400<<20 || goal > 500<<20 {
		t.Errorf("the next collection comes at %d MiB, want 456 MiB", goal>>20)
	}
	g.Close()
	if got := percentNow(); got != 100 {
		t.Errorf("closed: got %d %%, want 100 %%", got)
	}
	runtime.KeepAlive(alive)
}

func TestReadMetrics(t *testing.T) {
	if !metricsSupported() {
		t.Errorf("this version of Go lacks one of %q: the Governor does nothing", heapMetrics)
	}
	if values, ok := readMetrics("/gc/gogc:percent", "/no/such:metric"); ok || values[0] == 0 || values[1] != 0 {
		t.Errorf("got %v, %v for a metric that exists and one that does not", values, ok)
	}
}

func TestRealCollector(t *testing.T) {
	t.Setenv("GOGC", "")
	collected := make(chan struct{})
	afterCollection(func() { close(collected) })
	runtime.GC()
	<-collected
	if h := readHeap(); h.live == 0 || h.base <= h.live {
		t.Errorf("heap %+v, want bytes alive, and stacks and globals beside them", h)
	}
	if err := release(); err != nil {
		t.Error(err)
	}
}

// The leases of many nodes allocate much and keep nothing: collecting that every few seconds
// would be a third of what idle nodes cost.
func TestGovernorFollowsSteadyWork(t *testing.T) {
	const mib = 1 << 20
	for _, tt := range []struct {
		name            string
		live, perSecond uint64
		want            int
	}{
		{"little", 60 * mib, mib / 4, 40},
		{"some", 60 * mib, 2 * mib, 66},
		{"much", 120 * mib, 8 * mib, 80},
		{"much, and much alive", 600 * mib, 8 * mib, 40},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := &fakeCollector{percent: 100, heap: heap{live: tt.live, base: tt.live}}
				g := c.governor()
				g.start()
				g.Started(quietLog())
				defer g.Close()
				work := func(d time.Duration) {
					time.Sleep(d)
					c.allocate(tt.perSecond * uint64(d/time.Second))
					synctest.Wait()
				}
				work(2 * quietAfter)
				if got := c.collect(); got != 40 {
					t.Errorf("after the collection of the release: %d %%", got)
				}
				for range 3 {
					work(6 * time.Second)
					if got := c.collect(); got != tt.want {
						t.Errorf("got %d %%, want %d %%", got, tt.want)
					}
				}
				work(time.Second)
				if got, want := c.collect(), percentFor(heap{tt.live, tt.live}, busyHeadroomFor(tt.live)); got != want {
					t.Errorf("busy: got %d %%, want %d %%", got, want)
				}
			})
		})
	}
}

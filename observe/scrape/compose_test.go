package scrape

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ctrlplane/ctrlplane/observe"
)

var deployment = key{name: "deployment"}

// scrapeAt is a scrape at a second, of a queue with depth waiting keys and done
// finished ones that took 20 ms each.
func scrapeAt(second, depth, done float64) *scrape {
	h := histogram{bounds: []float64{0.01, 0.1}, below: []float64{0, done}, count: done, sum: done * 0.02}
	return &scrape{
		time:    newClock().Add(toDuration(second)),
		cpu:     second / 2,
		started: 1.78e9,
		queues:  map[key]*queue{deployment: {depth: depth, adds: depth + done, wait: h, work: h, exposed: exposed{known: depthNumber | addsNumber | waitNumber | workNumber}}},
	}
}

func keepAll(scrapes ...*scrape) []*scrape {
	var kept []*scrape
	for _, s := range scrapes {
		kept = keepRecent(kept, s)
	}
	return kept
}

func TestRatesCoverFiveSeconds(t *testing.T) {
	got := composeSnapshot(keepAll(scrapeAt(0, 0, 0), scrapeAt(1, 0, 100), scrapeAt(7, 0, 160), scrapeAt(8, 10, 190), scrapeAt(13, 0, 310)))
	q := got.Queues[0]
	if q.AddRate != 22 || q.DoneRate != 24 {
		t.Errorf("rates %v and %v, want those of the last 5 s: 22 and 24", q.AddRate, q.DoneRate)
	}
	if got.Process.CPUPercent != 50 {
		t.Errorf("CPU is %v %%, want 50", got.Process.CPUPercent)
	}
	if q.Work.Total.Count != 310 || q.Work.Recent.Count != 310 {
		t.Errorf("work is %+v, want all 310 recent", q.Work)
	}
}

func TestRecentCoversOneMinute(t *testing.T) {
	var kept []*scrape
	for second := range 200 {
		kept = keepRecent(kept, scrapeAt(float64(second), 0, float64(10*second)))
	}
	if len(kept) != 61 {
		t.Errorf("%d scrapes are kept, want those of a minute and one", len(kept))
	}
	q := composeSnapshot(kept).Queues[0]
	if q.Work.Recent.Count != 600 || q.Work.Total.Count != 1990 {
		t.Errorf("work is %+v, want the last 600 of 1990 recent", q.Work)
	}
	if len(q.History) != 60 {
		t.Errorf("%d samples, want 60", len(q.History))
	}
}

func TestRatesWithRareScrapes(t *testing.T) {
	q := composeSnapshot(keepAll(scrapeAt(0, 0, 0), scrapeAt(300, 0, 300), scrapeAt(600, 0, 900))).Queues[0]
	if q.DoneRate != 2 || q.Work.Recent.Count != 600 {
		t.Errorf("%v per second, %d recent, want those since the previous scrape", q.DoneRate, q.Work.Recent.Count)
	}
}

func TestNewQueueStartsAtZero(t *testing.T) {
	first := scrapeAt(0, 0, 0)
	delete(first.queues, deployment)
	q := composeSnapshot(keepAll(first, scrapeAt(5, 1, 50))).Queues[0]
	if q.DoneRate != 10 || q.Wait.Recent.Count != 50 {
		t.Errorf("%v per second, %d recent, want it to start at zero", q.DoneRate, q.Wait.Recent.Count)
	}
}

func TestRestartResetsHistory(t *testing.T) {
	later := func(change func(*scrape)) *scrape {
		s := scrapeAt(10, 0, 500)
		change(s)
		return s
	}
	for name, restarted := range map[string]*scrape{
		"counter":    scrapeAt(10, 0, 5),
		"start":      later(func(s *scrape) { s.started += 60 }),
		"start gone": later(func(s *scrape) { s.started = 0 }),
		"CPU":        later(func(s *scrape) { s.cpu = 0.1 }),
	} {
		t.Run(name, func(t *testing.T) {
			got := composeSnapshot(keepAll(scrapeAt(0, 0, 100), scrapeAt(5, 0, 200), restarted))
			q := got.Queues[0]
			if q.AddRate != -1 || q.DoneRate != -1 || q.Work.Recent.Count != 0 || q.History != nil || got.Process.CPUPercent != 0 {
				t.Errorf("%+v, want unknown rates and no history", q)
			}
			if q.Done != int64(restarted.queues[deployment].work.count) {
				t.Errorf("%d done, want the count of the new process", q.Done)
			}
		})
	}
	moved := later(func(s *scrape) { s.started++ })
	if got := keepAll(scrapeAt(0, 0, 100), moved); len(got) != 2 {
		t.Error("an adjusted clock counts as a restart")
	}
}

// What the process does not expose is unknown, not 0.
func TestUnknownNumbers(t *testing.T) {
	bare := func(second float64) *scrape {
		s := scrapeAt(second, 3, 0)
		s.queues[deployment] = &queue{depth: 3, exposed: exposed{known: depthNumber}}
		return s
	}
	q := composeSnapshot(keepAll(bare(0), bare(5))).Queues[0]
	want := observe.Queue{Name: "deployment", Depth: 3, InFlight: -1, Adds: -1, Gets: -1, Done: -1, Retries: -1, ErrorRetries: -1, MaxDepth: 3, Delayed: -1, AddRate: -1, DoneRate: -1, History: q.History}
	if diff := cmp.Diff(want, q); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if q := composeSnapshot(keepAll(scrapeAt(0, 3, 2))).Queues[0]; q.Adds != 5 || q.Retries != -1 || q.AddRate != -1 {
		t.Errorf("after one scrape: %+v", q)
	}
}

// parsedSnapshot is the snapshot of a process with these metrics.
func parsedSnapshot(t *testing.T, text string) observe.Snapshot {
	t.Helper()
	families, err := parseMetrics([]byte(text), "text/plain")
	if err != nil {
		t.Fatal(err)
	}
	latest := readScrape(families)
	latest.time = newClock().Time
	return composeSnapshot([]*scrape{latest})
}

// A value that a number cannot have leaves the number unknown, and the process with it.
func TestInvalidNumbers(t *testing.T) {
	const valid = `# TYPE workqueue_depth gauge
workqueue_depth{name="a"} 0
# TYPE workqueue_queue_duration_seconds histogram
workqueue_queue_duration_seconds_count{name="a"} 4
# TYPE workqueue_work_duration_seconds histogram
workqueue_work_duration_seconds_count{name="a"} 4
`
	if p := parsedSnapshot(t, valid).Process; !p.Settled {
		t.Errorf("valid numbers: %+v", p)
	}
	for _, value := range []string{"NaN", "+Inf", "-Inf", "-1"} {
		for old, invalid := range map[string]string{
			`workqueue_depth{name="a"} 0`:                       `workqueue_depth{name="a"} 0` + "\n" + `workqueue_depth{name="a",priority="1"} ` + value, // a part of the depth
			`workqueue_work_duration_seconds_count{name="a"} 4`: `workqueue_work_duration_seconds_count{name="a"} ` + value,
		} {
			if strings.Contains(invalid, "count") && value[0] == '-' {
				continue // upstream's parser refuses it
			}
			s := parsedSnapshot(t, strings.Replace(valid, old, invalid, 1))
			if q := s.Queues[0]; !q.HasUnknownKeys() || s.Process.Settled || s.Process.Busy != nil {
				t.Errorf("%s: %+v, %+v", invalid, q, s.Process)
			}
		}
	}
	if p := parsedSnapshot(t, strings.Replace(valid, "workqueue_depth gauge", "workqueue_depth summary", 1)).Process; p.Settled {
		t.Errorf("another type: %+v", p)
	}
	active := parsedSnapshot(t, valid+`workqueue_depth{name="b",controller="b"} 0
controller_runtime_max_concurrent_reconciles{controller="b"} 1
controller_runtime_active_workers{controller="b"} NaN
controller_runtime_reconcile_total{controller="b",result="success"} NaN
`)
	if q, c := active.Queues[1], active.Controllers[0]; q.InFlight != -1 || c.Syncs != -1 || active.Process.Settled {
		t.Errorf("active workers: %+v, %+v, %+v", q, c, active.Process)
	}
	for i := range 2 { // the earlier scrape, and the latest
		scrapes := []*scrape{scrapeAt(0, 0, 0), scrapeAt(5, 0, 10)}
		scrapes[i].queues[deployment].invalid = addsNumber | workNumber
		if q := composeSnapshot(scrapes).Queues[0]; q.AddRate != -1 || q.DoneRate != -1 {
			t.Errorf("rates from an invalid number: %+v", q)
		}
	}
}

// controller-runtime exposes a depth for each priority: each from its first key on, and with too many of them some
// that are negative.
func TestDepthOfPriorities(t *testing.T) {
	const durations = `# TYPE workqueue_queue_duration_seconds histogram
workqueue_queue_duration_seconds_count{name="a"} 0
# TYPE workqueue_work_duration_seconds histogram
workqueue_work_duration_seconds_count{name="a"} 0
`
	for name, test := range map[string]struct {
		metrics string
		depth   int64
	}{
		"no key yet":              {`workqueue_adds_total{name="a"} 0`, 0},
		"no depth":                {`workqueue_adds_total{name="a"} 1`, -1},
		"adds that are invalid":   {`workqueue_adds_total{name="a"} NaN`, -1},
		"a negative part":         {"workqueue_depth{name=\"a\",priority=\"0\"} 2\nworkqueue_depth{name=\"a\",priority=\"exceeded_cardinality_limit\"} -2", 0},
		"the negative part first": {"workqueue_depth{name=\"a\",priority=\"exceeded_cardinality_limit\"} -2\nworkqueue_depth{name=\"a\",priority=\"0\"} 5", 3},
		"a negative sum":          {"workqueue_adds_total{name=\"a\"} 0\nworkqueue_depth{name=\"a\",priority=\"0\"} 1\nworkqueue_depth{name=\"a\",priority=\"exceeded_cardinality_limit\"} -2", -1},
		"a part that is invalid":  {"workqueue_depth{name=\"a\",priority=\"0\"} 1\nworkqueue_depth{name=\"a\",priority=\"5\"} NaN", -1},
	} {
		s := parsedSnapshot(t, durations+test.metrics+"\n")
		if q := s.Queues[0]; q.Depth != test.depth || s.Process.Settled != (test.depth == 0) {
			t.Errorf("%s: depth %d, settled %v, want depth %d", name, q.Depth, s.Process.Settled, test.depth)
		}
	}
}

// Names come from outside: long ones are cut.
func TestLongNames(t *testing.T) {
	long := strings.Repeat("x", maxName-1) + "ü" + strings.Repeat("y", 1<<20)
	s := parsedSnapshot(t, "workqueue_depth{name=\""+long+"\",controller=\""+long+"\"} 1\ncontroller_runtime_active_workers{controller=\""+long+"\"} 1\n")
	want := strings.Repeat("x", maxName-1)
	if q, c := s.Queues[0], s.Controllers[0]; q.Name != want || q.Controller != want || c.Name != want {
		t.Errorf("names of %d, %d and %d bytes", len(q.Name), len(q.Controller), len(c.Name))
	}
}

func TestRemovedQueueIsNeverNegative(t *testing.T) {
	without := scrapeAt(1, 0, 0)
	without.queues = map[key]*queue{{name: "job"}: {}}
	q := composeSnapshot(keepAll(scrapeAt(0, 5, 100), without, scrapeAt(5, 0, 10))).Queues[0]
	if q.DoneRate < 0 || q.Work.Recent.Count < 0 {
		t.Errorf("%+v, want nothing negative", q)
	}
	for _, s := range q.History {
		if s.Adds < 0 || s.Done < 0 {
			t.Errorf("%+v, want nothing negative", q.History)
		}
	}
}

func TestHistory(t *testing.T) {
	for _, tt := range []struct {
		name    string
		scrapes []*scrape
		want    []observe.Sample
	}{
		{"one", keepAll(scrapeAt(0, 1, 2)), nil},
		{"no whole second", keepAll(scrapeAt(0.2, 1, 2), scrapeAt(0.9, 1, 3)), nil},
		{"on the second", keepAll(scrapeAt(0, 3, 0), scrapeAt(1, 1, 4), scrapeAt(2, 0, 6)),
			[]observe.Sample{{MaxDepth: 3, Adds: 2, Done: 4}, {MaxDepth: 1, Adds: 1, Done: 2}}},
		{"between", keepAll(scrapeAt(0.5, 0, 0), scrapeAt(1.5, 0, 10), scrapeAt(2.5, 0, 30)),
			[]observe.Sample{{Adds: 15, Done: 15}}},
		{"peak within", keepAll(scrapeAt(0, 0, 0), scrapeAt(0.5, 80, 0), scrapeAt(1, 0, 80), scrapeAt(2, 0, 80)),
			[]observe.Sample{{MaxDepth: 80, Adds: 80, Done: 80}, {}}},
		{"a gap", keepAll(scrapeAt(0, 0, 0), scrapeAt(3, 0, 30), scrapeAt(4, 0, 30)),
			[]observe.Sample{{Adds: 10, Done: 10}, {Adds: 10, Done: 10}, {Adds: 10, Done: 10}, {}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, queueHistory(tt.scrapes, deployment)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestSettled(t *testing.T) {
	working := scrapeAt(0, 0, 3)
	working.queues[deployment].wait.count = 4
	for _, tt := range []struct {
		name   string
		scrape *scrape
		want   []string
	}{
		{"idle", scrapeAt(0, 0, 3), nil},
		{"deep", scrapeAt(0, 2, 3), []string{"deployment"}},
		{"in flight", working, []string{"deployment"}},
	} {
		got := composeSnapshot(keepAll(tt.scrape)).Process
		if !cmp.Equal(got.Busy, tt.want) || got.Settled != (tt.want == nil) {
			t.Errorf("%s: settled %v, busy %q, want %q", tt.name, got.Settled, got.Busy, tt.want)
		}
	}
}

func TestScrapeBefore(t *testing.T) {
	scrapes := keepAll(scrapeAt(0, 0, 0), scrapeAt(4, 0, 0), scrapeAt(5, 0, 0), scrapeAt(10, 0, 0))
	for window, want := range map[time.Duration]*scrape{time.Second: scrapes[2], rateWindow: scrapes[2], recentWindow: scrapes[0]} {
		if got := scrapeBefore(scrapes, window); got != want {
			t.Errorf("%s: %s, want %s", window, got.time, want.time)
		}
	}
}

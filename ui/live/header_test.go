package live

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ctrlplane/ctrlplane/observe"
)

// TestUptimeFits checks that the header does not cut the uptime.
func TestUptimeFits(t *testing.T) {
	for _, up := range []time.Duration{10*time.Minute + 54*time.Second, 23*time.Hour + 59*time.Minute, 99*24*time.Hour + 23*time.Hour} {
		source := &fixedSource{snapshot: burstSnapshot()}
		source.snapshot.Process.Started = source.snapshot.Time.Add(-up)
		m := newPlainModel(t, Options{Source: source}, 100, 30)
		if want := "up " + formatAge(up) + " "; !strings.Contains(m.View().Content, want) {
			t.Errorf("no %q in\n%s", want, strings.SplitAfterN(m.View().Content, "\n", 3)[0])
		}
	}
}

// TestHeaderSaysThatKeysFail: a settled control plane is not healthy while keys fail.
func TestHeaderSaysThatKeysFail(t *testing.T) {
	const quota = `pods "broken-" is forbidden: exceeded quota: small`
	source := &fixedSource{}
	for _, c := range []struct {
		settled bool
		failing []observe.FailingKey
		more    int
		want    string
	}{
		{true, nil, 0, "● settled"},
		{true, failingKeys(1, quota), 0, "! settled, 1 key fails"},
		{true, failingKeys(3, quota), 0, "! settled, 3 keys fail"},
		{true, failingKeys(10, quota), 0, "! settled, 10 keys fail"},
		{true, failingKeys(10, quota), 1, "! settled, 10+ keys fail"},
		{true, failingKeys(3, conflictError), 0, "● settled"},
		{false, failingKeys(3, quota), 0, "! busy, 3 keys fail"},
		{false, []observe.FailingKey{{Queue: "job", Key: "default/new", Error: quota, Times: 1}}, 0, "◐ busy"},
	} {
		source.snapshot = idleSnapshot()
		source.snapshot.Process.Settled = c.settled
		for i := range source.snapshot.Controllers {
			if jobs := &source.snapshot.Controllers[i]; jobs.Name == "job-controller" {
				jobs.Failing, jobs.MoreFailing = c.failing, c.more
			}
		}
		m := newPlainModel(t, Options{Source: source}, 80, 24)
		if got := m.drawScreen()[0]; !strings.HasSuffix(got, " "+c.want) {
			t.Errorf("settled %t, %d keys fail: the header is %q, want %q", c.settled, len(c.failing), got, c.want)
		}
	}
}

// TestHeaderNamesTheLeader has a control plane on standby not look settled or busy.
func TestHeaderNamesTheLeader(t *testing.T) {
	source := &fixedSource{snapshot: idleSnapshot()}
	p := &source.snapshot.Process
	p.Settled, p.Leader, p.LeaseHolder = false, observe.LeaderOther, "host_grow_1"
	m := newPlainModel(t, Options{Source: source}, 100, 24)
	if got := m.drawScreen()[0]; !strings.HasSuffix(got, " ○ standby") {
		t.Errorf("the header is %q", got)
	}
	if got := m.View().Content; !strings.Contains(got, "leader: host_grow_1") {
		t.Errorf("no leader in\n%s", got)
	}
}

// TestHeaderOfUnknownQueues has a process whose metrics do not say whether keys are left not look settled or busy.
func TestHeaderOfUnknownQueues(t *testing.T) {
	source := &fixedSource{snapshot: observe.Snapshot{Queues: []observe.Queue{{Name: "widget", Depth: -1, MaxDepth: -1}}}}
	m := newPlainModel(t, Options{Source: source}, 100, 24)
	if got := m.drawScreen()[0]; !strings.HasSuffix(got, " ○ unknown") {
		t.Errorf("the header is %q", got)
	}
}

// TestSettledIsNotBusy has the header and the table agree when work is over.
func TestSettledIsNotBusy(t *testing.T) {
	source := &fixedSource{snapshot: idleSnapshot()}
	for i := range source.snapshot.Queues {
		switch q := &source.snapshot.Queues[i]; q.Name {
		case "deployment", "replicaset":
			q.AddRate, q.DoneRate = 2, 2
		case "garbage_collector_graph_changes": // a single key of a controller that always has some
			q.AddRate, q.DoneRate = 0.2, 0.2
		case "job":
			q.Depth, q.MaxDepth, q.Parked = 3, 3, true
		}
	}
	m := newPlainModel(t, Options{Source: source}, 100, 30)
	for _, want := range []string{"● settled", "0 of 23 active, 3 a moment ago"} {
		if got := m.View().Content; !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	narrow := newPlainModel(t, Options{Source: source}, 60, 20)
	narrow.totals.internal = 47
	if got := narrow.tableState(48, 43); got != "0 of 23 active, 48 above, I shows 47 more" {
		t.Errorf("in 60 columns: %q", got)
	}
	if got := narrow.tableState(48, 40); got != "0 of 23 active, I shows 47 more" {
		t.Errorf("in less: %q", got)
	}
}

// TestHeaderItemsKeepTheirPlaces changes what changes from second to second: no item of the header
// comes, goes or moves because of that.
func TestHeaderItemsKeepTheirPlaces(t *testing.T) {
	states := map[string]func(*observe.Process){
		"settled": func(p *observe.Process) { p.Settled, p.Busy, p.CPUPercent, p.RequestRate = true, nil, 0, 0 },
		"one":     func(p *observe.Process) { p.Busy = []string{"job-controller"} },
		"many":    func(p *observe.Process) { p.Busy = controllerNames },
		"long":    func(p *observe.Process) { p.Busy = controllerNames[4:5] },
		"active":  func(p *observe.Process) { p.Busy, p.LastActive = nil, controllerNames[4] },
	}
	for _, speed := range []observe.Speed{observe.SpeedFull, observe.SpeedTenth} {
		for _, width := range []int{80, 100, 120, 160, 250} {
			for _, height := range []int{15, 30} {
				seen := map[string]string{}
				for name, change := range states {
					source := &fixedSource{snapshot: burstSnapshot()}
					p := &source.snapshot.Process
					p.Speed, p.CPU = speed, time.Second
					change(p)
					if name == "settled" {
						source.snapshot.Controllers = idleSnapshot().Controllers // no key waits
					}
					m := newPlainModel(t, Options{Source: source}, width, height)
					seen[name] = itemPlaces(m)
				}
				for name, places := range seen {
					if want := seen["settled"]; places != want {
						t.Errorf("%dx%d, speed %s: with %s busy the items are at %s, settled at %s", width, height, speed, name, places, want)
					}
				}
			}
		}
	}
}

// TestBusyNamesAreCut has names of any length fit into the room for who is busy, also before the number of others.
func TestBusyNamesAreCut(t *testing.T) {
	long := strings.Repeat("x", 200)
	for _, busy := range [][]string{{long}, {long, "a"}, {"a", long}, {long, long, long}, {"a", "b"}} {
		for _, width := range []int{15, 40, 80, 250} {
			m := newPlainModel(t, Options{Source: &fixedSource{}}, width, 24)
			if l := m.busyLine(observe.Process{Busy: busy}, width); l.width() > busyWidth(width) {
				t.Errorf("%d columns, %d busy: %q takes more than %d", width, len(busy), l.plainText(), busyWidth(width))
			}
		}
	}
}

// itemPlaces says at which columns the items of the header begin.
func itemPlaces(m model) string {
	var places []string
	for i, l := range m.drawScreen()[:2] {
		for _, item := range []string{"v0.3.0", "Kubernetes", "https://", " up ", "speed", "API", "memory", "CPU", "etcd", "revision"} {
			if at := strings.Index(l, item); at >= 0 {
				places = append(places, fmt.Sprintf("%s %d:%d", strings.TrimSpace(item), i, textWidth(l[:at])))
			}
		}
	}
	return strings.Join(places, " ")
}

package instrument

import (
	"crypto/rand"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"
)

const (
	// maxRecords is the number of records that are kept until they are sent.
	maxRecords = 8192
	// maxControllers is the number of controllers, by name, that are reported.
	maxControllers = 64
	// maxName is the longest name of a controller, in bytes, that the control plane takes.
	maxName = 128
)

// The states of a reporter.
const (
	asking int32 = iota // whether the server is ctrlplane is not known yet: records are kept
	on
	off
)

// reporter sends what it is given to the control plane.
type reporter struct {
	url     string
	caller  *rest.Config // who sends the requests of the manager, as far as the configuration says
	client  *http.Client
	log     logr.Logger
	session string

	flushTimeout time.Duration // how long a panic waits until the sync that it ends was reported
	closeTimeout time.Duration // how long the last report may take

	goroutines goroutines
	numbers    numbers
	state      atomic.Int32
	phase      atomic.Int32  // of the manager
	started    atomic.Bool   // reports are sent
	wake       chan struct{} // receives when there is a record
	unanswered atomic.Bool   // the last report was, or the server did not know the operator yet
	back       chan struct{} // receives when the server answers the operator after that

	mu          sync.Mutex
	controllers []*controller
	unlogged    []func() // errors that are logged once the server is known to be ctrlplane
	records     []*entry
	appended    uint64 // records so far
	dropped     uint64
	flushed     chan struct{} // to be closed once the first flushUpTo records were sent; nil if none waits for that
	flushUpTo   uint64
	away        bool // the control plane does not take reports

	// Of the goroutine that sends.
	known      bool    // the server has said that it is ctrlplane
	number     uint64  // of the last report
	unsent     *report // that was not answered
	unsentUpTo uint64  // the number of its last record
	refused    bool    // the last report was
}

// entry is a record that was not sent. Of the end of a sync, what the rate limiter has
// chosen is read when it is sent: it may choose later.
type entry struct {
	record
	keys *keys
	next *pendingKey
}

func newReporter(cfg *rest.Config, client *http.Client, log logr.Logger) (*reporter, error) {
	base, _, err := rest.DefaultServerUrlFor(cfg)
	if err != nil {
		return nil, fmt.Errorf("address of the API server: %w", err)
	}
	return &reporter{
		url: base.JoinPath(reportPath).String(), caller: callerOf(cfg), client: client, log: log, session: rand.Text(), wake: make(chan struct{}, 1), back: make(chan struct{}, 1),
		flushTimeout: 250 * time.Millisecond, closeTimeout: time.Second,
	}, nil
}

func (r *reporter) isOff() bool { return r.state.Load() == off }
func (r *reporter) isOn() bool  { return r.state.Load() == on }

// addController adds a controller to the reports, unless the control plane would refuse them because
// of it: they are about the other controllers, too.
func (r *reporter) addController(c *controller) error {
	if !isReportable(c.name) {
		return fmt.Errorf("controller %q: its name must have 1 to %d bytes, which are printable characters without a leading or trailing space", shorten(c.name, maxName), maxName)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	names := map[string]bool{c.name: true}
	for _, known := range r.controllers {
		names[known.name] = true
	}
	if len(names) > maxControllers {
		return fmt.Errorf("controller %q: at most %d can be reported", c.name, maxControllers)
	}
	r.controllers = append(r.controllers, c)
	return nil
}

// isReportable reports whether the control plane takes the name of a controller.
func isReportable(name string) bool {
	hidden := func(c rune) bool { return !unicode.IsPrint(c) }
	return name != "" && len(name) <= maxName && utf8.ValidString(name) &&
		strings.TrimSpace(name) == name && !strings.ContainsFunc(name, hidden)
}

// append keeps a record until it is sent. A full buffer drops its oldest quarter.
func (r *reporter) append(rec record) { r.appendEntry(&entry{record: rec}) }

// appendEnd keeps the record of a sync that has ended. next is the add that repeats it.
func (r *reporter) appendEnd(e *endedRecord, k *keys, next *pendingKey) {
	r.appendEntry(&entry{record: record{Ended: e}, keys: k, next: next})
}

func (r *reporter) appendEntry(e *entry) {
	if r.isOff() {
		return
	}
	r.mu.Lock()
	if len(r.records) >= maxRecords {
		const quarter = maxRecords / 4
		r.records = slices.Delete(r.records, 0, quarter)
		r.dropped += quarter
	}
	r.records = append(r.records, e)
	r.appended++
	r.mu.Unlock()
	r.wakeUp()
}

// wakeUp makes the reporter send a report soon.
func (r *reporter) wakeUp() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// turnOff drops everything: nothing is noted from now on.
func (r *reporter) turnOff() {
	r.state.Store(off)
	r.mu.Lock()
	controllers := r.controllers
	r.records, r.unlogged = nil, nil
	r.mu.Unlock()
	for _, c := range controllers {
		c.keys.forget()
	}
}

// logError logs an error about what is not reported, once the server is known to be ctrlplane: it is none
// with another one.
func (r *reporter) logError(err error, text string, values ...any) {
	log := func() { r.log.Error(err, text, values...) }
	r.mu.Lock()
	state := r.state.Load()
	if state == asking {
		r.unlogged = append(r.unlogged, log)
	}
	r.mu.Unlock()
	if state == on {
		log()
	}
}

// turnOn notes that the server takes reports.
func (r *reporter) turnOn() {
	if r.state.Swap(on) == on {
		return
	}
	r.log.Info("the controllers are reported to ctrlplane")
	r.mu.Lock()
	unlogged := r.unlogged
	r.unlogged = nil
	r.mu.Unlock()
	for _, log := range unlogged {
		log()
	}
}

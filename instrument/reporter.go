package instrument

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
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
	// maxSent is the number of records in a report, and maxSentItems that of records and of
	// the adds that these name: the control plane refuses more.
	maxSent, maxSentItems = 512, 4096
	// maxControllers is the number of controllers, by name, that are reported.
	maxControllers = 64
	// maxName is the longest name of a controller, in bytes, that the control plane takes.
	maxName = 128
	// gatherTime is how long records are gathered before they are sent.
	gatherTime = 25 * time.Millisecond
	// heartbeat is how often a report is sent without records.
	heartbeat = 2 * time.Second
	// sendTimeout is how long a report may take.
	sendTimeout = 5 * time.Second
	// minBackoff and maxBackoff are how long to wait for a control plane that does not answer.
	minBackoff, maxBackoff = 100 * time.Millisecond, 5 * time.Second
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

// busyError is the answer to a report that is to be sent again, after some time or later.
type busyError struct {
	status int
	after  time.Duration
}

func (e *busyError) Error() string { return fmt.Sprintf("the server answers %d", e.status) }

// retryAfter returns the time that an answer names.
func retryAfter(resp *http.Response) time.Duration {
	seconds, err := strconv.ParseUint(resp.Header.Get("Retry-After"), 10, 32)
	if err != nil {
		return 0
	}
	return min(time.Duration(seconds)*time.Second, maxBackoff)
}

// run sends a report, again and again until it is answered. It reports whether the server
// is ctrlplane and ctx has not ended.
func (r *reporter) run(ctx context.Context) bool {
	for backoff := minBackoff; ctx.Err() == nil; backoff = min(2*backoff, maxBackoff) {
		err := r.send(ctx, false)
		if r.isOff() {
			return false
		}
		if ctx.Err() == nil { // otherwise that has ended the attempt
			r.setAway(err != nil)
		}
		if err == nil {
			return true
		}
		r.log.V(1).Info("reports wait", "err", err)
		wait := backoff
		if busy := new(busyError); errors.As(err, &busy) {
			wait = max(wait, busy.after)
		}
		r.waitUntilBack(ctx, wait)
	}
	return false
}

// waitUntilBack returns after some time, or sooner once the server answers the operator again.
func (r *reporter) waitUntilBack(ctx context.Context, most time.Duration) {
	select {
	case <-r.back: // of an earlier time
	default:
	}
	sleep(ctx, minBackoff)
	timer := time.NewTimer(most - minBackoff)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-r.back:
	case <-ctx.Done():
	}
}

// noteAnswer notes that the server has answered a request of the operator.
func (r *reporter) noteAnswer() {
	if !r.unanswered.Load() {
		return
	}
	select {
	case r.back <- struct{}{}:
	default:
	}
}

// waitForRecords returns when there is something to send.
func (r *reporter) waitForRecords(ctx context.Context) {
	beat := time.NewTimer(heartbeat)
	defer beat.Stop()
	select {
	case <-r.wake:
		sleep(ctx, gatherTime)
	case <-beat.C:
	case <-ctx.Done():
	}
}

func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
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

// send sends what there is. A report that is not answered is kept, and sent again next
// time.
func (r *reporter) send(ctx context.Context, ended bool) error {
	for {
		more := r.nextReport(ended)
		status, after, err := r.post(ctx)
		r.unanswered.Store(err != nil)
		switch {
		case err != nil:
			return err
		case status == http.StatusOK:
			if !r.known { // that was the question; the controllers follow
				r.known, more = true, true
			} else {
				r.turnOn()
			}
			r.unsent, r.refused = nil, false
			r.noteSent()
		case status == http.StatusRequestTimeout || status == http.StatusTooManyRequests || status >= http.StatusInternalServerError:
			return &busyError{status, after}
		case r.known: // such as 401 while a token rotates: the next one may be taken
			if !r.refused {
				r.log.Info("the server refuses a report: its records are dropped", "status", status)
			}
			r.refused = true
			r.drop()
			return fmt.Errorf("the server refuses a report with %d", status)
		default: // it is not ctrlplane, does not observe, or does not know this version
			r.log.Info("the server takes no reports: the controllers are not reported", "status", status)
			r.turnOff()
			return nil
		}
		if !more {
			return nil
		}
	}
}

// drop drops the report that was not answered and counts its records.
func (r *reporter) drop() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.dropped += uint64(len(r.unsent.Records))
	r.unsent = nil
}

// nextReport makes the next report unsent, and returns whether there are more records than
// it has. The first one is empty: the server may be another one.
func (r *reporter) nextReport(ended bool) (more bool) {
	if r.unsent != nil {
		return true
	}
	if !r.known {
		r.number++
		r.unsent = &report{Version: wireVersion, Session: r.session, Number: r.number}
		return true
	}
	select {
	case <-r.wake:
	default:
	}
	r.mu.Lock()
	n := countSendable(r.records)
	taken, controllers := slices.Clone(r.records[:n]), r.controllers
	r.records = slices.Delete(r.records, 0, n)
	r.unsentUpTo, more = r.appended-uint64(len(r.records)), len(r.records) > 0
	v := &report{Version: wireVersion, Session: r.session, Dropped: r.dropped, Ended: ended && !more}
	r.mu.Unlock()
	r.number++
	v.Number = r.number
	for _, c := range controllers {
		v.add(c.report(r.phase.Load()))
	}
	for _, e := range taken {
		e.complete()
		v.Records = append(v.Records, e.record)
	}
	r.unsent = v
	return more
}

// countSendable returns how many of some records, from the first, fit into a report.
func countSendable(list []*entry) int {
	items := 0
	for i, e := range list[:min(len(list), maxSent)] {
		if items++; e.Event != nil {
			items += len(e.Event.Adds) + len(e.Event.Later)
		}
		if items > maxSentItems {
			return i
		}
	}
	return min(len(list), maxSent)
}

// complete adds what was not known when the sync ended.
func (e *entry) complete() {
	if e.next == nil {
		return
	}
	e.keys.mu.Lock()
	defer e.keys.mu.Unlock()
	if e.Ended.Due = e.next.due; e.next.due.IsZero() {
		e.Ended.Due = e.next.added
	}
}

func (c *controller) report(phase int32) controllerReport {
	v := controllerReport{Name: c.name, Workers: c.workers}
	switch state := c.state.Load(); {
	case phase == stopping:
		v.State = stateStopping
	case state == added && phase == running:
		v.State = stateStandby
	case state != working:
		v.State = stateStarting
	}
	c.keys.addTo(&v)
	if q := c.queue.Load(); q != nil {
		v.Depth = (*q).Len()
	}
	return v
}

// post sends the report that is unsent and returns the status of the answer; 404 if that
// is not ctrlplane's though it is OK. after is when to send the report again. It is an error, too, if ctrlplane does
// not accept the credentials of the first report: they may become valid.
func (r *reporter) post(ctx context.Context) (status int, after time.Duration, err error) {
	r.unsent.Sent = time.Now()        // of this attempt: the clocks are compared by it
	body, _ := json.Marshal(r.unsent) // has only values that can be encoded
	ctx, cancel := context.WithTimeout(ctx, sendTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.url, bytes.NewReader(body))
	if err != nil {
		return 0, 0, err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := r.client.Do(req)
	if err != nil {
		return 0, 0, err
	}
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 64<<10)) // so that the connection can be used again
	status, after, err = resp.StatusCode, retryAfter(resp), resp.Body.Close()
	switch isCtrlplane := resp.Header.Get(answerHeader) == "1"; {
	case status == http.StatusOK && !isCtrlplane:
		status = http.StatusNotFound
	case status == http.StatusUnauthorized && isCtrlplane && !r.known:
		err = &busyError{status, after}
	}
	return status, after, err
}

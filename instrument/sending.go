package instrument

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"time"
)

const (
	// maxSent is the number of records in a report, and maxSentItems that of records and of
	// the adds that these name: the control plane refuses more.
	maxSent, maxSentItems = 512, 4096
	// gatherTime is how long records are gathered before they are sent.
	gatherTime = 25 * time.Millisecond
	// heartbeat is how often a report is sent without records.
	heartbeat = 2 * time.Second
	// sendTimeout is how long a report may take.
	sendTimeout = 5 * time.Second
	// minBackoff and maxBackoff are how long to wait for a control plane that does not answer.
	minBackoff, maxBackoff = 100 * time.Millisecond, 5 * time.Second
)

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

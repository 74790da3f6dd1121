package reconciler

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"k8s.io/client-go/rest"

	"github.com/ctrlplane/ctrlplane/clients"
	controlrest "github.com/ctrlplane/ctrlplane/control/rest"
	"github.com/ctrlplane/ctrlplane/internal/sleep"
)

const (
	maxSent     = 512                    // records in a report
	gatherTime  = 25 * time.Millisecond  // how long records are gathered
	heartbeat   = 2 * time.Second        // between reports without records
	sendTimeout = 5 * time.Second        // of a report
	retryDelay  = 250 * time.Millisecond // after a report that was not taken, unless the answer names another
	maxDelay    = 5 * time.Second        // that an answer may name
	lastTimeout = time.Second            // of the report of the end
	maxRefusal  = 512                    // bytes of an answer that are shown
)

// reporter reports what the controller does.
type reporter struct {
	url, session string
	name         string
	keys         *keys
	depth        func() int
	client       *http.Client
	wake         chan struct{}
	number       uint64
	unsent       *clients.Report // that was not answered
	delay        time.Duration   // until it is sent again
}

func newReporter(cfg *rest.Config, name string, k *keys, depth func() int) (*reporter, error) {
	base, _, err := rest.DefaultServerUrlFor(cfg)
	if err != nil {
		return nil, err
	}
	client, err := rest.HTTPClientFor(cfg)
	if err != nil {
		return nil, err
	}
	return &reporter{
		url: base.JoinPath(controlrest.ReportsPath).String(), session: rand.Text(), name: name, keys: k, depth: depth, client: client,
		wake: make(chan struct{}, 1),
	}, nil
}

// wakeUp makes run send a report soon.
func (r *reporter) wakeUp() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// connect sends the first report, by which the control plane learns the controller's name.
func (r *reporter) connect(ctx context.Context) error {
	_, err := r.send(ctx)
	if err != nil {
		return fmt.Errorf("cannot report to the control plane: %w", err)
	}
	return nil
}

// run sends reports until ctx ends. What is not taken is sent again.
func (r *reporter) run(ctx context.Context) {
	beat := time.NewTicker(heartbeat)
	defer beat.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.wake:
			sleep.For(ctx, gatherTime)
		case <-beat.C:
		}
		taken, _ := r.send(ctx) // the controller works without reports, too
		if !taken {
			sleep.For(ctx, r.delay)
			r.wakeUp()
		} else if r.keys.hasRecords() {
			r.wakeUp()
		}
	}
}

// end sends what is left, in as many reports as it takes, and in the last one that the
// process ends. If this fails the control plane notices the end by itself, later.
func (r *reporter) end(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, lastTimeout)
	defer cancel()
	for ended := false; !ended; {
		r.prepare(true)
		ended = r.unsent.Ended
		if taken, _ := r.send(ctx); !taken {
			return
		}
	}
}

// prepare makes the next report, unless one was not answered. ending says that no records will
// follow: the report with the last of them is the last one.
func (r *reporter) prepare(ending bool) {
	if r.unsent != nil {
		return
	}
	r.number++
	q, records, dropped := r.keys.take(maxSent)
	q.Name, q.Workers, q.Depth = r.name, 1, int64(r.depth())
	r.unsent = &clients.Report{
		Version: clients.WireVersion, Session: r.session, Number: r.number, Dropped: dropped, Ended: ending && !r.keys.hasRecords(),
		Controllers: []clients.QueueReport{q}, Records: records,
	}
}

// send sends a report, and returns whether it was taken. It drops one that is refused for
// good, which the error then says.
func (r *reporter) send(ctx context.Context) (taken bool, err error) {
	r.prepare(false)
	status, text, err := r.post(ctx)
	switch {
	case err != nil:
		return false, err
	case status == http.StatusOK:
		r.unsent = nil
		return true, nil
	case status == http.StatusTooManyRequests || status == http.StatusRequestTimeout || status >= http.StatusInternalServerError:
		return false, fmt.Errorf("it answers %d: %s", status, text)
	}
	r.unsent = nil
	return true, fmt.Errorf("it refuses reports with %d: %s", status, text)
}

// post sends the report that is unsent and returns the status and the beginning of the
// answer.
func (r *reporter) post(ctx context.Context) (status int, text string, err error) {
	r.unsent.Sent, r.delay = time.Now(), retryDelay
	body, err := json.Marshal(r.unsent)
	if err != nil {
		return 0, "", err
	}
	ctx, cancel := context.WithTimeout(ctx, sendTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.url, bytes.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := r.client.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	if seconds, err := strconv.ParseUint(resp.Header.Get("Retry-After"), 10, 32); err == nil {
		r.delay = min(max(time.Duration(seconds)*time.Second, retryDelay), maxDelay)
	}
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxRefusal))
	return resp.StatusCode, string(bytes.TrimSpace(answer)), err
}

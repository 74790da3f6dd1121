package clients

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"k8s.io/apiserver/pkg/authentication/user"

	"github.com/ctrlplane/ctrlplane/internal/words"
)

const (
	// maxReport is the longest report that is read.
	maxReport = 2 << 20
	// maxReportControllers and maxReportRecords are the numbers of controllers and of records that a
	// report may have. Of the controllers only maxControllers are taken.
	maxReportControllers, maxReportRecords = 1024, 4096
	// maxEventAdds is the number of keys that an event may name as added, and maxEventLater that
	// of those it may name as added with a delay.
	maxEventAdds, maxEventLater = 256, 64
	// MaxReportWaiting is the number of waiting keys that a controller may name.
	MaxReportWaiting = 10
	// maxReportItems is the number of records and of such keys in a report: that is what is
	// kept. The instrument module stays below these bounds.
	maxReportItems = 8192
	// maxReportsPerSecond and maxItemsPerSecond are how much a client may report.
	maxReportsPerSecond = 200
	maxItemsPerSecond   = 20000
	// maxBodiesAtOnce is the number of reports, each of another client, whose bodies are in memory, and
	// maxDecodedAtOnce that of those that are decoded.
	maxBodiesAtOnce, maxDecodedAtOnce = 16, 4
	// maxReportTime is how long a report may take to arrive, and maxReportWait how long it waits for
	// others: less than its sender waits for the answer.
	maxReportTime = 5 * time.Second
	maxReportWait = time.Second
)

// handleReport takes a report of a client about its own controllers. Any client that is
// authenticated may send one: it cannot say anything about others.
func (c *Clients) handleReport(w http.ResponseWriter, req *http.Request, who user.Info) {
	w.Header().Set(AnswerHeader, "1")
	// Before net/http sends an answer, it reads what is left of the body, also if the report is refused.
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(maxReportTime)) // in tests there is none
	status, err := c.takeReport(w, req, who)
	if err != nil {
		if status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable {
			w.Header().Set("Retry-After", "1")
		}
		http.Error(w, err.Error(), status)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write([]byte("{}\n")) // an error means that the client has disconnected
}

// takeReport returns the status of the answer and the reason if it is not OK.
func (c *Clients) takeReport(w http.ResponseWriter, req *http.Request, who user.Info) (status int, err error) {
	switch {
	case who == nil || who.GetName() == user.Anonymous:
		return http.StatusUnauthorized, fmt.Errorf("reports are for authenticated clients")
	case req.Method != http.MethodPost:
		return http.StatusMethodNotAllowed, fmt.Errorf("method %s: use POST", cleanText(req.Method))
	case c.config.Observer == nil:
		return http.StatusNotFound, fmt.Errorf("this control plane does not observe")
	}
	cl, _ := c.clientOf(req, who)
	if !cl.reports.allow(1, 0, time.Now()) { // before it takes memory
		return refuseRate()
	}
	if !acquire(req.Context(), cl.receiving) {
		cl.reports.countRefused()
		return http.StatusTooManyRequests, fmt.Errorf("another report of this client is still being received")
	}
	defer release(cl.receiving)
	if !acquire(req.Context(), c.receiving) {
		cl.reports.countRefused()
		return http.StatusServiceUnavailable, fmt.Errorf("%d reports of other clients are still being received", maxBodiesAtOnce)
	}
	defer release(c.receiving)
	body, err := io.ReadAll(http.MaxBytesReader(w, req.Body, maxReport))
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return http.StatusRequestTimeout, fmt.Errorf("report: it has not arrived within %v", maxReportTime)
	case err != nil:
		return http.StatusBadRequest, fmt.Errorf("report: %w", err)
	}
	c.decoding <- struct{}{} // no client can hold these for long
	defer release(c.decoding)
	r, err := decodeReport(body)
	switch {
	case err != nil:
		return http.StatusBadRequest, fmt.Errorf("report: %w", err)
	case !cl.reports.allow(0, r.items(), time.Now()):
		return refuseRate()
	}
	if !c.apply(cl, identityOf(req, who).program(), req.RemoteAddr, r) {
		return http.StatusTooManyRequests, fmt.Errorf("too many processes report: at most %d of a client and %d in all can", maxSessions, maxAllSessions)
	}
	return http.StatusOK, nil
}

func refuseRate() (status int, err error) {
	return http.StatusTooManyRequests, fmt.Errorf("more than %d reports, or %d records, adds and later ones, in a second", maxReportsPerSecond, maxItemsPerSecond)
}

// acquire takes one of some slots, and reports whether one became free in time.
func acquire(ctx context.Context, slots chan struct{}) bool {
	ctx, cancel := context.WithTimeout(ctx, maxReportWait)
	defer cancel()
	select {
	case slots <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

func release(slots chan struct{}) { <-slots }

// decodeReport decodes and checks a report.
func decodeReport(body []byte) (r *Report, err error) {
	r = &Report{}
	if err := json.Unmarshal(body, r); err != nil {
		return nil, err
	}
	return r, r.validate()
}

// validate checks what decoding does not. Texts are shortened where they are used.
func (r *Report) validate() error {
	switch {
	case r.Version != WireVersion:
		return fmt.Errorf("version %d: this control plane understands version %d", r.Version, WireVersion)
	case r.Session == "" || len(r.Session) > 64:
		return fmt.Errorf("session of %d bytes: use 1 to 64", len(r.Session))
	}
	for _, q := range r.Controllers {
		if err := checkControllerName(q.Name); err != nil {
			return err
		}
	}
	if n := r.items(); n > maxReportItems {
		return fmt.Errorf("%d records, adds and later ones: at most %d can be reported at once", n, maxReportItems)
	}
	return nil
}

// items returns the number of records, and of the keys that these name as added.
func (r *Report) items() int {
	n := len(r.Records)
	for i := range r.Records {
		if e := r.Records[i].Event; e != nil {
			n += len(e.Adds) + len(e.Later)
		}
	}
	return n
}

func checkControllerName(name string) error {
	if name == "" || len(name) > maxControllerName || cleanText(name) != name {
		return fmt.Errorf("name %q of a controller: use 1 to %d printable characters", words.Cut(name, maxControllerName), maxControllerName)
	}
	return nil
}

// countRefused counts a report for which there was no room.
func (r *reportedState) countRefused() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.refused++
}

// allow reports whether so many more reports and items may be taken now.
func (r *reportedState) allow(reports, items int, now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if second := now.Unix(); r.second != second {
		r.second, r.secondReports, r.secondItems = second, 0, 0
	}
	r.secondReports += reports
	r.secondItems += items
	if r.secondReports > maxReportsPerSecond || r.secondItems > maxItemsPerSecond {
		r.refused++
		return false
	}
	return true
}

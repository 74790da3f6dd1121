package ctrlplane

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/ctrlplane/ctrlplane/internal/usage"
	"github.com/ctrlplane/ctrlplane/observe"
	"github.com/ctrlplane/ctrlplane/observe/scrape"
)

// scrapeInterval is the time between two scrapes of another process.
const scrapeInterval = time.Second

// unreadWarning is how many scrapes in a row fail until the user is warned: a process that ends fails in many ways.
const unreadWarning = 3

// maxUnreadWarnings is how many reasons are said of a process: they have its own text.
const maxUnreadWarnings = 5

// scrapedProcess is another process whose work queues are shown beside those of the
// control plane. A process that does not answer has none: it may be started later.
type scrapedProcess struct {
	program string // the program of its client; empty = unknown
	host    string
	source  *scrape.Source
	queues  atomic.Pointer[[]observe.Queue]
	unread  atomic.Pointer[observe.UnreadMetrics] // nil while they can be read
}

// newScrapedProcesses reads the addresses of metrics, as URL or PROGRAM=URL.
func newScrapedProcesses(addresses []string) ([]*scrapedProcess, error) {
	var list []*scrapedProcess
	for _, address := range addresses {
		program, url, ok := strings.Cut(address, "=")
		if !ok || strings.ContainsAny(program, ":/") { // part of the URL
			program, url = "", address
		}
		// An operator has a self-signed certificate by default.
		src, err := scrape.New(scrape.Options{URL: url, Insecure: scrape.MayTrust(url), Timeout: 5 * time.Second})
		if err != nil {
			return nil, usage.Errorf("--with: %w", err)
		}
		list = append(list, &scrapedProcess{program: program, host: src.Host(), source: src})
	}
	return list, nil
}

// startScraping scrapes the processes that the user has named.
func (p *controlPlane) startScraping(context.Context) error {
	ctx, cancel := context.WithCancel(context.Background())
	p.stopScraping = cancel
	for _, process := range p.scraped {
		p.scraping.Go(func() { p.scrapeProcess(ctx, process) })
	}
	return nil
}

func (p *controlPlane) closeScraping() error {
	if p.stopScraping != nil {
		p.stopScraping()
	}
	p.scraping.Wait()
	return nil
}

// scrapeProcess scrapes a process until ctx ends, logs when it begins to answer and
// when it ceases to, and warns once of each reason why its metrics cannot be read.
func (p *controlPlane) scrapeProcess(ctx context.Context, process *scrapedProcess) {
	ticker := time.NewTicker(scrapeInterval)
	defer ticker.Stop()
	answers, failures, warned := true, 0, map[string]bool{}
	for ctx.Err() == nil {
		snapshot, err := process.source.Snapshot(ctx)
		if ok := err == nil; ok != answers && ctx.Err() == nil {
			answers = ok
			p.log.Info("metrics of another process", "host", process.host, "answers", ok, "err", err)
		}
		process.queues.Store(&snapshot.Queues)
		process.note(err, time.Now())
		if failures++; err == nil || mayStart(err) || ctx.Err() != nil {
			failures = 0
		}
		if failures == unreadWarning && len(warned) < maxUnreadWarnings {
			if why := explainUnread(err); !warned[why] {
				warned[why] = true
				p.warnWhileRunning("--with: " + why)
			}
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
		}
	}
}

// note remembers whether and why the metrics cannot be read.
func (s *scrapedProcess) note(err error, now time.Time) {
	if err == nil {
		s.unread.Store(nil)
		return
	}
	unread := observe.UnreadMetrics{Program: s.program, Since: now, Reason: explainUnread(err)}
	if before := s.unread.Load(); before != nil {
		unread.Since = before.Since
	}
	s.unread.Store(&unread)
}

// mayStart reports whether the metrics cannot be read because the process has not been started, or is not the leader.
func mayStart(err error) bool {
	return errors.Is(err, scrape.ErrRefused) || errors.Is(err, scrape.ErrNoQueues)
}

// explainUnread says why metrics cannot be read, without the flags that only top has.
func explainUnread(err error) string {
	access, ok := errors.AsType[*scrape.AccessError](err)
	if !ok {
		return err.Error()
	}
	before, _, _ := strings.Cut(err.Error(), access.Error())
	return before + access.Reason + ": --with sends no credentials except those of the URL, without which it trusts each certificate on a loopback address: " +
		"serve the metrics by HTTP without authentication here, or use ctrlplane top --metrics"
}

// unreadMetrics returns the processes whose metrics cannot be read.
func (p *controlPlane) unreadMetrics() (list []observe.UnreadMetrics) {
	for _, process := range p.scraped {
		if unread := process.unread.Load(); unread != nil {
			list = append(list, *unread)
		}
	}
	return list
}

// outsideQueues returns the queues of other processes. Their controller is the client of
// the program that the user has named, if there is one.
func (p *controlPlane) outsideQueues() (list []observe.Queue) {
	if !p.ready.Load() {
		return nil
	}
	for _, process := range p.scraped {
		queues := process.queues.Load()
		if queues == nil {
			continue
		}
		owner := process.host
		if process.program != "" {
			owner = p.clients.NameOf(process.program)
		}
		for _, q := range slices.Clone(*queues) {
			if p.clients.HasQueue(owner, q.Name) { // with more than its metrics tell
				continue
			}
			q.Controller, q.Outside = owner, true
			list = append(list, q)
		}
	}
	return list
}

package ctrlplane

import (
	"context"
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

// scrapedProcess is another process whose work queues are shown beside those of the
// control plane. A process that does not answer has none: it may be started later.
type scrapedProcess struct {
	program string // the program of its client; empty = unknown
	host    string
	source  *scrape.Source
	queues  atomic.Pointer[[]observe.Queue]
}

// newScrapedProcesses reads the addresses of metrics, as URL or PROGRAM=URL.
func newScrapedProcesses(addresses []string) ([]*scrapedProcess, error) {
	var list []*scrapedProcess
	for _, address := range addresses {
		program, url, ok := strings.Cut(address, "=")
		if !ok || strings.ContainsAny(program, ":/") { // part of the URL
			program, url = "", address
		}
		src, err := scrape.New(scrape.Options{URL: url, Timeout: 5 * time.Second})
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

// scrapeProcess scrapes a process until ctx ends, and logs when it begins to answer and
// when it ceases to.
func (p *controlPlane) scrapeProcess(ctx context.Context, process *scrapedProcess) {
	ticker := time.NewTicker(scrapeInterval)
	defer ticker.Stop()
	answers := true
	for ctx.Err() == nil {
		snapshot, err := process.source.Snapshot(ctx)
		if ok := err == nil; ok != answers && ctx.Err() == nil {
			answers = ok
			p.log.Info("metrics of another process", "host", process.host, "answers", ok, "err", err)
		}
		process.queues.Store(&snapshot.Queues)
		select {
		case <-ticker.C:
		case <-ctx.Done():
		}
	}
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

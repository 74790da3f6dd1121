//go:build linux

package main

import (
	"context"
	"fmt"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// campaign runs rounds of all kinds until its time is over.
type campaign struct {
	options
	progress io.Writer

	mu      sync.Mutex
	tallies []*tally
}

// tally is what is known of a kind.
type tally struct {
	kind
	trial
	missing  string // why it is not run
	begun    int
	tried    int
	lost     int
	kills    int
	spent    time.Duration
	running  int
	firstErr error
}

func newCampaign(o options, progress io.Writer) (*campaign, error) {
	if _, err := os.Stat(o.ctrlplane); err != nil {
		return nil, fmt.Errorf("%w: run make build, or name the program with -ctrlplane", err)
	}
	kinds, err := selectKinds(o.only)
	if err != nil {
		return nil, err
	}
	c := &campaign{options: o, progress: progress}
	for _, k := range kinds {
		t := &tally{kind: k, trial: k.new()}
		if k.missing != nil {
			t.missing = k.missing(o)
		}
		c.tallies = append(c.tallies, t)
	}
	return c, nil
}

func (c *campaign) run(ctx context.Context) {
	deadline := time.Now().Add(c.duration)
	var workers sync.WaitGroup
	for range c.parallel {
		workers.Go(func() {
			for ctx.Err() == nil && time.Now().Before(deadline) {
				t, index := c.next()
				if t == nil {
					return
				}
				c.runRound(ctx, t, index)
			}
		})
	}
	workers.Wait()
}

// next returns the kind that has had least of its share, and the index of its next
// round; nil if all have had their number of rounds.
func (c *campaign) next() (*tally, int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var chosen *tally
	for _, t := range c.tallies {
		if t.missing != "" || c.rounds > 0 && t.begun >= c.rounds {
			continue
		}
		if chosen == nil || t.claim() < chosen.claim() {
			chosen = t
		}
	}
	if chosen == nil {
		return nil, 0
	}
	chosen.begun++
	chosen.running++
	return chosen, chosen.begun - 1
}

// claim is the time that a kind has had in proportion to its share. A running round
// counts like a few seconds, or all would begin with the same kind.
func (t *tally) claim() float64 {
	return (t.spent + time.Duration(t.running)*5*time.Second).Seconds() / float64(t.share)
}

func (c *campaign) runRound(ctx context.Context, t *tally, index int) {
	began := time.Now()
	r, err := c.newRound(ctx, t.name, index)
	if err == nil {
		err = r.finish(t.do(r), c.keep)
	}
	interrupted := ctx.Err() != nil
	c.mu.Lock()
	defer c.mu.Unlock()
	t.running--
	t.spent += time.Since(began)
	if interrupted {
		return // it says nothing
	}
	t.tried++
	if r != nil {
		t.kills += r.kills
	}
	if err != nil {
		t.lost++
		if t.firstErr == nil {
			t.firstErr = err
		}
		fmt.Fprintf(c.progress, "%s, round %d: LOST: %v\n", t.name, index, err)
	}
}

// newRound returns a round whose random choices depend on the seed, its kind and its
// index only.
func (c *campaign) newRound(ctx context.Context, name string, index int) (*round, error) {
	dir, err := os.MkdirTemp("", "ctrlplane-torture-")
	if err != nil {
		return nil, err
	}
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		return nil, err
	}
	hash := fnv.New64a()
	fmt.Fprintf(hash, "%s %d", name, index)
	ctx, cancel := context.WithTimeoutCause(ctx, roundTimeout, fmt.Errorf("the round took longer than %v", roundTimeout))
	r := &round{
		options: c.options, ctx: ctx, cancel: cancel, name: fmt.Sprintf("%s-%d", name, index), dir: dir, log: log,
		rand: rand.New(rand.NewPCG(c.seed, hash.Sum64())),
	}
	r.logf("%s, round %d, seed %d", name, index, c.seed)
	return r, nil
}

func (c *campaign) lost() (n int) {
	for _, t := range c.tallies {
		n += t.lost
	}
	return n
}

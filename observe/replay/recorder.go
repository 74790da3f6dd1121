package replay

import (
	"context"
	"encoding/json"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/ctrlplane/ctrlplane/internal/fileerror"
	"github.com/ctrlplane/ctrlplane/internal/sleep"
	"github.com/ctrlplane/ctrlplane/observe"
)

const (
	gatherInterval   = 20 * time.Millisecond  // between reads, so that each gets several records
	snapshotInterval = 250 * time.Millisecond // between snapshots, as of the live view
	drainTimeout     = time.Second            // for records that are still being appended
	resourcesRetry   = 30 * time.Second       // after an error: asking delays the reading of records
)

// Source is a source that can be recorded, such as an [observe.Observer].
type Source interface {
	observe.Source
	// Wait returns when there is a record after the given Seq, or ctx ends.
	Wait(ctx context.Context, after uint64) error
}

// causeKeeper is a Source that keeps the records that led to what exists.
type causeKeeper interface {
	CausesBefore(seq uint64) []observe.Record
}

// Config configures a Recorder.
type Config struct {
	Source Source
	// File is where the recording is written. The recorder closes it.
	File *os.File
	// Limit bounds the bytes of the recording: File and, with ".1" appended to its name,
	// the file that it continues. 0 = unlimited, in one file.
	Limit int64
	// OnRecord is called with each record. May be nil.
	OnRecord func(observe.Record)
	// Resources returns the resources that are served. May be nil.
	Resources func(context.Context) ([]Resource, error)
	// OnError is called with the first error of writing. May be nil.
	OnError func(error)
}

// Recorder writes what a source shows to a file. An error ends the writing, not the calls
// of OnRecord.
type Recorder struct {
	config Config
	mu     sync.Mutex // of the steps; guards what they change
	out    *partWriter
	state  encoder

	after        uint64 // Seq of the last record
	missed       uint64
	snapshotAt   time.Time // of the last snapshot
	resources    []Resource
	hasResources bool      // they are known and did not change
	resourcesDue time.Time // not before, after an error
	err          error

	stop    context.CancelFunc
	running sync.WaitGroup
}

// Start starts a recorder that runs until Close.
func Start(c Config) *Recorder {
	ctx, stop := context.WithCancel(context.Background())
	r := &Recorder{config: c, out: newPartWriter(c.File, c.Limit), stop: stop}
	r.writeLine(r.out.header)
	r.running.Go(func() { r.run(ctx) })
	return r
}

func (r *Recorder) run(ctx context.Context) {
	for ctx.Err() == nil {
		after, next := r.lockedStep(ctx)
		until, cancel := context.WithDeadline(ctx, next)
		// It returns early when there are records, and its error is that the time is over.
		_ = r.config.Source.Wait(until, after)
		cancel()
		sleep.For(ctx, gatherInterval)
	}
}

// lockedStep returns the last record that is written, and when a snapshot is due.
func (r *Recorder) lockedStep(ctx context.Context) (after uint64, next time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.step(ctx)
	return r.after, r.snapshotAt.Add(snapshotInterval)
}

// Capture writes a snapshot now, besides those that are written from time to time.
func (r *Recorder) Capture(ctx context.Context) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.snapshotAt, r.state.must = time.Time{}, true
	r.step(ctx)
}

// step writes the new records and, if it is time, a snapshot.
func (r *Recorder) step(ctx context.Context) {
	if time.Since(r.snapshotAt) < snapshotInterval {
		r.writeRecords()
		return
	}
	r.snapshotAt = time.Now()
	s, err := r.takeSnapshot(ctx)
	r.writeRecords()
	if err != nil {
		if ctx.Err() == nil {
			r.fail(err)
		}
		return
	}
	r.writeSnapshot(s)
	r.writeResources(ctx, s)
	r.fail(r.out.Flush())
}

// takeSnapshot takes a snapshot, and writes the first one: each file begins with one.
func (r *Recorder) takeSnapshot(ctx context.Context) (observe.Snapshot, error) {
	s, err := r.config.Source.Snapshot(ctx)
	if err == nil && !r.state.begun {
		r.writeSnapshot(s)
	}
	return s, err
}

// writeRecords writes the new records.
func (r *Recorder) writeRecords() {
	page, err := r.config.Source.Records(context.Background(), observe.Query{After: r.after, Reads: true})
	if err != nil {
		r.fail(err)
		return
	}
	r.countMissed(page.Missed)
	for _, rec := range page.Records {
		r.writeLine(rec)
		if r.config.OnRecord != nil {
			r.config.OnRecord(rec)
		}
		if changesResources(rec.Event) {
			r.hasResources, r.resourcesDue = false, time.Time{}
		}
		r.after = rec.Seq
		r.rotateIfFull()
	}
	r.after = page.Next
}

func (r *Recorder) countMissed(n uint64) {
	if n > 0 {
		r.missed += n
		r.writeLine(missedLine{"missed", time.Now(), n})
	}
}

func (r *Recorder) writeSnapshot(s observe.Snapshot) {
	if line := r.state.encode(s); line != nil {
		r.writeLine(line)
		r.rotateIfFull()
	}
}

// changesResources reports whether an event may change which resources are served.
func changesResources(e observe.Event) bool {
	c, ok := e.(*observe.Called)
	return ok && c.IsWrite() && (c.Object.Resource == "customresourcedefinitions" || c.Object.Resource == "apiservices")
}

// writeResources writes the resources that are served, if they may have changed.
func (r *Recorder) writeResources(ctx context.Context, s observe.Snapshot) {
	if r.config.Resources == nil || r.hasResources || s.Process.State != observe.Ready || time.Now().Before(r.resourcesDue) {
		return
	}
	list, err := r.config.Resources(ctx)
	if err != nil {
		r.resourcesDue = time.Now().Add(resourcesRetry)
	}
	if len(list) == 0 {
		return // the next time, perhaps
	}
	r.hasResources = err == nil // without an error it is complete
	if !slices.EqualFunc(r.resources, list, func(a, b Resource) bool { return same(&a, &b) }) {
		r.resources = list
		r.writeLine(resourcesLine{resourcesKind, time.Now(), list})
	}
}

// rotateIfFull begins another file if this one is full. It begins with all that a reader
// needs of the older ones.
func (r *Recorder) rotateIfFull() {
	if r.err != nil || !r.state.begun || !r.out.isFull() {
		return
	}
	rotated, err := r.out.rotate()
	if r.fail(err); !rotated {
		return
	}
	r.writeLine(r.out.header)
	r.state.restart()
	r.writeLine(r.state.encode(r.state.last))
	if r.resources != nil {
		r.writeLine(resourcesLine{resourcesKind, time.Now(), r.resources})
	}
	if keeper, ok := r.config.Source.(causeKeeper); ok {
		r.writeCauses(keeper.CausesBefore(r.after + 1))
	}
}

// writeCauses writes the newest of the records that led to what exists, up to half of
// what a file may have.
func (r *Recorder) writeCauses(records []observe.Record) {
	var lines [][]byte
	room := r.out.partLimit() / 2
	for _, rec := range slices.Backward(records) {
		line, err := json.Marshal(rec)
		if room -= int64(len(line)); err != nil || room < 0 {
			break
		}
		lines = append(lines, line)
	}
	for _, line := range slices.Backward(lines) {
		r.writeBytes(line)
	}
}

func (r *Recorder) writeLine(v any) {
	if r.err != nil {
		return
	}
	data, err := json.Marshal(v)
	if err != nil {
		r.fail(err)
		return
	}
	r.writeBytes(data)
}

func (r *Recorder) writeBytes(line []byte) {
	if r.err == nil {
		_, err := r.out.Write(append(line, '\n'))
		r.fail(err)
	}
}

// fail keeps the first error.
func (r *Recorder) fail(err error) {
	if err == nil || r.err != nil {
		return
	}
	r.err = err
	if r.config.OnError != nil {
		r.config.OnError(fileerror.WithoutPath(err))
	}
}

// Close writes the remaining records and a last snapshot. It returns the first error, and
// is called once.
func (r *Recorder) Close() error {
	r.stop()
	r.running.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.writeRemaining()
	r.fail(r.out.Close())
	return r.err
}

// Missed returns how many records were dropped before they were read. It is valid after
// Close.
func (r *Recorder) Missed() uint64 { return r.missed }

// writeRemaining writes the records up to the current last one.
func (r *Recorder) writeRemaining() {
	ctx, cancel := context.WithTimeout(context.Background(), drainTimeout)
	defer cancel()
	now, err := r.takeSnapshot(ctx)
	r.fail(err)
	for r.writeRecords(); r.after < now.Journal.Last && ctx.Err() == nil; r.writeRecords() {
		sleep.For(ctx, time.Millisecond)
	}
	if r.after < now.Journal.Last {
		r.countMissed(now.Journal.Last - r.after)
	}
	if err == nil {
		r.state.must = true
		r.writeSnapshot(now)
	}
}

package report

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"os"
	"time"

	"github.com/ctrlplane/ctrlplane/observe"
	"github.com/ctrlplane/ctrlplane/ui"
)

const (
	gatherInterval = 20 * time.Millisecond // between reads, so that each gets several records
	drainTimeout   = time.Second           // for records that are still being appended
)

// Source is a source that can be followed, such as an [observe.Observer].
type Source interface {
	observe.Source
	// Wait returns when there is a record after the given Seq, or ctx ends.
	Wait(ctx context.Context, after uint64) error
}

// recorder writes every record of a source to a file.
type recorder struct {
	src    Source
	file   *os.File
	out    *bufio.Writer
	digest *digest

	after  uint64 // Seq of the last written record
	missed uint64
	err    error // the first write error; the digest continues after it

	stop  context.CancelFunc
	ended chan struct{}
}

// startRecorder starts a recorder that follows src until close.
func startRecorder(src Source, file *os.File, d *digest) *recorder {
	ctx, stop := context.WithCancel(context.Background())
	r := &recorder{src: src, file: file, out: bufio.NewWriterSize(file, 64<<10), digest: d, stop: stop, ended: make(chan struct{})}
	r.writeLine(ui.NewHeaderLine(time.Now()))
	go func() {
		defer close(r.ended)
		for src.Wait(ctx, r.after) == nil {
			r.writeNew()
			sleepContext(ctx, gatherInterval)
		}
	}()
	return r
}

func sleepContext(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}

// writeNew writes the new records.
func (r *recorder) writeNew() {
	page, err := r.src.Records(context.Background(), observe.Query{After: r.after, Reads: true})
	if err != nil {
		r.keepError(err)
		return
	}
	if page.Missed > 0 {
		r.missed += page.Missed
		r.writeLine(ui.Notice{Kind: "missed", Time: time.Now(), Missed: page.Missed})
	}
	for _, rec := range page.Records {
		r.writeLine(rec)
		r.digest.add(rec)
	}
	r.after = page.Next
}

func (r *recorder) writeLine(v any) {
	if r.err != nil {
		return
	}
	data, err := json.Marshal(v)
	if err == nil {
		_, err = r.out.Write(append(data, '\n'))
	}
	r.keepError(err)
}

func (r *recorder) keepError(err error) {
	if r.err == nil {
		r.err = err
	}
}

// close stops following and writes the remaining records. It returns the first
// write error.
func (r *recorder) close() error {
	r.stop()
	<-r.ended
	r.writeRemaining()
	return errors.Join(r.err, r.out.Flush(), r.file.Close())
}

// writeRemaining writes the records up to the current last one.
func (r *recorder) writeRemaining() {
	ctx, cancel := context.WithTimeout(context.Background(), drainTimeout)
	defer cancel()
	now, err := r.src.Snapshot(ctx)
	r.keepError(err)
	for r.writeNew(); r.err == nil && r.after < now.Journal.Last && ctx.Err() == nil; r.writeNew() {
		sleepContext(ctx, time.Millisecond)
	}
	if r.after < now.Journal.Last {
		r.missed += now.Journal.Last - r.after
		r.writeLine(ui.Notice{Kind: "missed", Time: time.Now(), Missed: now.Journal.Last - r.after})
	}
}

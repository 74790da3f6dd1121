package report

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"os"
	"time"

	"github.com/ctrlplane/ctrlplane/observe"
)

const (
	formatVersion  = 1                     // of docs/json.md
	gatherInterval = 20 * time.Millisecond // from the first new record to the next look
	drainTimeout   = time.Second           // for records whose writer is not done yet
)

// Source is what can be followed: an [observe.Observer].
type Source interface {
	observe.Source
	// Wait returns when there is a record after the given Seq, or ctx ends.
	Wait(ctx context.Context, after uint64) error
}

// recorder writes down every record of a source.
type recorder struct {
	src    Source
	file   *os.File
	out    *bufio.Writer
	digest *digest

	after  uint64 // Seq of the last record that is written
	missed uint64
	err    error // why no more is written; the digest goes on

	stop  context.CancelFunc
	ended chan struct{}
}

type headerLine struct {
	Kind    string    `json:"kind"`
	Version int       `json:"version"`
	Time    time.Time `json:"time"`
}

type missedLine struct {
	Kind   string    `json:"kind"`
	Time   time.Time `json:"time"`
	Missed uint64    `json:"missed"`
}

// startRecorder follows src until close is called.
func startRecorder(src Source, file *os.File, d *digest) *recorder {
	ctx, stop := context.WithCancel(context.Background())
	r := &recorder{src: src, file: file, out: bufio.NewWriterSize(file, 64<<10), digest: d, stop: stop, ended: make(chan struct{})}
	r.writeLine(headerLine{"ctrlplane", formatVersion, time.Now()})
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

// writeNew writes what is new.
func (r *recorder) writeNew() {
	page, err := r.src.Records(context.Background(), observe.Query{After: r.after, Reads: true})
	if err != nil {
		r.keepError(err)
		return
	}
	if page.Missed > 0 {
		r.missed += page.Missed
		r.writeLine(missedLine{"missed", time.Now(), page.Missed})
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

// close writes what is left. It returns the first error of all the writing.
func (r *recorder) close() error {
	r.stop()
	<-r.ended
	r.drain()
	return errors.Join(r.err, r.out.Flush(), r.file.Close())
}

// drain writes the records up to the last that there is now.
func (r *recorder) drain() {
	ctx, cancel := context.WithTimeout(context.Background(), drainTimeout)
	defer cancel()
	now, err := r.src.Snapshot(ctx)
	r.keepError(err)
	for r.writeNew(); r.err == nil && r.after < now.Journal.Last && ctx.Err() == nil; r.writeNew() {
		sleepContext(ctx, time.Millisecond)
	}
	if r.after < now.Journal.Last {
		r.missed += now.Journal.Last - r.after
		r.writeLine(missedLine{"missed", time.Now(), now.Journal.Last - r.after})
	}
}

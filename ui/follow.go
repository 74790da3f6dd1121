package ui

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"time"

	"github.com/ctrlplane/ctrlplane/observe"
)

const (
	pollInterval     = 250 * time.Millisecond // between two looks for records
	snapshotInterval = time.Second            // between two snapshots
)

// FollowOptions tell what Follow writes.
type FollowOptions struct {
	// JSON is everything, an object a line; else it is what people care for.
	JSON bool
	// After is the Seq of the last record that is known; 0 = all that are kept.
	After uint64
}

// Follow writes what happens, a line each, until the context ends or w fails.
// Of a source that fails it says so once, and tries again.
func Follow(ctx context.Context, w io.Writer, src observe.Source, o FollowOptions) error {
	var out bytes.Buffer // of one turn, so that lines are written whole
	f := follower{src: src, after: o.After, out: &plainWriter{w: &out}}
	if o.JSON {
		f.out = &jsonWriter{w: &out}
	}
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	err := f.out.writeHeader(time.Now())
	for {
		if err == nil {
			err = f.poll(ctx, time.Now())
		}
		if err == nil && out.Len() > 0 {
			_, err = out.WriteTo(w)
		}
		if err != nil {
			return fmt.Errorf("cannot write what happens: %w", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// eventWriter is how Follow writes. Its errors are of what cannot be written.
type eventWriter interface {
	writeHeader(now time.Time) error
	recordQuery() observe.Query
	writeRecord(observe.Record) error
	writeSnapshot(observe.Snapshot) error
	// writeNotice tells what became of the source.
	writeNotice(notice) error
}

// notice is something about the following itself.
type notice struct {
	Kind   string    `json:"kind"` // missed, disconnected, connected or restarted
	Time   time.Time `json:"time"`
	Missed uint64    `json:"missed,omitempty"` // records
	Error  string    `json:"error,omitempty"`
}

// follower asks a source in turns.
type follower struct {
	src          observe.Source
	out          eventWriter
	after        uint64
	snapshotAt   time.Time // for the last snapshot
	started      time.Time // the process that is followed
	disconnected bool
}

func (f *follower) poll(ctx context.Context, now time.Time) error {
	if f.disconnected { // what comes back may be another process, which counts anew
		if err := f.pollSnapshot(ctx, now); err != nil || f.disconnected {
			return err
		}
	}
	if err := f.pollRecords(ctx, now); err != nil || f.disconnected {
		return err
	}
	if now.Sub(f.snapshotAt) < snapshotInterval {
		return nil
	}
	return f.pollSnapshot(ctx, now)
}

func (f *follower) pollSnapshot(ctx context.Context, now time.Time) error {
	f.snapshotAt = now
	s, err := f.src.Snapshot(ctx)
	if err := f.noteConnection(ctx, now, err); err != nil || f.disconnected || ctx.Err() != nil {
		return err
	}
	if !f.started.IsZero() && !s.Process.Started.Equal(f.started) {
		f.after = 0
		if err := f.out.writeNotice(notice{Kind: "restarted", Time: now}); err != nil {
			return err
		}
	}
	f.started = s.Process.Started
	return f.out.writeSnapshot(s)
}

func (f *follower) pollRecords(ctx context.Context, now time.Time) error {
	q := f.out.recordQuery()
	q.After = f.after
	page, err := f.src.Records(ctx, q)
	if err := f.noteConnection(ctx, now, err); err != nil || f.disconnected || ctx.Err() != nil {
		return err
	}
	f.after = page.Next
	if page.Missed > 0 {
		if err := f.out.writeNotice(notice{Kind: "missed", Time: now, Missed: page.Missed}); err != nil {
			return err
		}
	}
	for _, r := range page.Records {
		if err := f.out.writeRecord(r); err != nil {
			return err
		}
	}
	return nil
}

// noteConnection notes whether the source answered, and says so when that changed.
func (f *follower) noteConnection(ctx context.Context, now time.Time, err error) error {
	if ctx.Err() != nil || f.disconnected == (err != nil) {
		return nil
	}
	f.disconnected = err != nil
	if f.disconnected {
		return f.out.writeNotice(notice{Kind: "disconnected", Time: now, Error: err.Error()})
	}
	return f.out.writeNotice(notice{Kind: "connected", Time: now})
}

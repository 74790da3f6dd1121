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
	pollInterval     = 250 * time.Millisecond // between two requests for records
	snapshotInterval = time.Second            // between two requests for a snapshot
)

// FollowOptions selects what Follow writes.
type FollowOptions struct {
	// JSON writes every record as one JSON object per line. Without it, Follow
	// writes one line of text per notable event, and per hot loop.
	JSON bool
	// After is the Seq of the last record to leave out; 0 writes all records that
	// the source still keeps.
	After uint64
}

// Follow writes the records of src as they arrive, one per line, until the
// context ends or w returns an error. When src fails, Follow reports it once and
// keeps retrying.
func Follow(ctx context.Context, w io.Writer, src observe.Source, o FollowOptions) error {
	var out bytes.Buffer // collects the lines of one poll, so that w receives whole lines
	f := follower{src: src, after: o.After, out: &jsonWriter{w: &out}}
	if !o.JSON {
		plain := &plainWriter{w: &out}
		f.out, f.loops = plain, &loopReporter{out: plain, found: map[loopSubject]time.Time{}}
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
			return fmt.Errorf("cannot write events: %w", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// eventWriter is an output format of Follow. Its errors are write errors.
type eventWriter interface {
	writeHeader(now time.Time) error
	recordQuery() observe.Query
	writeRecord(observe.Record) error
	writeSnapshot(observe.Snapshot) error
	// writeNotice reports a change of the connection to the source.
	writeNotice(Notice) error
}

// Notice is an event of the connection to a source, not of the control plane.
type Notice struct {
	Kind   string    `json:"kind"` // missed, disconnected, connected or restarted
	Time   time.Time `json:"time"`
	Missed uint64    `json:"missed,omitempty"` // records
	Error  string    `json:"error,omitempty"`
}

// follower polls a source and passes what it returns to an eventWriter.
type follower struct {
	src          observe.Source
	out          eventWriter
	after        uint64
	snapshotAt   time.Time // when the last snapshot was requested
	started      time.Time // start time of the observed process
	disconnected bool
	loops        *loopReporter // nil if it writes records only
}

func (f *follower) poll(ctx context.Context, now time.Time) error {
	if f.disconnected { // a restarted process numbers its records from 1 again
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
		if f.loops != nil {
			clear(f.loops.found)
		}
		if err := f.out.writeNotice(Notice{Kind: "restarted", Time: now}); err != nil {
			return err
		}
	}
	f.started = s.Process.Started
	if f.loops != nil {
		if err := f.loops.poll(ctx, f.src, s); err != nil {
			return err
		}
	}
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
		if err := f.out.writeNotice(Notice{Kind: "missed", Time: now, Missed: page.Missed}); err != nil {
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

// noteConnection stores whether the source is reachable and writes a notice when
// that changes.
func (f *follower) noteConnection(ctx context.Context, now time.Time, err error) error {
	if ctx.Err() != nil || f.disconnected == (err != nil) {
		return nil
	}
	f.disconnected = err != nil
	if f.disconnected {
		return f.out.writeNotice(Notice{Kind: "disconnected", Time: now, Error: err.Error()})
	}
	return f.out.writeNotice(Notice{Kind: "connected", Time: now})
}

package ui

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/ctrlplane/ctrlplane/observe"
)

const (
	pollInterval     = 250 * time.Millisecond // between two requests for records
	snapshotInterval = time.Second            // between two requests for a snapshot
)

// Follow passes the records of src to out as they arrive, after the one with a Seq, until the context ends or out returns an
// error; 0 passes all records that the source still keeps. When src fails, Follow reports it once and keeps retrying.
func Follow(ctx context.Context, src observe.Source, after uint64, out EventWriter) error {
	f := follower{src: src, after: after, out: out}
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	err := f.out.WriteHeader(time.Now())
	for {
		if err == nil {
			err = f.poll(ctx, time.Now())
		}
		if err == nil {
			err = f.out.Flush()
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

// EventWriter is an output format of Follow. Its errors are write errors.
type EventWriter interface {
	WriteHeader(now time.Time) error
	RecordQuery() observe.Query
	WriteRecord(observe.Record) error
	WriteSnapshot(context.Context, observe.Snapshot) error
	// WriteNotice reports a change of the connection to the source.
	WriteNotice(Notice) error
	// Flush is called after each poll of the source.
	Flush() error
}

// Notice is an event of the connection to a source, not of the control plane.
type Notice struct {
	Kind   string    `json:"kind"` // missed, disconnected, connected or restarted
	Time   time.Time `json:"time"`
	Missed uint64    `json:"missed,omitempty"` // records
	Error  string    `json:"error,omitempty"`
}

// follower polls a source and passes what it returns to an EventWriter.
type follower struct {
	src          observe.Source
	out          EventWriter
	after        uint64
	snapshotAt   time.Time // when the last snapshot was requested
	started      time.Time // start time of the observed process
	disconnected bool
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
		if err := f.out.WriteNotice(Notice{Kind: "restarted", Time: now}); err != nil {
			return err
		}
	}
	f.started = s.Process.Started
	return f.out.WriteSnapshot(ctx, s)
}

func (f *follower) pollRecords(ctx context.Context, now time.Time) error {
	q := f.out.RecordQuery()
	q.After = f.after
	page, err := f.src.Records(ctx, q)
	if apierrors.IsGone(err) { // the process was restarted between two polls
		return f.pollSnapshot(ctx, now)
	}
	if err := f.noteConnection(ctx, now, err); err != nil || f.disconnected || ctx.Err() != nil {
		return err
	}
	f.after = page.Next
	if page.Missed > 0 {
		if err := f.out.WriteNotice(Notice{Kind: "missed", Time: now, Missed: page.Missed}); err != nil {
			return err
		}
	}
	for _, r := range page.Records {
		if err := f.out.WriteRecord(r); err != nil {
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
		return f.out.WriteNotice(Notice{Kind: "disconnected", Time: now, Error: err.Error()})
	}
	return f.out.WriteNotice(Notice{Kind: "connected", Time: now})
}

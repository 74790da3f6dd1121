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
	pullTime   = 250 * time.Millisecond // between two looks for records
	statusTime = time.Second            // between two snapshots
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
	f := follower{src: src, after: o.After, face: &plain{w: &out}}
	if o.JSON {
		f.face = &jsonLines{w: &out}
	}
	ticker := time.NewTicker(pullTime)
	defer ticker.Stop()
	err := f.face.begin(time.Now())
	for {
		if err == nil {
			err = f.turn(ctx, time.Now())
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

// face is how Follow writes. Its errors are of what cannot be written.
type face interface {
	begin(now time.Time) error
	query() observe.Query
	record(observe.Record) error
	snapshot(observe.Snapshot) error
	// say tells what became of the source.
	say(notice) error
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
	src     observe.Source
	face    face
	after   uint64
	asked   time.Time // for the last snapshot
	started time.Time // the process that is followed
	lost    bool
}

func (f *follower) turn(ctx context.Context, now time.Time) error {
	if f.lost { // what comes back may be another process, which counts anew
		if err := f.snapshot(ctx, now); err != nil || f.lost {
			return err
		}
	}
	if err := f.records(ctx, now); err != nil || f.lost {
		return err
	}
	if now.Sub(f.asked) < statusTime {
		return nil
	}
	return f.snapshot(ctx, now)
}

func (f *follower) snapshot(ctx context.Context, now time.Time) error {
	f.asked = now
	s, err := f.src.Snapshot(ctx)
	if err := f.reached(ctx, now, err); err != nil || f.lost || ctx.Err() != nil {
		return err
	}
	if !f.started.IsZero() && !s.Process.Started.Equal(f.started) {
		f.after = 0
		if err := f.face.say(notice{Kind: "restarted", Time: now}); err != nil {
			return err
		}
	}
	f.started = s.Process.Started
	return f.face.snapshot(s)
}

func (f *follower) records(ctx context.Context, now time.Time) error {
	q := f.face.query()
	q.After = f.after
	page, err := f.src.Records(ctx, q)
	if err := f.reached(ctx, now, err); err != nil || f.lost || ctx.Err() != nil {
		return err
	}
	f.after = page.Next
	if page.Missed > 0 {
		if err := f.face.say(notice{Kind: "missed", Time: now, Missed: page.Missed}); err != nil {
			return err
		}
	}
	for _, r := range page.Records {
		if err := f.face.record(r); err != nil {
			return err
		}
	}
	return nil
}

// reached notes whether the source answered, and says so when that changed.
func (f *follower) reached(ctx context.Context, now time.Time, err error) error {
	if ctx.Err() != nil || f.lost == (err != nil) {
		return nil
	}
	f.lost = err != nil
	if f.lost {
		return f.face.say(notice{Kind: "disconnected", Time: now, Error: err.Error()})
	}
	return f.face.say(notice{Kind: "connected", Time: now})
}

package trace

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/ctrlplane/ctrlplane/observe"
)

const (
	pollInterval = 250 * time.Millisecond // between two requests for records
	maxRecords   = 100_000                // kept while following

	// syncPolls and outsidePolls are the number of polls for which a node is held
	// back: a sync until the record of its end arrives, an outside write in case the
	// record of its call arrives.
	syncPolls    = 20
	outsidePolls = 2
)

// Query selects the records that a trace is built from.
func Query() observe.Query {
	return observe.Query{Causes: true, Kinds: []observe.Kind{observe.KindDelivered, observe.KindCalled, observe.KindSynced, observe.KindLogged}}
}

// ReadRecords reads the records of a trace and sets the options that describe them.
func (o *Options) ReadRecords(ctx context.Context, source observe.Source) ([]observe.Record, error) {
	q := Query()
	q.After = o.After
	began := time.Now()
	page, err := source.Records(ctx, q)
	if err != nil {
		return nil, err
	}
	o.Missed, o.CompleteAfter = page.Missed, page.CompleteAfter
	o.State, err = source.Snapshot(ctx)
	o.readAt = o.State.Time.Add(-time.Since(began)) // by the clock of the control plane
	return page.Records, err
}

// maxAskedKeys is of how many objects all failing controllers are asked for: they are in a URL.
const maxAskedKeys = 500

// ReadFailing adds to the state what fails for an object and for those that were created for it: of a controller with many
// failing keys, a snapshot lists the newest only.
func (o *Options) ReadFailing(ctx context.Context, source observe.Source, records []observe.Record, about observe.Object) error {
	if !slices.ContainsFunc(o.State.Controllers, func(c observe.Controller) bool { return c.MoreFailing > 0 }) {
		return nil
	}
	var keys []string
	for _, object := range neededBy(records, about) {
		keys = append(keys, object.Key())
	}
	now, err := observe.SnapshotWithKeys(ctx, source, keys[:min(len(keys), maxAskedKeys)]...)
	if err != nil {
		return err
	}
	failing := map[string][]observe.FailingKey{}
	for _, c := range now.Controllers {
		failing[c.Name] = c.Failing
	}
	o.State.Controllers = slices.Clone(o.State.Controllers)
	for i := range o.State.Controllers {
		if c := &o.State.Controllers[i]; c.MoreFailing > 0 {
			c.Failing = failing[c.Name]
		}
	}
	return nil
}

// Follow writes what an object sets off while it happens, until the context ends. The
// format is Text or JSON, which has one node without its children per line.
func Follow(ctx context.Context, w io.Writer, src observe.Source, about observe.Object, o Options, f Format, s Style) error {
	if f != Text && f != JSON {
		return fmt.Errorf("trace: format %s cannot be followed: use text or json", f)
	}
	o.following = true
	o.Missed, o.CompleteAfter = 0, 0 // all records are read again
	fo := &follower{
		about: about, options: o, format: f, painter: newPainter(s, phrases{}),
		written: map[string]bool{}, polls: map[string]int{},
	}
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	q := Query()
	for {
		page, err := src.Records(ctx, q)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return fmt.Errorf("follow: %w", err)
		}
		q.After = page.Next
		if err := fo.addPage(w, page); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// follower writes each node once.
type follower struct {
	about    observe.Object
	options  Options
	format   Format
	painter  *painter
	records  []observe.Record
	written  map[string]bool
	polls    map[string]int // of nodes that are held back
	heldBack bool
	started  bool
}

func (f *follower) addPage(w io.Writer, page observe.Page) error {
	if len(page.Records) == 0 && !f.heldBack {
		return nil
	}
	f.records = append(f.records, page.Records...)
	f.options.Missed += page.Missed
	f.options.CompleteAfter = max(f.options.CompleteAfter, page.CompleteAfter)
	if over := len(f.records) - maxRecords; over > 0 {
		f.options.CompleteAfter = max(f.options.CompleteAfter, f.records[over-1].Seq)
		f.records = slices.Delete(f.records, 0, over)
		f.options.Missed += uint64(over)
	}
	t, err := Build(f.records, f.about, f.options)
	if errors.Is(err, ErrNoRecords) {
		return nil
	}
	if err != nil {
		return err
	}
	f.heldBack = false
	f.painter.phrases = newPainter(f.painter.Style, t.phrases()).phrases
	f.painter.fitTimes(t.All())
	f.writeHeader(t)
	for _, n := range t.Roots {
		if err := f.writeNew(item{n, n}, 0); err != nil {
			return err
		}
	}
	_, err = io.WriteString(w, f.painter.b.String())
	f.painter.b.Reset()
	return err
}

// writeHeader writes the header once.
func (f *follower) writeHeader(t *Tree) {
	if f.started {
		return
	}
	f.started = true
	if f.format == Text {
		fmt.Fprintf(&f.painter.b, "What %s sets off, from %s\n", f.painter.strong(f.painter.fullName(t.About)), f.painter.formatClock(t.Start))
		f.painter.writeIncomplete(t)
	}
}

// writeNew writes an item and those below it that have not been written.
func (f *follower) writeNew(it item, depth int) error {
	n := it.node
	if f.holdBack(n) {
		return nil
	}
	if !f.written[n.ID] {
		f.written[n.ID] = true
		if err := f.writeItem(it, depth); err != nil {
			return err
		}
	}
	for _, c := range childItems(n) {
		if err := f.writeNew(c, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// holdBack reports whether it is too early to write n.
func (f *follower) holdBack(n *Node) bool {
	polls := 0
	switch {
	case f.written[n.ID]:
	case n.Open:
		polls = syncPolls
	case n.Kind == Outside:
		polls = outsidePolls
	}
	if f.polls[n.ID] >= polls {
		delete(f.polls, n.ID)
		return false
	}
	f.polls[n.ID]++
	f.heldBack = true
	return true
}

func (f *follower) writeItem(it item, depth int) error {
	p := f.painter
	if f.format == JSON {
		if it.top != it.node && !f.written[it.top.ID] {
			f.written[it.top.ID] = true
			if err := f.writeItem(item{it.top, it.top}, depth); err != nil {
				return err
			}
		}
		alone := *it.node
		alone.Children = nil
		return writeJSONLine(&p.b, alone)
	}
	text := p.describeLink(it.node)
	if it.top != it.node {
		text = p.describeLink(it.top) + ", " + p.describeSync(it.node)
	}
	switch {
	case it.node.isRetriedConflict(), it.node.isNormalRetry():
		text = p.warn(text)
	case it.node.Failed:
		text = p.bad(text)
	}
	indent := strings.Repeat("  ", depth)
	p.writeLine(it.after(), indent, indent, text)
	return nil
}

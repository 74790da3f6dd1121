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
	pullTime = 250 * time.Millisecond // between two looks for records
	mostKept = 100_000                // records, while following

	// For how many looks a node is held back: a sync for the record of its end, a
	// write from outside for that of the call that may yet prove to have made it.
	syncLooks    = 20
	outsideLooks = 2
)

// Query selects what a trace is built from.
func Query() observe.Query {
	return observe.Query{Kinds: []observe.Kind{observe.KindDelivered, observe.KindCalled, observe.KindSynced, observe.KindLogged}}
}

// Follow writes what comes of an object while it happens, a line each, until
// the context ends: as text, or as JSON, a node without its children a line.
func Follow(ctx context.Context, w io.Writer, src observe.Source, about observe.Object, o Options, f Format, s Style) error {
	if f != Text && f != JSON {
		return fmt.Errorf("trace: %s cannot be followed: use text or json", f)
	}
	fo := &follower{
		about: about, options: o, format: f, painter: newPainter(s, about.Namespace),
		told: map[string]bool{}, looks: map[string]int{},
	}
	ticker := time.NewTicker(pullTime)
	defer ticker.Stop()
	q := Query()
	for {
		page, err := src.Records(ctx, q)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return fmt.Errorf("cannot follow: %w", err)
		}
		q.After = page.Next
		if err := fo.turn(w, page); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// follower tells each node once.
type follower struct {
	about   observe.Object
	options Options
	format  Format
	painter *painter
	records []observe.Record
	told    map[string]bool
	looks   map[string]int // at nodes that are held back
	holding bool
	begun   bool
}

func (f *follower) turn(w io.Writer, page observe.Page) error {
	if len(page.Records) == 0 && !f.holding {
		return nil
	}
	f.records = append(f.records, page.Records...)
	f.options.Missed += page.Missed
	if over := len(f.records) - mostKept; over > 0 {
		f.records = slices.Delete(f.records, 0, over)
		f.options.Missed += uint64(over)
	}
	t, err := Build(f.records, f.about, f.options)
	if errors.Is(err, ErrUntouched) {
		return nil
	}
	if err != nil {
		return err
	}
	f.holding = false
	f.begin(t)
	for _, n := range t.Roots {
		if err := f.tell(item{n, n}, 0); err != nil {
			return err
		}
	}
	_, err = io.WriteString(w, f.painter.b.String())
	f.painter.b.Reset()
	return err
}

// begin writes what is said once.
func (f *follower) begin(t *Tree) {
	if f.begun {
		return
	}
	f.begun = true
	if f.format == Text {
		fmt.Fprintf(&f.painter.b, "What comes of %s, from %s on\n", f.painter.strong(t.About.String()), f.painter.clock(t.Start))
		f.painter.notice(t.Missed, t.first())
	}
}

// tell writes an item and what is below, as far as it is new.
func (f *follower) tell(it item, depth int) error {
	n := it.node
	if f.hold(n) {
		return nil
	}
	if !f.told[n.ID] {
		f.told[n.ID] = true
		if err := f.write(it, depth); err != nil {
			return err
		}
	}
	items, _ := below(n)
	for _, c := range items {
		if err := f.tell(c, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// hold says whether it is too early to tell n.
func (f *follower) hold(n *Node) bool {
	looks := 0
	switch {
	case f.told[n.ID]:
	case n.Open:
		looks = syncLooks
	case n.Kind == Outside:
		looks = outsideLooks
	}
	if f.looks[n.ID] >= looks {
		delete(f.looks, n.ID)
		return false
	}
	f.looks[n.ID]++
	f.holding = true
	return true
}

func (f *follower) write(it item, depth int) error {
	p := f.painter
	if f.format == JSON {
		if it.top != it.node && !f.told[it.top.ID] {
			f.told[it.top.ID] = true
			if err := f.write(item{it.top, it.top}, depth); err != nil {
				return err
			}
		}
		alone := *it.node
		alone.Children = nil
		return line(&p.b, alone)
	}
	text := p.link(it.node)
	if it.top != it.node {
		text = p.link(it.top) + ", " + p.sync(it.node)
	}
	if it.node.failed() {
		text = p.bad(text)
	}
	p.line(&it.top.After, strings.Repeat("  ", depth), text)
	return nil
}

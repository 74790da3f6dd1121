package live

import (
	"context"
	"net/http"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/ctrlplane/ctrlplane/internal/words"
	"github.com/ctrlplane/ctrlplane/observe"
	"github.com/ctrlplane/ctrlplane/observe/trace"
	"github.com/ctrlplane/ctrlplane/ui"
)

// storyResult is the message with the trace of an object, why it exists, or which one a key stands for.
type storyResult struct {
	action      action
	title, text string
	object      observe.Object
	nextWhy     trace.What // see textView.nextWhy
	err         error
	generation  int // of what was shown when it was asked for
}

// selectedObject returns the object under the cursor; nil if there is none.
func (m model) selectedObject() *observe.Object {
	if m.overlay == textOverlay {
		return m.text.object
	}
	s := m.currentScreen()
	if s.focus == feedPane {
		if e, ok := m.selectedEntry(); ok {
			return describeRecord(e.record).object
		}
	}
	switch s.kind {
	case objectScreen:
		if o := m.detailObject(); s.focus == upperPane && o != nil {
			return o
		}
		return &s.object
	case browserScreen:
		return m.selectedBrowsed()
	}
	return nil
}

// detailObject returns the object that the line under the cursor in the upper pane of a page
// names; nil if it names none.
func (m model) detailObject() *observe.Object {
	a := m.screenAreas()
	if a.tooSmall {
		return nil
	}
	n, h := m.upperSize(a)
	if i := m.currentScreen().view.clampToList(n, h).cursor; i < n {
		return m.pageDetails(a.upper.w - detailMargin)[i].object
	}
	return nil
}

// queueKey is a key of a controller's work queue. Queues do not say which object it stands for.
type queueKey struct{ controller, queue, key string }

// selectedKey returns the key of the sync under the cursor, or the one that fails of the
// controller under it; nil if there is none.
func (m model) selectedKey() *queueKey {
	if m.overlay == textOverlay {
		return m.text.key
	}
	s := m.currentScreen()
	if s.focus == feedPane {
		if e, ok := m.selectedEntry(); ok {
			return keyOf(e.record)
		}
		return nil
	}
	var r row
	switch {
	case s.kind == queuesScreen && s.view.cursor < len(m.rows):
		r = m.rows[s.view.cursor]
	case s.kind == controllerScreen:
		if c, ok := m.findController(s.controller); ok {
			r.info = &c
		}
	}
	if r.info != nil {
		if f, ok := r.failingKey(); ok {
			return &queueKey{r.info.Name, f.Queue, f.Key}
		}
	}
	return nil
}

// keyOf returns the key of a sync; nil for other records.
func keyOf(r observe.Record) *queueKey {
	if e, is := r.Event.(*observe.Synced); is {
		return &queueKey{e.Controller, e.Queue, e.Key}
	}
	return nil
}

// target is what t, w and e are about: an object or, without one, that of a key.
type target struct {
	object *observe.Object
	key    *queueKey
	what   trace.What // that w explains; "" = the first change that is recorded
}

// selectedChange returns which change of the selected object w explains: its creation, its last change or its
// deletion, whichever the line of Activity is, or the next one after that which the shown text explains.
func (m model) selectedChange() trace.What {
	if m.overlay == textOverlay {
		return m.text.nextWhy
	}
	if e, ok := m.selectedEntry(); ok && m.currentScreen().focus == feedPane {
		return whatOf(e.record)
	}
	return ""
}

// whatOf returns which kind of change of its object a record is; "" if it is none. A Kubernetes Event is shown as a line
// about another object than the one that it creates.
func whatOf(r observe.Record) trace.What {
	e, is := r.Event.(*observe.Called)
	switch {
	case !is, e.Event != nil, e.DryRun, e.Status == 0, e.Status >= http.StatusBadRequest, observe.IsRead(e.Verb), e.Verb == observe.VerbRestore:
		return ""
	case e.Verb == "delete", e.Verb == "deletecollection", e.Subresource == "eviction":
		return trace.Deleted
	case observe.Creates(e.Verb, e.Subresource, e.Status):
		return trace.Created
	}
	return trace.Changed
}

// tellStory fetches what happened because of the selected object, or what led to it; for its YAML, which object a key
// stands for.
func (m model) tellStory(a action) (model, tea.Cmd) {
	of := target{m.selectedObject(), m.selectedKey(), m.selectedChange()}
	switch {
	case of.object == nil && of.key == nil:
		m.message = m.nothingSelectedText()
		return m, nil
	case of.object == nil && of.key.key == "":
		m.message = "the key of this sync is not known: its calls and log lines name no object"
		return m, nil
	}
	m.message = "reading the records" + m.theme.ellipsis()
	return m, m.storyCmd(a, of)
}

// nothingSelectedText says how to select an object: in the past none can be listed.
func (m model) nothingSelectedText() string {
	text := "no object is selected: select a line of Activity with one"
	switch {
	case m.showsOutput():
		text = "no object is selected: o shows Activity"
	case !inFeed(m):
		text = "no object is selected: tab goes to Activity, select a line there"
	}
	if m.past != nil || m.browser == nil {
		return text
	}
	return text + ", or type : and a kind"
}

// storyCmd returns a command that tells a story in the background.
func (m model) storyCmd(a action, of target) tea.Cmd {
	outer, generation, tell := m.ctx, m.generation, m.storyFunc(a, of)
	return func() tea.Msg {
		ctx, cancel := context.WithTimeout(outer, pullTimeout)
		defer cancel()
		r := tell(ctx)
		r.action, r.generation = a, generation
		return r
	}
}

// storyFunc tells the story of a target.
func (m model) storyFunc(a action, of target) func(context.Context) storyResult {
	source, browser, isPast := m.shownSource(), m.browser, m.past != nil
	style := trace.Style{ASCII: m.theme.ascii, Zone: m.zone, Width: max(m.width-3, minWidth)}
	return func(ctx context.Context) storyResult {
		var options trace.Options
		records, err := options.ReadRecords(ctx, source)
		if err != nil {
			return storyResult{err: err}
		}
		var o observe.Object
		if of.object != nil {
			o = *of.object
		} else if o, err = trace.FindKey(records, of.key.controller, of.key.queue, of.key.key); err != nil {
			return storyResult{err: err}
		}
		switch a {
		case toggleYAML:
			return storyResult{object: o, title: o.String()}
		case showTrace:
			return traceStory(records, o, options, style)
		}
		if err := options.ReadFailing(ctx, source, records, o); err != nil {
			return storyResult{err: err}
		}
		options.What, options.WhyNext = of.what, "w"
		why := ui.Why{About: o, Options: options, Trace: "The key t"}
		switch {
		case isPast:
			why.State.Recorded = true
		case browser != nil:
			why.Describe = func(o observe.Object) ui.ObjectState { return browser.Describe(ctx, o) }
			why.State = why.Describe(o)
		}
		return whyStory(why, records, style)
	}
}

func traceStory(records []observe.Record, o observe.Object, options trace.Options, style trace.Style) storyResult {
	var text strings.Builder
	tree, err := trace.Build(records, o, options)
	if err == nil {
		err = tree.Write(&text, trace.Text, style)
	}
	return storyResult{object: o, title: "Trace of " + o.String(), text: text.String(), err: err}
}

// whyStory explains the change that is asked for or, if that is not recorded, the first that is.
func whyStory(why ui.Why, records []observe.Record, style trace.Style) storyResult {
	var text strings.Builder
	chain, err := why.ChainOrFirst(records, style)
	r := storyResult{object: why.About, title: "Why " + why.About.String()}
	if err == nil {
		r.err, r.nextWhy = chain.Write(&text, trace.Text, style), chain.Next()
		r.text = text.String()
		return r
	}
	err = why.Write(&text, records, trace.Text, style)
	if err != nil && text.Len() > 0 { // what is known at present
		text.WriteString("\n" + err.Error() + "\n")
		err = nil
	}
	r.text, r.err = text.String(), err
	return r
}

// applyStory shows a story, unless what it is about is not shown any more. One that arrives while
// keys answer a question is dropped: it would cover the question, and the next key would still
// answer it.
func (m model) applyStory(r storyResult) model {
	if r.generation != m.generation {
		return m
	}
	m.message = ""
	switch {
	case r.err != nil:
		m.message = words.OneLine(r.err.Error())
		return m
	case m.asksUser() || m.reading != 0:
		m.message = words.OneLine(r.title) + " is not shown: something else was asked or typed when it arrived"
		return m
	case r.action == toggleYAML:
		return m.openYAML(r.object)
	}
	return m.openText(textView{title: r.title, object: &r.object, nextWhy: r.nextWhy, copied: r.text, lines: plainLines(r.text)})
}

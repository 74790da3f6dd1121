package trace

import (
	"embed"
	"html/template"
	"io"
	"strconv"

	"github.com/ctrlplane/ctrlplane/internal/webpage"
	"github.com/ctrlplane/ctrlplane/internal/words"
)

//go:embed assets
var assets embed.FS

var pageTemplate = template.Must(template.ParseFS(assets, "assets/page.html"))

// page is the data of the template.
type page struct {
	Policy string
	Style  template.CSS
	Script template.JS

	Title, Summary, Took, Day string
	Dropped                   string // says that records were dropped
	Idle, Unexplained         string // say what was left out
	Diagram                   diagram
}

// diagram is what the page's script draws: actors as columns, steps downwards.
type diagram struct {
	Actors []string   `json:"actors"` // the first one is the API server
	Steps  []pageStep `json:"steps"`  // in chronological order
}

// pageStep is a node of the tree, or several that are folded.
type pageStep struct {
	Kind   Kind        `json:"kind"`
	Actor  int         `json:"actor"` // index of the controller or client
	Clock  string      `json:"clock"` // since the start
	Label  string      `json:"label"`
	Tone   string      `json:"tone"`  // "", bad or conflict
	Cause  int         `json:"cause"` // index of the step that caused it; -1 = none
	Likely bool        `json:"likely,omitempty"`
	Facts  [][2]string `json:"facts"` // names and values
}

// foldedKind is the kind of a step that stands for several nodes. No node has it.
const foldedKind Kind = "folded"

// apiServer is the name of the first actor.
const apiServer = "API server"

// writePage writes a web page that needs no other file.
func (t *Tree) writePage(w io.Writer) error {
	p := t.phrases()
	style, script := webpage.Asset(assets, "assets/page.css"), webpage.Asset(assets, "assets/page.js")
	return pageTemplate.Execute(w, &page{
		Policy: webpage.ContentPolicy(style, script), Style: template.CSS(style), Script: template.JS(script),
		Title: p.fullName(t.About), Summary: t.summarize(p), Took: p.formatDuration(t.Took),
		Day: t.Start.UTC().Format("2006-01-02 15:04:05 UTC"), Dropped: t.droppedNote(), Idle: t.idleNote(), Unexplained: t.unexplainedNote(p), Diagram: p.newDiagram(t),
	})
}

func (p phrases) newDiagram(t *Tree) diagram {
	d := diagram{Actors: []string{apiServer}, Steps: []pageStep{}}
	steps := t.drawnSteps()
	at, index := map[string]int{}, map[string]int{}
	for i, s := range steps {
		name := p.actor(s.first())
		if at[name] == 0 {
			at[name] = len(d.Actors)
			d.Actors = append(d.Actors, name)
		}
		for _, n := range s.nodes {
			index[n.ID] = i
		}
	}
	for i, s := range steps {
		n := s.first()
		drawn := pageStep{
			Kind: n.Kind, Actor: at[p.actor(n)], Clock: "+" + p.formatOffset(n.After), Label: words.OneLine(p.stepLabel(n)), Tone: stepTone(s.shown),
			Cause: -1, Facts: p.stepFacts(n),
		}
		if s.folded != "" {
			drawn.Kind, drawn.Label, drawn.Facts = foldedKind, s.foldedText(), [][2]string{{"What", s.foldedText() + seeAll}}
		}
		if n.Cause != nil {
			if from, known := index[n.Cause.ID]; known && from != i {
				drawn.Cause, drawn.Likely = from, n.isLikely()
			}
		}
		d.Steps = append(d.Steps, drawn)
	}
	return d
}

// stepLabel describes a node in a few words, without its actor.
func (p phrases) stepLabel(n *Node) string {
	switch {
	case n.Kind == Sync:
		return "sync " + p.keyName(n)
	case n.Kind == Event:
		return p.eventLabel(n)
	case n.Conflict:
		return p.requestName(n) + ": conflict"
	case n.gotError():
		return p.requestName(n) + ": " + strconv.Itoa(n.Status)
	}
	return p.requestName(n)
}

// stepTone says whether a node has failed: a conflict or a stale cache is expected, and retried.
func stepTone(n *Node) string {
	switch {
	case n.Conflict || n.isNormalRetry():
		return "conflict"
	case n.Failed:
		return "bad"
	}
	return ""
}

// stepFacts returns what is known about a node, as names and values.
func (p phrases) stepFacts(n *Node) (facts [][2]string) {
	add := func(name, value string) {
		if value = words.OneLine(value); value != "" {
			facts = append(facts, [2]string{name, value})
		}
	}
	switch n.Kind {
	case Event:
		add("What", p.actor(n)+" "+describeEvent(p, n))
	case Sync:
		add("What", p.actor(n)+" "+p.describeSync(n))
	default:
		add("What", p.actor(n)+" "+p.describeWrite(n))
	}
	add("Time", n.Time.UTC().Format("15:04:05.000"))
	if n.Took > 0 {
		add("Took", p.formatDuration(n.Took))
	}
	if n.Kind == Sync {
		add("Waited in the queue", p.formatDuration(n.Waited))
		add("Queue", n.Queue)
	}
	if n.Status != 0 {
		add("Status", strconv.Itoa(n.Status))
	}
	add("Version", n.ResourceVersion)
	add("Error", n.Error)
	for _, l := range n.LogLines {
		add("Log", l)
	}
	for _, w := range n.Webhooks {
		add("Admission", describeWebhook(w, n.Failed))
	}
	if n.Forced != nil {
		add("Forced", describeForced(n.Forced))
	}
	for _, w := range n.Warnings {
		add("Warning", w)
	}
	if n.Cause != nil {
		certainty := "certain"
		if n.isLikely() {
			certainty = "likely"
		}
		add("Cause", certainty+", known by "+ruleWords[n.Cause.Rule])
	}
	for _, left := range []struct {
		n    int
		what string
	}{{n.Idle, "sync"}, {n.Empty, "delete"}, {n.UnchangedWrites, "write"}, {n.Deeper, "step"}} {
		if left.n > 0 {
			add("Not shown", words.Count(left.n, left.what)+notShownWhy[left.what])
		}
	}
	return facts
}

var notShownWhy = map[string]string{
	"sync": " that changed nothing", "delete": " of collections that changed nothing", "write": " that changed nothing", "step": " below",
}

// ruleWords says in a few words how a link is known; the package comment says more.
var ruleWords = map[Rule]string{
	ByCall: "the sync that made the call", ByKey: "the sync that ran meanwhile", ByStorage: "the version in the storage", ByVersion: "the version of the object",
	ByDeletion: "the deletion of the object", ByWrite: "the time of the write", ByAdd: "the number of the add to the queue", ByRetry: "the retry of the key",
	BySync: "the sync that added the key", ByDelay: "the delay of the key", ByMerge: "an add that was merged with another one",
	ByReplaced: "the deletion of an object that was replaced", ByWatch: "the client's watch",
	ByStatus: "the API server's controllers that set conditions",
}

// Text describes a step for readers of the page without a script.
func (s pageStep) Text() string { return s.Clock + " " + s.Facts[0][1] }

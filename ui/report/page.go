package report

import (
	"embed"
	"fmt"
	"html/template"
	"io"
	"strings"
	"time"

	"github.com/ctrlplane/ctrlplane/internal/webpage"
	"github.com/ctrlplane/ctrlplane/internal/words"
	"github.com/ctrlplane/ctrlplane/ui"
)

//go:embed assets
var assets embed.FS

// scripts are the parts of the page's script, in load order.
var scripts = []string{"model", "span", "draw", "timeline", "overview", "queues", "records", "tables", "main"}

var pageTemplate = template.Must(template.New("report.html").Funcs(template.FuncMap{
	"span": words.Duration, "n": ui.GroupDigits[uint64], "i": ui.GroupDigits[int64], "count": func(n int, what string) string { return ui.CountNoun(n, what) },
}).ParseFS(assets, "assets/report.html"))

// page is the data of the template.
type page struct {
	Policy string
	Style  template.CSS
	Script template.JS

	*Outcome
	Verdict, CommandLine, Kubernetes, Version string
	Reasons                                   []string
	Failed                                    bool
	Facts                                     []fact
	Warnings                                  []string // of assertions that hold, and about the report itself
	Unhealthy                                 []unhealthyObject
	Deleted                                   []deletedObject
	DeletedNotes                              []string
	Objects, Cases                            int
	Slow                                      []slowSync
	Groups                                    []Group
	Events                                    []apiEvent
	Actors                                    []actor
	Timeline                                  timeline
	Output, OutputRest                        []outputLine // the rest follows what is left out
	OutputDropped                             int
	Ending                                    excerpt // of the output, if the command has failed
	Files                                     []string
}

// fact is a number with its name.
type fact struct {
	Value, Name string
	Bad         bool
}

func newPage(o *Outcome, r *Report) *page {
	d, s := r.digest, r.final
	actors := d.listActors(s.snapshot.Controllers)
	lines, head, dropped := r.output.outputLines()
	p := &page{
		Style: template.CSS(readAsset("report.css")), Script: joinScripts(),
		Outcome: o, Verdict: o.resultText(), Reasons: o.allReasonLines(), CommandLine: o.commandLine(), Failed: o.hasFailed(),
		Kubernetes: s.snapshot.Process.Kubernetes, Version: s.snapshot.Process.Version,
		Facts: runFacts(d, s, actors), Unhealthy: s.unhealthy, Deleted: s.deleted.objects, DeletedNotes: s.deleted.Notes(), Objects: len(s.objects), Cases: len(s.cases),
		Slow: d.slow, Groups: d.groups.sortedGroups(), Events: s.events, Actors: actors,
		Timeline: newTimeline(d, o, outputMarks(lines)),
		Files:    []string{OutputFile, EventsFile, ObjectsFile, JUnitFile, LogFile},
		Output:   lines[:head], OutputRest: lines[head:], OutputDropped: dropped,
	}
	if o.commandFailed() {
		p.Ending = r.output.ending()
	}
	p.Policy = webpage.ContentPolicy(string(p.Style), string(p.Script))
	p.Warnings = append(o.warnings(), reportWarnings(r)...)
	return p
}

// At formats a time on the timeline.
func (p *page) At(t time.Time) string { return fmt.Sprintf("%.3f s", t.Sub(p.Began).Seconds()) }

// Millis returns a time on the timeline in the unit of the script.
func (p *page) Millis(t time.Time) float64 { return toMillis(t.Sub(p.Began)) }

// Day formats a date and time.
func (p *page) Day(t time.Time) string { return t.Format("2006-01-02 15:04:05 MST") }

// lineRow is a line of output in the form of the template.
type lineRow struct {
	outputLine
	Millis float64
	Time   string
}

// Line prepares a line of output.
func (p *page) Line(l outputLine) lineRow { return lineRow{l, p.Millis(l.At), p.At(l.At)} }

func (p *page) Key(s slowSync) string { return ui.FormatKey(s.Key, s.KeyBasis) }

// reportWarnings lists what the report lacks.
func reportWarnings(r *Report) []string {
	var all []string
	if n := r.missedRecords(); n > 0 {
		all = append(all, fmt.Sprintf("Missed %s: dropped before they could be read. Raise --observe-records.", ui.CountNoun(n, "record")))
	}
	if n := r.digest.marks.dropped; n > 0 {
		all = append(all, fmt.Sprintf("The timeline omits %s, short successful syncs first. %s has all records.", ui.CountNoun(n, "record"), EventsFile))
	}
	if n := r.digest.groups.dropped; n > 0 {
		all = append(all, fmt.Sprintf("The list of errors omits %s. %s has all records.", ui.CountNoun(n, "error"), EventsFile))
	}
	if n := r.final.droppedEvents; n > 0 {
		all = append(all, fmt.Sprintf("The list of Events omits %s. %s has all Events.", ui.CountNoun(n, "older Event"), ObjectsFile))
	}
	if r.final.incomplete != nil {
		for line := range strings.SplitSeq(r.final.incomplete.Error(), "\n") {
			all = append(all, words.OneLine(line))
		}
	}
	return all
}

// runFacts returns the numbers of the top row, which are sums of the columns of the table of controllers and clients.
func runFacts(d *digest, s *State, actors []actor) []fact {
	t := total(actors)
	number := func(n int64, what string) fact {
		value, name, _ := strings.Cut(ui.CountNoun(n, what), " ")
		return fact{Value: value, Name: name}
	}
	failures := func(n int, what, outcome string, lasting, untilDeleted int) fact {
		f := number(int64(n), what)
		switch f.Bad = lasting > 0; {
		case n == 0 || f.Bad:
		case untilDeleted > 0:
			f.Name += fmt.Sprintf(", %s until the object was deleted", ui.GroupDigits(untilDeleted))
		default:
			f.Name += ", " + outcome
		}
		return f
	}
	objects := []fact{number(int64(len(s.objects)), "object")}
	if len(s.objects) == 0 { // each control plane has some
		objects = []fact{{"unknown", "number of objects", false}}
	} else if bad, _ := s.NotHealthy(); !s.unjudged {
		objects = append(objects, fact{ui.GroupDigits(len(bad)), "not healthy", len(bad) > 0})
	}
	return append(objects,
		number(t.Syncs, "sync"),
		failures(d.failures.syncs, "failed sync", "all retried successfully", d.lasting.syncs, d.untilDeleted.syncs),
		number(t.Writes, "write"),
		number(t.Conflicts, "conflict"),
		failures(d.failures.calls, "failed call", "all handled", d.lasting.calls, d.untilDeleted.calls),
		number(int64(d.records), "record"),
	)
}

// summarizeRun returns a summary of the page.
func (r *Report) summarizeRun(o *Outcome) *runSummary {
	s := &runSummary{Outcome: o, folder: r.folder.path}
	s.unhealthy, _ = r.final.NotHealthy()
	if o.hasFailed() { // a test that passes may have made unhealthy objects on purpose
		s.deleted = r.final.deleted
	}
	if o.commandFailed() {
		s.output = r.output.ending()
	}
	s.numbers = append(s.numbers, words.Duration(o.Took))
	for _, f := range runFacts(r.digest, r.final, r.digest.listActors(r.final.snapshot.Controllers)) {
		s.numbers = append(s.numbers, f.Value+" "+f.Name)
	}
	if n := r.missedRecords(); n > 0 {
		s.numbers = append(s.numbers, ui.CountNoun(n, "record")+" missed")
	}
	return s
}

func writePage(w io.Writer, p *page) error { return pageTemplate.Execute(w, p) }

func readAsset(name string) string { return webpage.Asset(assets, "assets/"+name) }

func joinScripts() template.JS {
	var b strings.Builder
	b.WriteString("\"use strict\";\n(() => {\n")
	for _, name := range scripts {
		b.WriteString(readAsset(name + ".js"))
	}
	b.WriteString("})();\n")
	return template.JS(b.String())
}

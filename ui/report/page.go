package report

import (
	"cmp"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/ctrlplane/ctrlplane/observe"
)

//go:embed assets
var assets embed.FS

// scripts are the parts of the page's script, in this order.
var scripts = []string{"model", "span", "draw", "timeline", "overview", "queues", "records", "tables", "main"}

var pageTemplate = template.Must(template.New("report.html").Funcs(template.FuncMap{
	"span": span, "n": thousands[uint64], "i": thousands[int64], "count": func(n int, what string) string { return count(n, what) },
}).ParseFS(assets, "assets/report.html"))

// page is what the template is given.
type page struct {
	Policy string
	Style  template.CSS
	Script template.JS

	*Outcome
	Verdict, CommandLine, Reason, Kubernetes, Version string
	Failed                                            bool
	Facts                                             []fact
	Warnings                                          []string // of the report itself
	Unhealthy                                         []unhealthy
	Objects, Cases                                    int
	Slow                                              []slowSync
	Groups                                            []Group
	Events                                            []event
	Controllers                                       []observe.Controller
	Timeline                                          timeline
	Files                                             []string
}

// fact is a number and what it is.
type fact struct {
	Value, Name string
	Bad         bool
}

func newPage(o *Outcome, r *Report) *page {
	d, s := r.digest, r.state
	p := &page{
		Style: template.CSS(asset("report.css")), Script: script(),
		Outcome: o, Verdict: o.verdict(), CommandLine: o.command(), Failed: o.failed(),
		Kubernetes: s.snapshot.Process.Kubernetes, Version: s.snapshot.Process.Version,
		Facts: facts(d, s), Unhealthy: s.unhealthy, Objects: len(s.objects), Cases: len(s.cases),
		Slow: d.slow, Groups: d.groups.list(), Events: s.events, Controllers: active(s.snapshot.Controllers),
		Timeline: newTimeline(d, o),
		Files:    []string{EventsFile, ObjectsFile, JUnitFile, LogFile},
	}
	if o.Err != nil { // else the verdict says it
		p.Reason = o.reason()
	}
	p.Policy = policy(string(p.Style), string(p.Script))
	p.Warnings = warnings(r)
	return p
}

// At is a time on the timeline.
func (p *page) At(t time.Time) string { return fmt.Sprintf("%.3f s", t.Sub(p.Began).Seconds()) }

// Millis is a time on the timeline, as the script counts it.
func (p *page) Millis(t time.Time) float64 { return millis(t.Sub(p.Began)) }

// Day is a time for people.
func (p *page) Day(t time.Time) string { return t.Format("2006-01-02 15:04:05 MST") }

func (p *page) Key(s slowSync) string { return key(s.Synced) }

// warnings say what the report lacks.
func warnings(r *Report) []string {
	var all []string
	if n := r.missed(); n > 0 {
		all = append(all, count(n, "record")+" went before they could be read: raise --observe-records.")
	}
	if n := r.digest.marks.left; n > 0 {
		all = append(all, fmt.Sprintf("The timeline leaves out %s: short syncs that went well first. All are in %s.", count(n, "record"), EventsFile))
	}
	if n := r.digest.groups.left; n > 0 {
		all = append(all, fmt.Sprintf("%s are not listed. All are in %s.", count(n, "further error"), EventsFile))
	}
	if n := r.state.leftEvents; n > 0 {
		all = append(all, fmt.Sprintf("%s are not listed. All are in %s.", count(n, "older Event"), ObjectsFile))
	}
	if r.state.incomplete != nil {
		for line := range strings.SplitSeq(r.state.incomplete.Error(), "\n") {
			all = append(all, printable(line))
		}
	}
	return all
}

func facts(d *digest, s *state) []fact {
	t := total(s.snapshot.Controllers)
	bad := func(n int64, what string) fact { return fact{thousands(n), what, n > 0} }
	return []fact{
		{thousands(int64(len(s.objects))), "objects at the end", false},
		bad(int64(len(s.unhealthy)), "not healthy"),
		{thousands(t.Syncs), "syncs", false},
		bad(t.Failures, "failed syncs"),
		{thousands(t.Changes), "writes", false},
		{thousands(t.Conflicts), "conflicts", false},
		bad(t.Errors, "failed calls"),
		{thousands(d.records), "records", false},
	}
}

func total(controllers []observe.Controller) observe.Controller {
	var t observe.Controller
	for _, c := range controllers {
		t.Syncs += c.Syncs
		t.Failures += c.Failures
		t.Changes += c.Changes
		t.Conflicts += c.Conflicts
		t.Errors += c.Errors
	}
	return t
}

// active are the controllers that did anything, or failed, the busiest first.
func active(all []observe.Controller) []observe.Controller {
	list := slices.DeleteFunc(slices.Clone(all), func(c observe.Controller) bool {
		return c.Syncs+c.Changes+c.Delivered+c.Reads == 0 && c.State != "failed"
	})
	slices.SortStableFunc(list, func(a, b observe.Controller) int {
		return cmp.Compare(b.Syncs+b.Changes, a.Syncs+a.Changes)
	})
	return list
}

// summary is the page in short.
func (r *Report) summary(o *Outcome) *summary {
	s := &summary{Outcome: o, unhealthy: r.state.unhealthy, folder: r.folder.path}
	s.numbers = append(s.numbers, span(o.Took))
	for _, f := range facts(r.digest, r.state) {
		s.numbers = append(s.numbers, f.Value+" "+f.Name)
	}
	if n := r.missed(); n > 0 {
		s.numbers = append(s.numbers, count(n, "record")+" missed")
	}
	return s
}

func writePage(w io.Writer, p *page) error { return pageTemplate.Execute(w, p) }

// asset is a file of ours as a browser reads it: its hash counts.
func asset(name string) string {
	data, err := assets.ReadFile("assets/" + name)
	if err != nil {
		panic("report: " + err.Error()) // it is in the binary, or the binary does not build
	}
	return strings.ReplaceAll(string(data), "\r\n", "\n")
}

func script() template.JS {
	var b strings.Builder
	b.WriteString("\"use strict\";\n(() => {\n")
	for _, name := range scripts {
		b.WriteString(asset(name + ".js"))
	}
	b.WriteString("})();\n")
	return template.JS(b.String())
}

// policy lets the page use what is in it, and nothing else.
func policy(style, script string) string {
	hash := func(s string) string {
		sum := sha256.Sum256([]byte(s))
		return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	return "default-src 'none'; img-src data:; style-src " + hash(style) + "; script-src " + hash(script) + "; base-uri 'none'; form-action 'none'"
}

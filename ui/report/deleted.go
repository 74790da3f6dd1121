package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/ctrlplane/ctrlplane/internal/words"
)

const (
	maxDeleted      = 200 // objects on the page
	maxDeletedNamed = 5   // of them in a summary
)

// Deleted are the objects that were not healthy when a client asked to delete them, or the namespace that they were in, and
// the Jobs that their time to live has deleted.
type Deleted struct {
	objects    []deletedObject // those first that had existed longest: a test that fails has waited for them
	more       int             // that are not kept
	unexamined int             // requests
	why        string          // the first one was not, or not completely, examined
	expired    expiredJobs
}

// deletedObject is an object with its state before its deletion.
type deletedObject struct {
	unhealthyObject
	At      time.Time
	By      string        // the client
	With    string        // the namespace, if that was deleted
	Existed time.Duration // until then
}

// Age formats how long the object had existed. Its creation is known to the second.
func (d deletedObject) Age() string { return max(d.Existed, 0).Truncate(time.Second).String() }

func (d *Deleted) miss(err error) {
	if d.unexamined++; d.unexamined == 1 {
		d.why = words.OneLine(err.Error())
	}
}

func (d *Deleted) add(of *deletion, s *State) {
	for _, u := range s.unhealthy {
		if len(d.objects) == maxDeleted {
			d.more++
			continue
		}
		o := deletedObject{unhealthyObject: u, At: of.at, By: of.by}
		if of.isOfNamespace() {
			o.With = "Namespace " + of.names[0]
		}
		for i := range s.objects {
			if s.objects[i].GetUID() == u.uid {
				o.Existed = of.at.Sub(s.objects[i].GetCreationTimestamp().Time)
			}
		}
		d.objects = append(d.objects, o)
	}
}

func (d *Deleted) sort() {
	slices.SortStableFunc(d.objects, func(a, b deletedObject) int { return cmp.Compare(b.Existed, a.Existed) })
}

// Count returns how many objects were found.
func (d *Deleted) Count() int { return len(d.objects) + d.more }

// named returns the first objects, for a summary.
func (d *Deleted) named() (list []NotHealthy) {
	for _, o := range d.objects[:min(len(d.objects), maxDeletedNamed)] {
		list = append(list, NotHealthy{Object: o.Ref.String(), Reason: string(o.Status) + ": " + o.Reason, logs: o.Logs})
	}
	return list
}

// Notes says what is missing in the list, one line each.
func (d *Deleted) Notes() (lines []string) {
	if d.more > 0 {
		lines = append(lines, fmt.Sprintf("%s not listed: also deleted while not healthy", words.Count(d.more, "more object")))
	}
	if d.unexamined > 0 {
		lines = append(lines, d.unexaminedNote())
	}
	return lines
}

const logIndent = "  "

// WriteLines writes the lines as those of ctrlplane, whose logs follow without its name.
func (d *Deleted) WriteLines(w io.Writer, all, more string) {
	for _, line := range d.Lines(all, more) {
		if !strings.HasPrefix(line, logIndent) {
			line = "ctrlplane: " + line
		}
		fmt.Fprintln(w, line)
	}
}

func (d *Deleted) unexaminedNote() string {
	return fmt.Sprintf("what clients deleted may not have been healthy: %s not examined, or not completely: %s", words.Count(d.unexamined, "deletion"), d.why)
}

// Lines are a short list for a terminal, with indented lines of logs. all says where the whole list is, and more where lines
// are that are left out.
func (d *Deleted) Lines(all, more string) (lines []string) {
	named := d.named()
	for _, n := range named {
		lines = append(lines, "deleted while not healthy: "+n.Line())
		for _, line := range n.LogLines(more) {
			lines = append(lines, logIndent+line)
		}
	}
	if n := d.Count() - len(named); n > 0 {
		lines = append(lines, fmt.Sprintf("and %d more: %s", n, all))
	}
	if d.unexamined > 0 {
		lines = append(lines, d.unexaminedNote())
	}
	return lines
}

// SetDeleted adds what was deleted during the run.
func (s *State) SetDeleted(d Deleted) {
	s.deleted = d
	s.judgeExpired(d.expired)
}

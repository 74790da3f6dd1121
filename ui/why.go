package ui

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/ctrlplane/ctrlplane/health"
	"github.com/ctrlplane/ctrlplane/health/assert"
	"github.com/ctrlplane/ctrlplane/internal/words"
	"github.com/ctrlplane/ctrlplane/observe"
	"github.com/ctrlplane/ctrlplane/observe/trace"
)

// ObjectState is the state of an object at present, as far as it is known.
type ObjectState struct {
	Problem          string // what is wrong with it; empty if nothing is
	Log              string // says which command shows why a container of it has ended; may be empty
	Unreported       string // as health.State.Unreported
	Created          time.Time
	FailedNode       string // says that a user has failed the Node, or that of the Pod which it or Problem is about; empty if not
	Suspended        string // as health.State.Suspended
	Simulation       string // says what is not simulated about it, in sentences; may be empty
	Deletion         *health.Deletion
	Exists, Deleting bool
	// Recorded is set for a moment of a recording, which has no objects: nothing else is known then.
	Recorded bool
}

// Describer examines objects.
type Describer interface {
	// Describe returns the state of an object at present.
	Describe(ctx context.Context, o observe.Object) ObjectState
}

// Why asks what led to a change of an object.
type Why struct {
	About   observe.Object
	Options trace.Options // with what ReadRecords has set
	State   ObjectState
	// BeforeDeletion is what DescribeBeforeDeletion has returned; may be nil.
	BeforeDeletion []string
	// Describe returns the state of another object at present, as Describer does; may be nil.
	Describe func(observe.Object) ObjectState
	// Trace names what shows the trace of the object: a command, or a key.
	Trace string
	// NameFields names the fields that hot loops change, if it can; may be nil.
	NameFields func([]assert.HotLoop)
	// ExplainMissing says more about an object without records; may be nil.
	ExplainMissing func(error) error
}

// Chain returns the chain of causes with what is known of the object at present.
func (q *Why) Chain(records []observe.Record, s trace.Style) (*trace.Chain, error) {
	o := &q.Options
	unchanged := trace.FindUnchangedWrites(records, q.About)
	o.Failing, o.Working = describeFailingKeys(o.State, records, q.About, q.State.Problem), trace.Working(*o, records, q.About, s)
	o.Now = nameUIDs(q.describeProblem(unchanged, s), records)
	if o.Now != "" {
		if q.State.Log != "" {
			o.Working = append(o.Working, q.State.Log+".")
		}
	}
	if q.State.FailedNode != "" { // also before the control plane has noticed
		o.Working = append(o.Working, q.State.FailedNode+".")
	}
	if o.Now != "" {
		o.Working = append(o.Working, interventionSentences(o.State, q.About)...)
	}
	if suspended := q.State.describeSuspension(o.Now); suspended != "" {
		o.Working = append(o.Working, "It"+suspended)
	}
	if q.State.Simulation != "" {
		o.Working = append(o.Working, q.State.Simulation)
	}
	o.Working = append(o.Working, q.describeLoops(records)...)
	for _, u := range unchanged {
		if said := u.Describe(s); u.IsRepeated() && !strings.Contains(o.Now, said) {
			o.Working = append(o.Working, said+".")
		}
	}
	o.Working = append(o.Working, trace.DescribeWarnings(records, q.About, s)...)
	o.Working = append(o.Working, describeFinalizers(o.State, records, q.About, q.State.Deletion, s)...)
	withoutPast := o.Working
	o.Working = slices.Concat(o.Working, q.describePast(records, s), q.BeforeDeletion)
	chain, err := trace.Why(records, q.About, *o)
	if err == nil && chain.What == trace.Deleted {
		chain.Working = append(chain.Working, q.describeSuspendedCause(chain, records)...)
	}
	if !errors.Is(err, trace.ErrNoRecords) {
		return chain, err
	}
	o.Working = withoutPast
	switch {
	case trace.IsAwaited(o.State, q.About):
		err = fmt.Errorf("nothing is recorded of it yet: %s", strings.TrimSuffix(strings.Join(o.Working, " "), "."))
	case q.ExplainMissing != nil:
		err = q.ExplainMissing(err)
	}
	return nil, err
}

// describeSuspension says which field suspends an object, after its name; empty if none does, or if a text says so.
func (s ObjectState) describeSuspension(text string) string {
	is := s.Suspended + " is true"
	if s.Suspended == "" || strings.Contains(text, is) {
		return ""
	}
	suspended := "suspended"
	if s.Suspended == "spec.paused" {
		suspended = "paused"
	}
	return " is " + suspended + ": " + is + "."
}

// describeSuspendedCause says what is known of the object because of which another one was deleted, if it is suspended: an operator that
// queues Jobs suspends one to delete its Pods, and says why in another object.
func (q *Why) describeSuspendedCause(chain *trace.Chain, records []observe.Record) (list []string) {
	by := chain.CausedBy()
	if by == nil || q.Describe == nil {
		return nil
	}
	state := q.Describe(*by)
	if state.Suspended == "" {
		return nil
	}
	name := words.OneLine(cmp.Or(by.Kind, by.Resource) + " " + by.Name)
	if suspended := state.describeSuspension(state.Problem); suspended != "" {
		list = append(list, name+suspended)
	}
	if problem, isAboutIt := strings.CutPrefix(nameUIDs(state.Problem, records), "It "); isAboutIt {
		list = append(list, name+" "+problem)
	}
	return list
}

// ChainOrFirst is Chain or, if the change that is asked for is not recorded, that of the first one that is.
func (q *Why) ChainOrFirst(records []observe.Record, s trace.Style) (*trace.Chain, error) {
	first := *q
	chain, err := q.Chain(records, s)
	if unknown := new(trace.UnknownChangeError); !errors.As(err, &unknown) || q.Options.What == "" {
		return chain, err
	}
	*q = first
	q.Options.What = ""
	return q.Chain(records, s)
}

// describeLoops says what writes the object again and again, or creates others for it.
func (q *Why) describeLoops(records []observe.Record) (list []string) {
	if q.State.Recorded || q.Options.State.Time.IsZero() {
		return nil
	}
	loops := assert.FindLoopsOf(q.About, records, q.Options.State.Time)
	if q.NameFields != nil {
		q.NameFields(loops)
	}
	for _, l := range loops {
		list = append(list, "Hot loop: "+l.String()+".")
	}
	return list
}

// describeProblem says what is wrong with the object, and why no client reports its state, if that is known. That its
// operator is silent is not said if the operator reports that it fails or works for the object, as it may without a request.
func (q *Why) describeProblem(unchanged []*trace.UnchangedWrites, s trace.Style) string {
	if q.State.Unreported == "" {
		return q.State.Problem
	}
	at, created := place{q.State.Unreported, q.About.Namespace, q.About.Name}, q.State.Created
	if len(q.Options.Failing)+len(q.Options.Working) > 0 && hasReportedController(q.Options.State, at.resource) {
		created = time.Time{}
	}
	note := unreportedNote(q.Options.State, at, created)
	if note == "" && !q.State.Created.IsZero() {
		note = UnchangedNote(unchanged, s)
	}
	if q.State.Problem == "" {
		return missingStatus(q.Options.State, at, note)
	}
	if note != "" {
		return strings.TrimSuffix(q.State.Problem, ".") + "; " + note + "."
	}
	return q.State.Problem
}

// describePast says what a recording knows of what was wrong with an object, and that it does not know its state.
func (q *Why) describePast(records []observe.Record, s trace.Style) []string {
	if !q.State.Recorded {
		return nil
	}
	past := trace.ReadPast(q.Options.State, records, q.About, s)
	if len(past.Objects) == 0 {
		return nil
	}
	var said []string
	for _, i := range interventionsOn(q.Options.State, past.Objects) {
		said = append(said, i.String()+".")
	}
	said = append(said, past.Problems...)
	if len(said)+len(q.Options.Failing)+len(q.Options.Working) == 0 {
		return nil
	}
	return append(said, readinessUnknown)
}

const readinessUnknown = "Whether it was ready is not known: a recording has no objects."

// DescribeBeforeDeletion returns what is known of an object that was deleted later, at the moment of the question: a
// sentence each for what was wrong with it.
func (q *Why) DescribeBeforeDeletion(records []observe.Record, s trace.Style) (list []string) {
	chain, err := q.Chain(records, s)
	said := slices.Concat(q.Options.Failing, q.Options.Working)
	if err == nil {
		said = slices.Concat(chain.Failing, chain.Working)
	}
	for _, sentence := range said {
		if sentence != readinessUnknown {
			list = append(list, "Before its deletion: "+sentence)
		}
	}
	return list
}

// Write writes the chain of causes and what is known of the object at present. If the change is not
// recorded it writes the latter, and returns why unless that answers the question.
func (q *Why) Write(out io.Writer, records []observe.Record, f trace.Format, s trace.Style) error {
	chain, err := q.Chain(records, s)
	if err == nil {
		return chain.Write(out, f, s)
	}
	if f != trace.Text {
		return err
	}
	unknown := new(trace.UnknownChangeError)
	said := slices.Concat([]string{q.Options.Now}, q.Options.Failing, q.Options.Working)
	isUnknown := errors.As(err, &unknown)
	switch {
	case !isUnknown && trace.IsAwaited(q.Options.State, q.About):
		err = nil // that is what Working says
	case !q.isAnswered() && !(isUnknown && unknown.IsAnswer()):
	case isUnknown:
		said, err = append(said, unknown.Sentence(s)+" "+q.Trace+" shows what is recorded."), nil
	default:
		said, err = append(said, err.Error()+"."), nil
	}
	return errors.Join(writeSentences(out, said, s.Width), err)
}

// interventionSentences says which controllers and clients were changed manually: that may be why an object is
// not healthy.
func interventionSentences(now observe.Snapshot, about observe.Object) (list []string) {
	for _, i := range InterventionsFor(now, about.GroupResource()) {
		list = append(list, i.String()+".")
	}
	return list
}

// isAnswered reports whether the state of the object answers the question, though no record does.
func (q *Why) isAnswered() bool {
	if q.Options.What == trace.Deleted {
		return q.State.Deleting
	}
	known := len(q.Options.Failing) + len(q.Options.Working)
	if q.State.Simulation != "" { // which is in Working
		known--
	}
	return q.State.Exists && (q.Options.Now != "" || known > 0)
}

// writeSentences writes what is known of an object without a chain of causes.
func writeSentences(out io.Writer, sentences []string, width int) error {
	var text strings.Builder
	for _, s := range sentences {
		if s != "" {
			text.WriteString(strings.Join(words.Wrap(words.OneLine(s), width), "\n") + "\n")
		}
	}
	_, err := io.WriteString(out, text.String())
	return err
}

package learn

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/jsonpath"

	"github.com/ctrlplane/ctrlplane/observe"
)

// The least and the greatest time between two evaluations of checks.
const (
	pollInterval = 150 * time.Millisecond
	maxPause     = time.Second
)

// pauseAfter returns how long to wait after an evaluation of checks that took some time, with some time left: commands that
// are run again and again leave most of a CPU to what they wait for. Near the end it is less, for one more evaluation.
func pauseAfter(took, left time.Duration) time.Duration {
	return max(pollInterval, min(2*took, left-2*took, maxPause))
}

// maxHeldWrites is the maximum number of held writes that are read.
const maxHeldWrites = 1000

// probe evaluates checks.
type probe struct {
	*controlPlane
	shell       *shell
	partStart   uint64           // the newest record when the last Do or Act began
	lessonStart uint64           // the newest record when the lesson began
	lessonBegun bool             // lessonStart is known
	before      observe.Snapshot // when the last Do or Act began
}

// markStart records the state before a Do or Act.
func (p *probe) markStart(ctx context.Context) error {
	s, err := p.snapshot(ctx)
	if err != nil {
		return err
	}
	p.before, p.partStart = s, s.Journal.Last
	if !p.lessonBegun {
		p.lessonStart, p.lessonBegun = p.partStart, true
	}
	return nil
}

// snapshot returns a snapshot. A control plane that was started again numbers its records from 1 and
// counts from 0: all that it has done is later than what began before.
func (p *probe) snapshot(ctx context.Context) (observe.Snapshot, error) {
	s, err := p.control.Snapshot(ctx)
	if err == nil && !s.Process.Started.Equal(p.before.Process.Started) {
		p.partStart, p.lessonStart = 0, 0
		p.before = observe.Snapshot{Time: s.Process.Started, Process: s.Process}
	}
	return s, err
}

// recordsOfPart returns the records since the last Do or Act began.
func (p *probe) recordsOfPart(ctx context.Context, q observe.Query) (observe.Page, error) {
	if _, err := p.snapshot(ctx); err != nil {
		return observe.Page{}, err
	}
	q.After = p.partStart
	return p.control.Records(ctx, q)
}

// recordsOfLesson returns the records since the lesson began.
func (p *probe) recordsOfLesson(ctx context.Context, q observe.Query) (observe.Page, error) {
	if _, err := p.snapshot(ctx); err != nil {
		return observe.Page{}, err
	}
	q.After = p.lessonStart
	return p.control.Records(ctx, q)
}

// unmetCheck is a check that does not hold.
type unmetCheck struct {
	check *Check
	value value
}

func (m *unmetCheck) String() string {
	if m.value.noKind != "" {
		return m.value.missingKind()
	}
	return fmt.Sprintf("%s: %s", m.check, m.value)
}

// unmetChecks returns the checks that do not hold now.
func (p *probe) unmetChecks(ctx context.Context, list []*Check) (out []*unmetCheck, err error) {
	for _, c := range list {
		v, err := p.measureCheck(ctx, c)
		if err != nil {
			return nil, err
		}
		if !c.isMetBy(v) {
			out = append(out, &unmetCheck{c, v})
		}
	}
	return out, nil
}

// awaitChecks waits until all checks hold at the same time. It returns the unmet checks
// when the time is over or ctx ends. The first measurement may take longer than that: without
// it there is nothing to say. A control plane that does not answer is awaited for restartGrace.
func (p *probe) awaitChecks(ctx context.Context, list []*Check, within time.Duration) ([]*unmetCheck, error) {
	return p.awaitChecksTelling(ctx, list, within, func([]*unmetCheck) {})
}

// awaitChecksTelling is awaitChecks, and tells which checks do not hold each time that they were measured.
func (p *probe) awaitChecksTelling(ctx context.Context, list []*Check, within time.Duration, tell func([]*unmetCheck)) ([]*unmetCheck, error) {
	limited, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	end, _ := limited.Deadline()
	measuring, cancelFirst := context.WithTimeout(ctx, max(within, restartGrace))
	defer cancelFirst()
	last := unanswered(list)
	answered := time.Now()
	for ; ; measuring = limited {
		began := time.Now()
		out, err := p.unmetChecks(measuring, list)
		switch {
		case measuring.Err() != nil && err != nil:
			return last, nil
		case isUnreachable(err) && time.Since(answered) < restartGrace:
		case err != nil:
			return nil, err
		case len(out) == 0:
			return nil, nil
		default:
			last, answered = out, time.Now()
			if measuring.Err() == nil {
				tell(out)
			}
		}
		select {
		case <-limited.Done():
			return last, nil
		case <-time.After(pauseAfter(time.Since(began), time.Until(end))):
		}
	}
}

// unanswered returns checks without an answer of the control plane as unmet ones.
func unanswered(list []*Check) (out []*unmetCheck) {
	for _, c := range list {
		out = append(out, &unmetCheck{c, value{unanswered: true}})
	}
	return out
}

// maxWaits is how often awaitWhileWorking waits.
const maxWaits = 5

// awaitWhileWorking is awaitChecks for checks that need longer on a busy machine: it waits
// again if there was work in the lesson's namespaces.
func (p *probe) awaitWhileWorking(ctx context.Context, list []*Check, within time.Duration, tell func([]*unmetCheck)) ([]*unmetCheck, error) {
	for n := 1; ; n++ {
		before, err := p.snapshot(ctx)
		if err != nil {
			return nil, err
		}
		out, err := p.awaitChecksTelling(ctx, list, within, tell)
		if err != nil || len(out) == 0 || n == maxWaits || ctx.Err() != nil {
			return out, err
		}
		if worked, err := p.hasWorked(ctx, before); err != nil || !worked {
			return out, err
		}
	}
}

// hasWorked reports whether there were syncs or writes in the lesson's namespaces after a
// snapshot, or the control plane was started again.
func (p *probe) hasWorked(ctx context.Context, before observe.Snapshot) (bool, error) {
	now, err := p.snapshot(ctx)
	if err != nil || !now.Process.Started.Equal(before.Process.Started) {
		return err == nil, err
	}
	page, err := p.control.Records(ctx, observe.Query{After: before.Journal.Last, Kinds: []observe.Kind{observe.KindCalled, observe.KindSynced}})
	return slices.ContainsFunc(page.Records, func(r observe.Record) bool { return p.shell.inLesson(r.Event) }), err
}

// measureCheck measures the value of a check.
func (p *probe) measureCheck(ctx context.Context, c *Check) (v value, err error) {
	switch {
	case c.Object != "":
		v, err = p.objectField(ctx, c)
	case c.Count != "":
		v, err = p.countObjects(ctx, c)
	case c.Records != nil:
		v, err = p.countRecords(ctx, c.Records)
	case c.Queue != "":
		v, err = p.queueNumber(ctx, c)
	case c.Controller != "":
		v, err = p.controllerState(ctx, c.Controller)
	case c.Held != "":
		v, err = p.countHeldWrites(ctx, c.Held, c.Resource)
	case c.Command != "":
		v, err = p.shell.commandOutput(ctx, c.Command)
	default:
		v, err = p.isSettled(ctx)
	}
	if err != nil {
		return v, fmt.Errorf("%s: %w", c.describeMeasure(), err)
	}
	return v, nil
}

func (p *probe) checkNamespace(c *Check) string {
	if c.Namespace == nil {
		return p.shell.namespace
	}
	return p.expandVariables(*c.Namespace)
}

// expandVariables replaces $NS in the name of an object.
func (p *probe) expandVariables(s string) string {
	return os.Expand(s, func(name string) string {
		if name == "NS" {
			return p.shell.namespace
		}
		return "$" + name
	})
}

func (p *probe) objectField(ctx context.Context, c *Check) (value, error) {
	kind, name, _ := strings.Cut(p.expandVariables(c.Object), "/")
	m, err := p.resolveKind(ctx, kind)
	if meta.IsNoMatchError(err) {
		return value{absent: true, noKind: kind}, nil
	}
	if err != nil {
		return value{}, err
	}
	o, err := p.resourceClient(m, p.checkNamespace(c)).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return value{absent: true}, nil
	}
	if err != nil || c.Path == "" {
		return value{text: name}, err
	}
	text, err := fieldOf(o.Object, c.Path)
	return value{text: text}, err
}

// fieldOf returns what a path selects in an object; empty if that is missing. It removes fields
// that are null from the object: JSONPath has an error for them, as for what is beyond the end of a list.
func fieldOf(object map[string]any, path string) (string, error) {
	dropNulls(object)
	j := jsonpath.New("").AllowMissingKeys(true)
	if err := j.Parse(jsonPathTemplate(path)); err != nil {
		return "", err
	}
	var b strings.Builder
	err := j.Execute(&b, object)
	if err != nil && strings.HasPrefix(err.Error(), "array index out of bounds: ") {
		return "", nil
	}
	return b.String(), err
}

func dropNulls(v any) {
	switch v := v.(type) {
	case map[string]any:
		maps.DeleteFunc(v, func(_ string, field any) bool { return field == nil })
		for _, field := range v {
			dropNulls(field)
		}
	case []any:
		for _, element := range v {
			dropNulls(element)
		}
	}
}

func (p *probe) countObjects(ctx context.Context, c *Check) (value, error) {
	m, err := p.resolveKind(ctx, c.Count)
	if meta.IsNoMatchError(err) {
		return value{text: "0", noKind: c.Count}, nil
	}
	if err != nil {
		return value{}, err
	}
	list, err := p.resourceClient(m, p.checkNamespace(c)).List(ctx, metav1.ListOptions{LabelSelector: c.Where, FieldSelector: c.Fields})
	if apierrors.IsNotFound(err) {
		return numberValue(0), nil
	}
	if err != nil {
		return value{}, err
	}
	return numberValue(int64(len(list.Items))), nil
}

package learn

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ctrlplane/ctrlplane/observe"
	"github.com/ctrlplane/ctrlplane/observe/trace"
	"github.com/ctrlplane/ctrlplane/ui"
)

// traceOptions returns the options of traces, and the records since the lesson began.
func (r *runner) traceOptions(ctx context.Context) (o trace.Options, records []observe.Record, err error) {
	if _, err = r.probe.snapshot(ctx); err != nil {
		return o, nil, err
	}
	o.After = r.probe.lessonStart
	records, err = o.ReadRecords(ctx, r.plane.control)
	return o, records, err
}

// showTrace renders what an object set off; command is the command line that shows all
// of it.
func (r *runner) showTrace(ctx context.Context, s *Show) (text, command string, err error) {
	ref := r.probe.expandVariables(s.Trace)
	about, err := r.plane.resolveObject(ctx, ref, r.shell.namespace)
	if err != nil {
		return "", "", err
	}
	o, records, err := r.traceOptions(ctx)
	if err != nil {
		return "", "", err
	}
	o.Depth = s.Depth
	command = "ctrlplane trace " + ref
	if s.Controller != "" {
		if o.Controller, err = r.plane.resolveController(s.Controller); err != nil {
			return "", "", err
		}
		command += " --controller " + s.Controller
	}
	if s.Depth > 0 {
		command += fmt.Sprintf(" --depth %d", s.Depth)
	}
	if s.Recent {
		o.Since = r.recentStart(records, about)
		command += " --since " + (time.Since(o.Since).Truncate(time.Second) + time.Second).String()
	}
	tree, err := trace.Build(records, about, o)
	if err != nil {
		return "", "", err
	}
	var b bytes.Buffer
	err = tree.Write(&b, trace.Text, r.traceStyle())
	return b.String(), command, err
}

// recentStart returns when the last change of an object by a client began, since the last Do or Act began: what the
// reader tried before that is about something else. Without one it is when that Do or Act began.
func (r *runner) recentStart(records []observe.Record, about observe.Object) time.Time {
	if began, ok := trace.LastChange(records, about, r.probe.partStart); ok {
		return began
	}
	return r.probe.before.Time
}

// saveTraces saves the traces that the lesson names.
func (r *runner) saveTraces(ctx context.Context) error {
	if r.SaveTrace == nil || len(r.lesson.Traces) == 0 {
		return nil
	}
	r.waitSettled(ctx)
	o, records, err := r.traceOptions(ctx)
	if err != nil {
		return err
	}
	for _, ref := range r.lesson.Traces {
		about, err := r.plane.resolveObject(ctx, r.probe.expandVariables(ref), r.shell.namespace)
		if err != nil {
			return err
		}
		tree, err := trace.Build(records, about, o)
		if err != nil {
			return err
		}
		var b bytes.Buffer
		if err := tree.Write(&b, trace.JSON, trace.Style{}); err != nil {
			return err
		}
		if err := r.SaveTrace(about, b.Bytes()); err != nil {
			return err
		}
	}
	return nil
}

// showWhy renders what led to an object.
func (r *runner) showWhy(ctx context.Context, s *Show) (text, command string, err error) {
	o, records, err := r.traceOptions(ctx)
	if err != nil {
		return "", "", err
	}
	ref := r.probe.expandVariables(s.Why)
	if !isObjectRef(ref) {
		if ref, err = r.pickObject(ctx, records, s); err != nil {
			return "", "", err
		}
	}
	about, err := r.plane.resolveObject(ctx, ref, r.shell.namespace)
	if err != nil {
		return "", "", err
	}
	if err := o.ReadFailing(ctx, r.plane.control, records, about); err != nil {
		return "", "", err
	}
	command = "ctrlplane why " + ref
	o.WhyDeleted, o.WhyChanged = command+" --deleted", command+" --changed"
	switch {
	case s.Deleted:
		o.What = trace.Deleted
		command += " --deleted"
	case s.Changed:
		o.What = trace.Changed
		command += " --changed"
	}
	q := ui.Why{About: about, Options: o, Trace: `"ctrlplane trace ` + ref + `"`}
	if r.Objects != nil {
		q.Describe = func(o observe.Object) ui.ObjectState { return r.Objects.Describe(ctx, o) }
		q.State = q.Describe(about)
	}
	var b bytes.Buffer
	err = q.Write(&b, records, trace.Text, r.traceStyle())
	return b.String(), command, err
}

// pickObject chooses an object of a kind: the newest, or the last deleted one.
func (r *runner) pickObject(ctx context.Context, records []observe.Record, s *Show) (string, error) {
	m, err := r.plane.resolveKind(ctx, s.Why)
	if err != nil {
		return "", err
	}
	if s.Deleted {
		for _, rec := range slices.Backward(records) {
			d, ok := rec.Event.(*observe.Delivered)
			if ok && d.Change == observe.Deleted && d.Object.Resource == m.Resource.Resource && d.Object.Namespace == r.shell.namespace {
				return s.Why + "/" + d.Object.Name, nil
			}
		}
		return "", fmt.Errorf("no %s was deleted", s.Why)
	}
	list, err := r.plane.resourceClient(m, r.shell.namespace).List(ctx, metav1.ListOptions{LabelSelector: s.Where})
	if err != nil {
		return "", err
	}
	if len(list.Items) == 0 {
		return "", fmt.Errorf("no %s matches %s", s.Why, s.Where)
	}
	newest := slices.MaxFunc(list.Items, func(a, b unstructured.Unstructured) int {
		return cmp.Or(a.GetCreationTimestamp().Compare(b.GetCreationTimestamp().Time), strings.Compare(a.GetName(), b.GetName()))
	})
	return s.Why + "/" + newest.GetName(), nil
}

func (r *runner) traceStyle() trace.Style {
	s := trace.Style{Color: r.console.Color, ASCII: r.console.ASCII, Zone: time.Local}
	if width := r.Columns(); width > 4 {
		s.Width = width - 3
	}
	return s
}

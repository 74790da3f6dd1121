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
)

// page are the records of the lesson.
func (r *runner) page(ctx context.Context) (observe.Page, error) {
	q := trace.Query()
	q.After = r.probe.first
	return r.plane.control.Records(ctx, q)
}

// trace draws what came of an object; command draws all of it.
func (r *runner) trace(ctx context.Context, s *Show) (text, command string, err error) {
	ref := r.probe.expand(s.Trace)
	about, err := r.plane.object(ref, r.shell.namespace)
	if err != nil {
		return "", "", err
	}
	page, err := r.page(ctx)
	if err != nil {
		return "", "", err
	}
	o := trace.Options{Depth: s.Depth, Missed: page.Missed}
	command = "ctrlplane trace " + ref
	if s.Controller != "" {
		if o.Controller, err = r.plane.controller(s.Controller); err != nil {
			return "", "", err
		}
		command += " --controller " + s.Controller
	}
	if s.Depth > 0 {
		command += fmt.Sprintf(" --depth %d", s.Depth)
	}
	if s.Recent {
		o.Since = r.probe.then.Time
		command += " --since " + time.Since(o.Since).Round(time.Second).String()
	}
	tree, err := trace.Build(page.Records, about, o)
	if err != nil {
		return "", "", err
	}
	var b bytes.Buffer
	err = tree.Write(&b, trace.Text, r.traceStyle())
	return b.String(), command, err
}

// giveTraces gives away the traces that the lesson names.
func (r *runner) giveTraces(ctx context.Context) error {
	if r.Traces == nil || len(r.lesson.Traces) == 0 {
		return nil
	}
	r.settle(ctx)
	page, err := r.page(ctx)
	if err != nil {
		return err
	}
	for _, ref := range r.lesson.Traces {
		about, err := r.plane.object(r.probe.expand(ref), r.shell.namespace)
		if err != nil {
			return err
		}
		tree, err := trace.Build(page.Records, about, trace.Options{Missed: page.Missed})
		if err != nil {
			return err
		}
		var b bytes.Buffer
		if err := tree.Write(&b, trace.JSON, trace.Style{}); err != nil {
			return err
		}
		if err := r.Traces(about, b.Bytes()); err != nil {
			return err
		}
	}
	return nil
}

// why draws what led to an object.
func (r *runner) why(ctx context.Context, s *Show) (text, command string, err error) {
	page, err := r.page(ctx)
	if err != nil {
		return "", "", err
	}
	ref := r.probe.expand(s.Why)
	if !isObject(ref) {
		if ref, err = r.pick(ctx, page, s); err != nil {
			return "", "", err
		}
	}
	about, err := r.plane.object(ref, r.shell.namespace)
	if err != nil {
		return "", "", err
	}
	o := trace.Options{Missed: page.Missed}
	command = "ctrlplane why " + ref
	if s.Deleted {
		o.What = trace.Deleted
		command += " --deleted"
	}
	chain, err := trace.Why(page.Records, about, o)
	if err != nil {
		return "", "", err
	}
	var b bytes.Buffer
	err = chain.Write(&b, trace.Text, r.traceStyle())
	return b.String(), command, err
}

// pick chooses an object of a kind: the newest, or the one that went last.
func (r *runner) pick(ctx context.Context, page observe.Page, s *Show) (string, error) {
	m, err := r.plane.kind(s.Why)
	if err != nil {
		return "", err
	}
	if s.Deleted {
		for _, rec := range slices.Backward(page.Records) {
			d, ok := rec.Event.(*observe.Delivered)
			if ok && d.Change == observe.Deleted && d.Object.Resource == m.Resource.Resource && d.Object.Namespace == r.shell.namespace {
				return s.Why + "/" + d.Object.Name, nil
			}
		}
		return "", fmt.Errorf("no %s was deleted", s.Why)
	}
	list, err := r.plane.of(m, r.shell.namespace).List(ctx, metav1.ListOptions{LabelSelector: s.Where})
	if err != nil {
		return "", err
	}
	if len(list.Items) == 0 {
		return "", fmt.Errorf("there is no %s with %s", s.Why, s.Where)
	}
	newest := slices.MaxFunc(list.Items, func(a, b unstructured.Unstructured) int {
		return cmp.Or(a.GetCreationTimestamp().Compare(b.GetCreationTimestamp().Time), strings.Compare(a.GetName(), b.GetName()))
	})
	return s.Why + "/" + newest.GetName(), nil
}

func (r *runner) traceStyle() trace.Style {
	s := trace.Style{Color: r.console.Color, ASCII: r.console.ASCII, Zone: time.Local}
	if width := r.columns(); width > 4 {
		s.Width = width - 3
	}
	return s
}

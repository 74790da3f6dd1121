package main

import (
	"context"
	"fmt"
	"time"

	"k8s.io/client-go/rest"

	controlrest "github.com/ctrlplane/ctrlplane/control/rest"
	"github.com/ctrlplane/ctrlplane/health"
	"github.com/ctrlplane/ctrlplane/health/assert"
	"github.com/ctrlplane/ctrlplane/observe"
	"github.com/ctrlplane/ctrlplane/observe/inspect"
	"github.com/ctrlplane/ctrlplane/ui"
)

// traceSource is a source of records that can resolve what its users call objects.
type traceSource interface {
	observe.Source
	now() time.Time
	// resolve returns the object that kubectl calls so. meta.IsNoMatchError reports
	// whether an error is about an unknown kind.
	resolve(ctx context.Context, kind, namespace, name string) (observe.Object, error)
	// unknownKind says what to do about a kind that is neither served nor in the records.
	unknownKind(ctx context.Context, kind string) error
	// describeNow returns the state of an object at present, as far as it is known.
	describeNow(ctx context.Context, about observe.Object) ui.ObjectState
	// nameFields names the fields that hot loops change, if it can.
	nameFields(ctx context.Context, loops []assert.HotLoop)
	// explainMissing says more about an object without records, if more is known.
	explainMissing(ctx context.Context, about observe.Object, err error) error
}

// openSource opens the control plane or, with --from, the recording.
func (o *traceFlags) openSource() (traceSource, error) {
	if o.past.given() {
		return o.past.open()
	}
	cfg, err := o.target.restConfig()
	if err != nil {
		return nil, err
	}
	client, err := controlrest.NewClient(cfg)
	return liveSource{client, o.target, cfg}, err
}

// liveSource is a running control plane.
type liveSource struct {
	*controlrest.Client
	target *target
	cfg    *rest.Config
}

func (s liveSource) now() time.Time { return time.Now() }

func (s liveSource) nameFields(ctx context.Context, loops []assert.HotLoop) {
	nameFields(ctx, s.cfg, loops)
}

// nameFields names the fields that hot loops change. Those of versions that cannot be read any more stay unknown.
func nameFields(ctx context.Context, cfg *rest.Config, loops []assert.HotLoop) {
	if len(loops) == 0 {
		return
	}
	waiter, err := health.New(cfg)
	if err != nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, examineTimeout)
	defer cancel()
	for i := range loops {
		if l := &loops[i]; l.Wrote != nil {
			l.Fields, _ = waiter.ChangedFields(ctx, *l.Wrote, l.Version) // it says more, and need not
		}
	}
}

func (s liveSource) resolve(ctx context.Context, kind, namespace, name string) (observe.Object, error) {
	mapper, err := newKindMapper(s.cfg)
	if err != nil {
		return observe.Object{}, err
	}
	return resolveObject(ctx, mapper, kind, namespace, name)
}

func (s liveSource) unknownKind(ctx context.Context, kind string) error {
	mapper, err := newKindMapper(s.cfg)
	if err != nil {
		return err
	}
	return unknownKindError(ctx, s.target, mapper, kind)
}

func (s liveSource) describeNow(ctx context.Context, about observe.Object) ui.ObjectState {
	waiter, err := newWaiter(s.cfg)
	if err != nil {
		return ui.ObjectState{}
	}
	return describeNow(ctx, waiter, s.cfg, about, s.target)
}

// describeNow returns the state of an object; of one that cannot be examined nothing is known. The target is that of the
// commands that the answer names; nil if it names none.
func describeNow(ctx context.Context, waiter *health.Waiter, cfg *rest.Config, about observe.Object, t *target) ui.ObjectState {
	outer := ctx
	ctx, cancel := context.WithTimeout(ctx, examineTimeout)
	defer cancel()
	kind := about.Resource
	if about.Group != "" {
		kind += "." + about.Group
	}
	now, err := waiter.Examine(ctx, kind, about.Namespace, about.Name)
	if err != nil && about.Group != "" {
		ctx, cancel := context.WithTimeout(outer, examineTimeout) // the server of the object may have taken all of the time
		defer cancel()
		return ui.ObjectState{Problem: waiter.Unreadable(ctx, about.Group, err)}
	}
	if err != nil || now.Status == health.NotFound { // the records, which say what they can, come from the same server
		return ui.ObjectState{}
	}
	state := ui.ObjectState{Problem: now.Problem(), Unreported: now.Unreported, Suspended: now.Suspended, Created: now.Created, Deletion: now.Deletion, Exists: true, Deleting: now.Status == health.Terminating}
	state.Simulation = explainSimulation(ctx, cfg, about)
	if t == nil {
		return state
	}
	if now.Log != nil {
		state.Log = t.describeLog(*now.Log)
	}
	if now.Node != "" {
		state.FailedNode = t.describeFailedNode(ctx, cfg, now.Node)
	}
	return state
}

// describeLog says which command shows the log of a container.
func (t *target) describeLog(l health.ContainerLog) string {
	command := "kubectl logs "
	if l.Previous {
		command += "-p "
	}
	command += quoteWord(l.Pod)
	if l.Container != "" {
		command += " -c " + quoteWord(l.Container)
	}
	if !t.inLessonNamespace(l.Namespace) {
		command += " -n " + quoteWord(l.Namespace) // the context of the kubeconfig may have another one
	}
	return t.quoteCommand(command) + " shows the container's log"
}

// explainMissing says whether an object without records exists.
func (s liveSource) explainMissing(ctx context.Context, about observe.Object, err error) error {
	inspector, inspectErr := inspect.New(s.cfg)
	if inspectErr != nil {
		return err
	}
	now, inspectErr := inspector.Inspect(ctx, about)
	switch {
	case now.Gone:
		return fmt.Errorf("%s: no such object, now or in the recorded history: check its name and its namespace (-n)", about)
	case inspectErr == nil:
		return fmt.Errorf("%s: it exists, but no record is about it: it has not changed since the control plane started, or its records were dropped (see --observe-records of up)", about)
	}
	return err
}

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/ctrlplane/ctrlplane/control"
	"github.com/ctrlplane/ctrlplane/health"
	"github.com/ctrlplane/ctrlplane/internal/manifests"
	"github.com/ctrlplane/ctrlplane/internal/suggest"
	"github.com/ctrlplane/ctrlplane/internal/usage"
	"github.com/ctrlplane/ctrlplane/internal/words"
	"github.com/ctrlplane/ctrlplane/observe"
	"github.com/ctrlplane/ctrlplane/observe/trace"
	"github.com/ctrlplane/ctrlplane/ui"
)

// waitCommand has the flags of "ctrlplane wait".
type waitCommand struct {
	target      *target
	objects     manifestFlags
	namespace   string
	forDeletion bool
	timeout     time.Duration
	quiet       bool
	horizon     time.Duration

	unchangedNotes map[health.Ref]bool // the objects of which unchangedNote has been asked
}

func newWaitCommand(t *target) *cobra.Command {
	w := &waitCommand{target: t, unchangedNotes: map[health.Ref]bool{}}
	cmd := &cobra.Command{
		Use:   "wait (settled | -f FILE|DIR… | -k DIR | KIND/NAME… | KIND NAME…)",
		Short: "Wait until objects are healthy, or until the control plane has settled",
		Long: `Wait until all objects that are named or in the files are healthy: Deployments are
rolled out, Services of type LoadBalancer have an address, Jobs are running or
complete, claims are bound, and other objects have the conditions that kstatus
expects. Objects that do not exist yet are waited for, and so are those of a kind
that is not served yet if it is named with the group of an APIService that is not
available, such as orders.shop.example.com. A Job that its ttlSecondsAfterFinished
has deleted counts as it ended, if the wait has seen it finish or the control plane
has deleted it some minutes ago. A custom resource without a status counts as
healthy; progress then says that it has none, and which of the usual conditions,
such as Available or Synced, is False. Of an object without a current status it also
says if no client other than kubectl watches its kind, and of any custom resource
with which error an operator with the module instrument fails for it. At its end it
names custom resources whose operator repeats a warning, Services without a ready
endpoint, and others that lack what they need, such as an Ingress without its
backend; they are not waited for.

Progress is written to stderr. If the objects are not healthy in time, the exit code
is 1. So it is at once, as with "kubectl rollout status", if a Job or a Pod has
failed, or if a Deployment has exceeded its progressDeadlineSeconds: its controller
still tries, and the rollout may recover after that. stderr then says why, one line
per object: the Pod that is unschedulable, the quota that is exceeded, the container
that crashes and the command that shows its log. It also says with which error a
controller fails for an object and when its next attempt is, which writes of a client
for it fail, and names controllers that are stopped, paused or changed otherwise. Of
Pods and workloads that are healthy, stderr says which of their programs are not
simulated.`,
		Example: `  ctrlplane wait -f manifests/
  ctrlplane wait deploy/web sts/db job/migrate -n shop --timeout 2m
  ctrlplane wait ns/shop --for-deletion
  ctrlplane wait settled`,
		Args: w.validate,
		RunE: func(cmd *cobra.Command, args []string) error {
			return w.waitObjects(cmd.Context(), cmd.ErrOrStderr(), joinKindAndNames(args))
		},
	}
	w.addFlags(cmd)
	cmd.AddCommand(newWaitSettled(w))
	return cmd
}

func (w *waitCommand) addFlags(cmd *cobra.Command) {
	f, all := cmd.Flags(), cmd.PersistentFlags()
	w.objects.addFlags(f, "filename", "to wait for")
	f.StringVarP(&w.namespace, "namespace", "n", "default", "namespace of objects without a namespace")
	f.BoolVar(&w.forDeletion, "for-deletion", false, "wait until the objects are deleted")
	all.DurationVar(&w.timeout, "timeout", time.Minute, "how long to wait")
	all.BoolVarP(&w.quiet, "quiet", "q", false, "do not write progress")
}

func (w *waitCommand) validate(cmd *cobra.Command, args []string) error {
	if len(args) == 0 && !w.objects.given() {
		return usage.Errorf(`nothing to wait for: name settled, -f FILE or KIND/NAME: see "%s --help"`, cmd.CommandPath())
	}
	if err := w.objects.validate(); err != nil {
		return err
	}
	if err := w.checkArgs(cmd.CommandPath(), args); err != nil {
		return err
	}
	return w.validateTimeout()
}

// checkArgs returns an error for arguments that do not name objects.
func (w *waitCommand) checkArgs(verb string, args []string) error {
	if err := requireName(w.target, verb, args); err != nil {
		return err
	}
	err := health.CheckArgs(joinKindAndNames(args))
	if err == nil || len(args) != 1 {
		return err
	}
	if _, near := suggest.Nearest(args[0], []string{"settled"}); near {
		return usage.Errorf(`%w: did you mean "settled"?`, err)
	}
	return err
}

// joinKindAndNames turns KIND NAME… into KIND/NAME…, as kubectl reads it.
func joinKindAndNames(args []string) []string {
	if len(args) < 2 || strings.Contains(strings.Join(args, ""), "/") {
		return args
	}
	joined := make([]string, len(args)-1)
	for i, name := range args[1:] {
		joined[i] = args[0] + "/" + name
	}
	return joined
}

func (w *waitCommand) validateTimeout() error {
	if w.timeout <= 0 {
		return usage.Errorf("--timeout: %v is not positive: use one such as 30s, or leave the flag out", w.timeout)
	}
	return nil
}

// waitObjects waits for the objects in the files and arguments.
func (w *waitCommand) waitObjects(ctx context.Context, out io.Writer, args []string) error {
	refs, err := w.fileRefs(ctx)
	if err != nil {
		return err
	}
	cfg, err := w.target.restConfig()
	if err != nil {
		return err
	}
	waiter, err := health.New(cfg)
	if err != nil {
		return err
	}
	bounded, cancel := withTimeout(ctx, w.timeout)
	defer cancel()
	named, err := waiter.Refs(bounded, w.namespace, args)
	if errors.Is(err, health.ErrNoAnswer) {
		return fmt.Errorf("%w: %s", err, w.target.noAnswerHint())
	}
	if err != nil {
		return err
	}
	refs = append(refs, named...)
	err = waiter.Wait(bounded, refs, w.options(bounded, out, refs))
	bad, isUnhealthy := errors.AsType[*health.NotHealthyError](err)
	switch {
	case isUnhealthy:
		var said strings.Builder
		answer := out
		out := io.MultiWriter(answer, &said)
		for _, u := range bad.Objects {
			fmt.Fprintln(out, words.OneLine(u.Ref.String()+": "+u.Reason))
			if u.Log != nil {
				fmt.Fprintln(out, words.OneLine(u.Ref.String()+": "+w.target.describeLog(*u.Log)))
			}
		}
		w.printReasons(ctx, out, bad.Objects)
		w.printPrograms(ctx, out, cfg, refs, bad.Objects)
		_ = printLines(answer, describeWebhooks(ctx, cfg, said.String())) // err says more
	case err == nil:
		w.printPrograms(ctx, out, cfg, refs, nil)
	}
	return err
}

// options are those of waiting for objects until ctx ends. What they are like meanwhile is printed.
func (w *waitCommand) options(ctx context.Context, out io.Writer, refs []health.Ref) health.Options {
	o := health.Options{Gone: w.forDeletion}
	if client, err := w.target.controlClient(); err == nil {
		o.Records = client
	}
	if w.quiet {
		return o
	}
	notes := ui.NewUnreportedNotes(func() (observe.Snapshot, error) { return w.takeSnapshot(ctx, refs) })
	o.Progress = health.LimitProgress(progressInterval, func(s health.State) {
		note := notes.OfHealthy(s)
		if s.Unreported != "" {
			note = notes.Of(s.Unreported, s.Ref)
			if note == "" {
				note = w.unchangedNote(ctx, s)
			}
		}
		printState(out, s, s.Message+note)
	})
	o.Doubtful = func(s health.State) { printState(out, s, s.Message) }
	return o
}

func printState(out io.Writer, s health.State, message string) {
	fmt.Fprintf(out, "%s  %s  %s\n", words.OneLine(s.Ref.String()), s.Status, words.OneLine(message))
}

// takeSnapshot takes a snapshot of the control plane while objects are waited for, which does not wait long for it. It has the
// keys that fail for them.
func (w *waitCommand) takeSnapshot(ctx context.Context, refs []health.Ref) (observe.Snapshot, error) {
	ctx, cancel := context.WithTimeout(ctx, interventionsTimeout)
	defer cancel()
	client, err := w.target.controlClient()
	if err != nil {
		return observe.Snapshot{}, err
	}
	return client.SnapshotWithKeys(ctx, askedKeys(refs)...)
}

// unchangedNote says, to be appended to what the state of an object is, how clients have written it without a status, and have
// changed nothing. It is empty if that is not known, and for more objects than maxUnchangedNotes.
func (w *waitCommand) unchangedNote(ctx context.Context, s health.State) string {
	client, err := w.target.controlClient()
	if err != nil || s.Created.IsZero() || len(w.unchangedNotes) == maxUnchangedNotes && !w.unchangedNotes[s.Ref] {
		return ""
	}
	w.unchangedNotes[s.Ref] = true
	ctx, cancel := context.WithTimeout(ctx, interventionsTimeout)
	defer cancel()
	resource, group, _ := strings.Cut(s.Unreported, ".")
	about := observe.Object{Group: group, Resource: resource, Namespace: s.Ref.Namespace, Name: s.Ref.Name}
	page, err := client.Records(ctx, observe.Query{Kinds: []observe.Kind{observe.KindCalled}, Object: &about})
	if err != nil {
		return ""
	}
	if note := ui.UnchangedNote(trace.FindUnchangedWrites(page.Records, about), traceStyle()); note != "" {
		return ", and " + note
	}
	return ""
}

// maxUnchangedNotes is for how many objects records are read while they are waited for.
const maxUnchangedNotes = 20

// progressInterval is the least time between two lines about an object whose status is the same.
const progressInterval = time.Second

// printReasons prints which controllers fail for the objects, and which are not as they are
// usually: one of them may be the reason why an object is not healthy.
func (w *waitCommand) printReasons(ctx context.Context, out io.Writer, objects []health.Unhealthy) {
	ctx, cancel := context.WithTimeout(ctx, interventionsTimeout)
	defer cancel()
	client, err := w.target.controlClient()
	if err != nil {
		fmt.Fprintln(out, words.OneLine(err.Error())) // it has ended or is suspended, which may be why
		return
	}
	var refs []health.Ref
	for _, o := range objects {
		refs = append(refs, failingRefs(o)...)
	}
	now, err := client.SnapshotWithKeys(ctx, askedKeys(refs)...)
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		fmt.Fprintln(out, w.target.noAnswerHint())
	}
	if err != nil {
		return
	}
	failed := listFailedNodes(ctx, client.Nodes())
	resource := "nodes"
	for _, o := range objects {
		if o.Ref.GroupKind() != (schema.GroupKind{Kind: "Node"}) {
			resource = ""
		}
		w.printReasonsOf(out, o, now, failed)
	}
	w.printRecorded(ctx, out, client, now, objects)
	w.printInterventions(out, now, resource)
}

// printReasonsOf prints what controllers, clients and Nodes have to do with an object that is not healthy.
func (w *waitCommand) printReasonsOf(out io.Writer, o health.Unhealthy, now observe.Snapshot, failed []control.Node) {
	if note := ui.UnwatchedNote(now, o.Unreported, o.Ref.Namespace, o.Ref.Name); o.Unreported != "" && note != "" {
		fmt.Fprintf(out, "%s: %s\n", words.OneLine(o.Ref.String()), note)
	}
	if why := ui.DescribeFailedNode(failed, o.Node, w.target.commandLine); why != "" {
		fmt.Fprintf(out, "%s: %s\n", words.OneLine(o.Ref.String()), why)
	}
	for _, ref := range failingRefs(o) {
		for _, line := range ui.FailingFor(now, ref.Namespace, ref.Name, o.Reason) {
			fmt.Fprintln(out, words.OneLine(o.Ref.String()+": "+line))
		}
	}
}

// printInterventions prints the interventions that may be why an object is not healthy, and how to undo them.
func (w *waitCommand) printInterventions(out io.Writer, now observe.Snapshot, resource string) {
	for _, i := range ui.InterventionsFor(now, resource) {
		verb := "controllers "
		if i.OfClient {
			verb = "clients "
		}
		var undo []string
		for _, u := range i.Undo() {
			undo = append(undo, w.target.commandLine(verb+u[0]+" "+quoteWord(i.Controller)+u[1]))
		}
		fmt.Fprintf(out, "%s, which may be why: to undo it: %s\n", i, strings.Join(undo, " and "))
	}
}

const (
	// maxRecorded is for how many objects the records are searched, and for how many it is said which of their programs are not simulated.
	maxRecorded = 10
	// maxExplained is for how many of them it is searched which writes fail: each takes up to a second of CPU if many records are kept.
	maxExplained = 3
)

// printRecorded prints what the records say of the objects, each sentence once: which operators that work for them do not run, which
// controllers wait for the answer to a write, what webhooks did to the last failed write for them, and which writes fail that
// clients make because of them: the last for the first objects only and until ctx ends.
func (w *waitCommand) printRecorded(ctx context.Context, out io.Writer, src observe.Source, now observe.Snapshot, objects []health.Unhealthy) {
	isFailing := func(c observe.Controller) bool { return len(c.Failing) > 0 }
	if !trace.MayHaveEnded(now) && !trace.HasFailedWrites(now) && len(trace.AwaitingAnswers(now).Controllers) == 0 && !slices.ContainsFunc(now.Controllers, isFailing) {
		return // the records need not be read
	}
	var o trace.Options
	records, err := o.ReadRecords(ctx, src)
	if err != nil {
		return
	}
	said := map[string]bool{}
	for i, of := range objects[:min(len(objects), maxRecorded)] {
		resource, _ := meta.UnsafeGuessKindToResource(of.Ref.GroupVersionKind)
		about := observe.Object{Group: resource.Group, Resource: resource.Resource, Kind: of.Ref.Kind, Namespace: of.Ref.Namespace, Name: of.Ref.Name}
		sentences := append(trace.NotRunning(o.State, records, about, traceStyle()), trace.DescribeAwaited(o.State, records, about, traceStyle())...)
		for _, f := range trace.FailingKeys(o.State, records, about) {
			if did := f.DescribeWebhooks(records); did != "" {
				sentences = append(sentences, strings.ToLower(did[:1])+did[1:])
			}
		}
		if i < maxExplained && ctx.Err() == nil {
			sentences = append(sentences, failedWritesOf(records, about, o)...)
		}
		for _, sentence := range sentences {
			if !said[sentence] {
				fmt.Fprintf(out, "%s: %s\n", words.OneLine(of.Ref.String()), words.OneLine(strings.TrimSuffix(sentence, ".")))
			}
			said[sentence] = true
		}
	}
}

// failedWritesOf says which writes fail that clients make because of an object.
func failedWritesOf(records []observe.Record, about observe.Object, o trace.Options) []string {
	chain, err := trace.Why(records, about, o)
	if err != nil { // nothing is recorded of it
		return nil
	}
	return chain.Failing
}

// printPrograms prints which programs of the objects are not simulated. It leaves out those that are not healthy: their Pods need not
// run, and the reason says so where it matters.
func (w *waitCommand) printPrograms(ctx context.Context, out io.Writer, cfg *rest.Config, refs []health.Ref, unhealthy []health.Unhealthy) {
	if w.quiet || w.forDeletion {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, interventionsTimeout)
	defer cancel()
	for _, r := range withPrograms(refs, unhealthy) {
		if said := explainPrograms(ctx, cfg, r.GroupKind(), r.Namespace, r.Name); said != "" {
			fmt.Fprintf(out, "%s: %s\n", words.OneLine(r.String()), words.OneLine(said))
		}
	}
}

// withPrograms returns the first healthy objects that have programs, each once, however often it was named.
func withPrograms(refs []health.Ref, unhealthy []health.Unhealthy) (list []health.Ref) {
	leftOut := map[health.Ref]bool{}
	for _, u := range unhealthy {
		leftOut[u.Ref] = true
	}
	for _, r := range refs {
		if programKinds[r.GroupKind()].Resource != "" && !leftOut[r] {
			list = append(list, r)
		}
		leftOut[r] = true
	}
	return list[:min(len(list), maxRecorded)]
}

// failingRefs returns the objects for which a controller may fail: one that is not healthy, and the ReplicaSet which is why.
func failingRefs(o health.Unhealthy) []health.Ref {
	if o.Failing.Name == "" || o.Failing == o.Ref {
		return []health.Ref{o.Ref}
	}
	return []health.Ref{o.Ref, o.Failing}
}

// maxAskedKeys is of how many objects all failing controllers are asked for: they are in a URL. Of the others, those
// are known for which they failed last.
const maxAskedKeys = 500

func askedKeys(refs []health.Ref) []string {
	keys := make([]string, min(len(refs), maxAskedKeys))
	for i := range keys {
		keys[i] = observe.Object{Namespace: refs[i].Namespace, Name: refs[i].Name}.Key()
	}
	return keys
}

// interventionsTimeout bounds the request for what was changed manually.
const interventionsTimeout = 3 * time.Second

// fileRefs returns references to the objects in the files.
func (w *waitCommand) fileRefs(ctx context.Context) ([]health.Ref, error) {
	paths, texts, err := w.objects.resolve(ctx)
	if err != nil {
		return nil, err
	}
	objects, err := manifests.LoadAll(ctx, paths, texts)
	if err != nil {
		return nil, err
	}
	refs := make([]health.Ref, len(objects))
	for i, o := range objects {
		refs[i] = health.RefOf(o.Unstructured)
		if refs[i].Namespace == "" {
			refs[i].Namespace = w.namespace
		}
	}
	return refs, nil
}

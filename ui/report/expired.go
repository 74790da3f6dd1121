package report

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ctrlplane/ctrlplane/health"
	"github.com/ctrlplane/ctrlplane/internal/controllernames"
	"github.com/ctrlplane/ctrlplane/internal/requestlog"
	"github.com/ctrlplane/ctrlplane/internal/words"
	"github.com/ctrlplane/ctrlplane/observe"
)

// maxExpired is how many Jobs that their time to live has deleted are kept.
const maxExpired = 10000

// expiredJobs are the Jobs that their time to live has deleted, as they were before: users wait for how they end.
type expiredJobs struct {
	list map[health.Ref]*expiredJob // without version
	more int                        // that are not kept
}

type expiredJob struct {
	unhealthyObject       // if it has failed
	isUserObject    bool  // see there
	deleted         bool  // also by a client: a later Job with its name, or its namespace
	err             error // why it could not be read
}

// examineExpiredBefore examines the Jobs that had expired when the deletions were not followed yet: manifests may have some.
func (d *Deletions) examineExpiredBefore(ctx context.Context) {
	page, err := d.src.Records(ctx, observe.Query{Kinds: []observe.Kind{observe.KindCalled}, Controller: controllernames.TTLAfterFinished, Notable: true})
	if err != nil {
		return // the control plane has ended
	}
	for _, r := range page.Records {
		call, isCall := r.Event.(*observe.Called)
		if !isCall || r.Seq > d.after {
			continue
		}
		if e, ok := health.ExpiredBy(call); ok {
			d.examineExpired(ctx, e)
		}
	}
}

// examineExpired adds a Job.
func (d *Deletions) examineExpired(ctx context.Context, e health.Expired) {
	jobs := &d.found.expired
	ref := health.Ref{GroupVersionKind: schema.GroupVersionKind{Group: "batch", Kind: "Job"}, Namespace: e.Namespace, Name: e.Name}
	if len(jobs.list) >= maxExpired && jobs.list[ref] == nil {
		jobs.more++
		return
	}
	ctx, cancel := context.WithTimeoutCause(requestlog.Discard(ctx), deletionTimeout, fmt.Errorf("it took longer than %v", deletionTimeout))
	defer cancel()
	job := &expiredJob{}
	u, reason, err := d.waiter.ReadExpired(ctx, e)
	switch {
	case ctx.Err() != nil:
		job.err = context.Cause(ctx)
	case err != nil:
		job.err = err
	default:
		job.isUserObject = isUserObject(u)
		job.unhealthyObject = unhealthyObject{State: health.StateOf(u), Judged: true, uid: u.GetUID()}
		if reason != "" {
			job.Reason = reason + "; " + controllernames.TTLAfterFinished + " has deleted it since"
		}
	}
	if jobs.list == nil {
		jobs.list = map[health.Ref]*expiredJob{}
	}
	jobs.list[ref] = job
}

// noteDeletion notes what a client has deleted since.
func (e *expiredJobs) noteDeletion(of *deletion) {
	for ref, job := range e.list {
		if of.isOfNamespace() && slices.Contains(of.names, ref.Namespace) ||
			of.resource == "jobs.batch" && ref.Namespace == of.namespace && slices.Contains(of.names, ref.Name) {
			job.deleted = true
		}
	}
}

// failure says why the Job is not healthy; empty if it is.
func (j *expiredJob) failure() string {
	if j.Reason == "" {
		return ""
	}
	return string(j.Status) + ": " + j.Reason
}

// judgeExpired judges the Jobs that their time to live has deleted, unless there is another one with the name.
func (s *State) judgeExpired(jobs expiredJobs) {
	there := map[health.Ref]bool{}
	for i := range s.objects {
		there[withoutVersion(health.RefOf(&s.objects[i]))] = true
	}
	for i := range s.cases {
		c := &s.cases[i]
		ref := withoutVersion(c.gone)
		ref.Namespace = cmp.Or(ref.Namespace, metav1.NamespaceDefault)
		job := jobs.list[ref]
		if job == nil || c.skipped != "" {
			continue
		}
		there[ref] = true
		if job.err != nil {
			c.failure += ", and how it ended is not known: " + words.OneLine(job.err.Error())
			continue
		}
		if c.failure = job.failure(); c.failure == "" {
			c.details = ""
		} else {
			s.unhealthy = append(s.unhealthy, job.unhealthyObject)
		}
	}
	byName := func(a, b health.Ref) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	}
	for _, ref := range slices.SortedFunc(maps.Keys(jobs.list), byName) {
		job := jobs.list[ref]
		isIn := there[health.Ref{GroupVersionKind: schema.GroupVersionKind{Kind: "Namespace"}, Name: ref.Namespace}]
		switch {
		case there[ref], !isIn, job.deleted:
		case job.err != nil:
			s.addIncomplete(fmt.Errorf("how %s ended is not known: %w", ref, job.err))
		case job.isUserObject:
			s.cases = append(s.cases, testCase{suite: "namespace " + ref.Namespace, name: ref.String(), failure: job.failure()})
			if job.Reason != "" {
				s.unhealthy = append(s.unhealthy, job.unhealthyObject)
			}
		}
	}
	if jobs.more > 0 {
		s.addIncomplete(fmt.Errorf("%s not examined, which %s has deleted", words.Count(jobs.more, "more Job"), controllernames.TTLAfterFinished))
	}
	slices.SortStableFunc(s.cases, func(a, b testCase) int { return cmp.Compare(a.suite, b.suite) })
}

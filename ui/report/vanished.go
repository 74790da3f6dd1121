package report

import (
	"context"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ctrlplane/ctrlplane/health"
	"github.com/ctrlplane/ctrlplane/observe"
	"github.com/ctrlplane/ctrlplane/observe/trace"
)

// vanished finds out what has deleted the objects of manifests that no longer exist.
type vanished struct {
	records []observe.Record
	options trace.Options
	deletes map[uint64]bool // by Seq: the deletes that clients have asked for
}

const unknownDeletion = ": no record says what deleted it: raise --observe-records"

// readVanished reads the records; src is nil without an observer.
func readVanished(ctx context.Context, src observe.Source) (*vanished, error) {
	v := &vanished{options: trace.Options{What: trace.Deleted}, deletes: map[uint64]bool{}}
	if src == nil {
		return v, nil
	}
	records, err := v.options.ReadRecords(ctx, src)
	if err != nil {
		return v, err
	}
	v.records = records
	for _, r := range records {
		if c, ok := r.Event.(*observe.Called); ok && deletesForClient(c) {
			v.deletes[r.Seq] = true
		}
	}
	return v, nil
}

// deletesForClient reports whether a client has asked for a deletion by a call.
func deletesForClient(c *observe.Called) bool {
	return c.Verb == observe.VerbRestore ||
		c.Client != nil && (slices.Contains([]string{"delete", "deletecollection"}, c.Verb) || c.Subresource == "eviction")
}

// testCase returns the test case of an object that no longer exists. It is skipped if a client
// has deleted the object, or what it belongs to, and fails otherwise: nothing has asked for that.
func (v *vanished) testCase(r health.Ref) testCase {
	c := testCase{suite: manifestSuite, name: r.String(), failure: "no longer exists"}
	about, ok := v.find(&r)
	c.gone = r
	if !ok {
		c.failure += unknownDeletion
		return c
	}
	c.name = r.String()
	chain, err := trace.Why(v.records, about, v.options)
	if err != nil {
		c.failure += unknownDeletion
		return c
	}
	for _, n := range chain.Links { // the last one is the first cause
		switch {
		case v.deletes[n.Record()]:
			c.failure, c.skipped = "", "deleted by "+n.Controller
			return c
		case n.Kind == trace.Outside && n.Verb == "delete": // custom resources go with their definition
			c.failure, c.skipped = "", "deleted by the API server or an unrecorded client"
			return c
		}
	}
	if by := chain.Request(); by != nil && by.Controller != "" {
		c.failure += ": " + by.Controller + " deleted it"
	}
	var text strings.Builder
	if chain.Write(&text, trace.Text, trace.Style{}) == nil { // a Builder does not fail
		c.details = strings.TrimSpace(text.String())
	}
	return c
}

// find finds the object in the records. The manifest may omit the namespace.
func (v *vanished) find(r *health.Ref) (observe.Object, bool) {
	namespace := r.Namespace
	if namespace == "" {
		namespace = metav1.NamespaceDefault
	}
	about, ok := trace.Find(v.records, r.Kind+"."+r.Group, namespace, r.Name)
	if ok {
		r.Namespace = about.Namespace
	}
	return about, ok
}

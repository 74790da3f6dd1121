package rest

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/ctrlplane/ctrlplane/internal/usage"
	"github.com/ctrlplane/ctrlplane/observe"
	"github.com/ctrlplane/ctrlplane/observe/trace"
)

// recordsPage is the answer of RecordsPath.
type recordsPage struct {
	observe.Page
	// Started is when the control plane was started: the numbers of records begin then.
	Started time.Time `json:"started,omitzero"`
}

// listRecords answers a request to RecordsPath.
func (s Services) listRecords(req *http.Request) (any, error) {
	q, err := decodeQuery(req.URL.Query())
	if err == nil {
		err = checkSelectable(q)
	}
	if err == nil {
		q.Controller, err = s.resolveActor(req.Context(), q.Controller)
	}
	if err != nil {
		return nil, err
	}
	page, err := s.Source.Records(req.Context(), q)
	if err == nil && page.Last > 0 && q.After > page.Last {
		err = goneError(fmt.Sprintf("parameter after: the last record is %d: the control plane was started again, begin with after=0", page.Last))
	}
	page.Records = orEmpty(page.Records)
	return recordsPage{page, s.Started}, err
}

// goneError is the error of a query that begins after the last record: a client that goes on would miss all records until
// there are as many as before the start.
type goneError string

func (e goneError) Error() string { return string(e) }

// resolveActor returns the name under which records have what a controller or client did, of any name that the verbs take.
// One that is not known any more, such as a controller that was removed, may have records.
func (s Services) resolveActor(ctx context.Context, word string) (string, error) {
	if word == "" {
		return "", nil
	}
	known := observe.Snapshot{Controllers: []observe.Controller{{Name: observe.Own}}}
	for _, c := range s.Controllers() { // also if nothing is observed
		known.Controllers = append(known.Controllers, observe.Controller{Name: c.Name, Aliases: c.Aliases})
	}
	if name, err := trace.FindActor(known, word); err == nil {
		return name, nil
	}
	now, err := s.Source.Snapshot(ctx)
	if err != nil {
		return "", err
	}
	name, unknown := trace.FindActor(now, word)
	if unknown == nil {
		return name, nil
	}
	past, err := s.Source.Records(ctx, observe.Query{Controller: word, Reads: true, Causes: true, Limit: 1})
	if err != nil || len(past.Records) > 0 {
		return word, err
	}
	return "", usage.Errorf("parameter controller: %w", unknown)
}

// keyKinds are the kinds of records that name an object by its key alone.
var keyKinds = []observe.Kind{observe.KindSynced, observe.KindLogged}

// checkSelectable refuses a query for an object that no record can be about. An object has no name in calls for several and in failed
// creations with a prefix.
func checkSelectable(q observe.Query) error {
	o := q.Object
	if o == nil {
		return nil
	}
	byKey := len(q.Kinds) > 0 && !slices.ContainsFunc(q.Kinds, func(k observe.Kind) bool { return !slices.Contains(keyKinds, k) })
	switch {
	case o.Resource == "" && !byKey:
		return usage.Errorf("an object has a resource, such as pods: give parameter resource, or kind=%s for what is known by its key only", observe.KindSynced)
	case o.Resource == "" && o.Name == "":
		return usage.Errorf("a key has a name: give parameter name")
	}
	return checkResource(o.Group, o.Resource)
}

package ctrlplanetest

import (
	"context"
	"strings"
	"testing"

	"github.com/ctrlplane/ctrlplane/observe"
)

// Records returns what was observed in a namespace, in order: events that
// controllers received, their API calls other than reads, their syncs and their log
// lines. An empty namespace stands for all. The oldest records may have been
// dropped (Options.Records).
func (p *ControlPlane) Records(t testing.TB, namespace string) []observe.Record {
	t.Helper()
	ctx, stop := p.testContext(t)
	defer stop()
	records, err := p.fetchRecords(ctx, namespace, observe.Query{})
	if err != nil {
		t.Fatalf("ctrlplanetest: %v", err)
	}
	return records
}

func (p *ControlPlane) fetchRecords(ctx context.Context, namespace string, q observe.Query) ([]observe.Record, error) {
	page, err := p.control.Records(ctx, q)
	if err != nil {
		return nil, preferCause(ctx, err)
	}
	if namespace == "" {
		return page.Records, nil
	}
	var list []observe.Record
	for _, r := range page.Records {
		if concernsNamespace(r.Event, namespace) {
			list = append(list, r)
		}
	}
	return list, nil
}

// concernsNamespace reports whether an event is about a namespace or something in
// it. Syncs and log lines are matched by their keys and values.
func concernsNamespace(e observe.Event, namespace string) bool {
	switch e := e.(type) {
	case *observe.Delivered:
		return objectInNamespace(e.Object, namespace)
	case *observe.Called:
		return objectInNamespace(e.Object, namespace)
	case *observe.Synced:
		return keyInNamespace(e.Key, namespace)
	case *observe.Logged:
		for _, a := range e.Attrs {
			if keyInNamespace(a.Value, namespace) {
				return true
			}
		}
	}
	return false
}

func objectInNamespace(o observe.Object, namespace string) bool {
	return o.Namespace == namespace || o.Namespace == "" && o.Group == "" && o.Resource == "namespaces" && o.Name == namespace
}

// keyInNamespace reports whether a key names a namespace or something in it.
func keyInNamespace(key, namespace string) bool {
	rest, ok := strings.CutPrefix(key, namespace)
	return ok && (rest == "" || rest[0] == '/')
}

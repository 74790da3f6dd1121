package ctrlplanetest

import (
	"context"
	"strings"
	"testing"

	"github.com/ctrlplane/ctrlplane/observe"
)

// Records returns what was observed in a namespace, in order: events that
// controllers were given, their calls of the API but for those that only read,
// their syncs and their log lines. The empty namespace is all of them.
// Of the oldest some may be kept no more (Options.Records).
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

// concernsNamespace tells whether an event is about a namespace or something in it. Of
// syncs and log lines that is seen by their keys and values.
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

// keyInNamespace tells whether a key is that of a namespace or of something in it.
func keyInNamespace(key, namespace string) bool {
	rest, ok := strings.CutPrefix(key, namespace)
	return ok && (rest == "" || rest[0] == '/')
}

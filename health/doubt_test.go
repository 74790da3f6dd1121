package health

import (
	"context"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A custom resource whose status no client has written counts as healthy, and it is said that it has none.
func TestMissingStatus(t *testing.T) {
	const byUser = `{manager: kubectl, operation: Update, apiVersion: example.com/v1, fieldsType: FieldsV1, fieldsV1: {"f:spec": {}}}`
	const byOperator = `{manager: operator, operation: Update, apiVersion: example.com/v1, subresource: status, fieldsType: FieldsV1, fieldsV1: {"f:status": {}}}`
	for name, test := range map[string]struct {
		object    string
		hasStatus bool // the kind
		want      string
	}{
		"none":                  {`{apiVersion: example.com/v1, kind: Widget, metadata: {name: w, namespace: default, creationTimestamp: "2026-01-01T00:00:00Z"}}`, true, "widgets.example.com"},
		"empty":                 {`{apiVersion: example.com/v1, kind: Widget, metadata: {name: w, namespace: default}, status: {}}`, true, "widgets.example.com"},
		"default of its schema": {`{apiVersion: example.com/v1, kind: Widget, metadata: {name: w, namespace: default, managedFields: [` + byUser + `]}, status: {phase: Waiting}}`, true, "widgets.example.com"},
		"written":               {`{apiVersion: example.com/v1, kind: Widget, metadata: {name: w, namespace: default, managedFields: [` + byUser + `, ` + byOperator + `]}, status: {phase: Ready}}`, true, ""},
		"unknown who has":       {`{apiVersion: example.com/v1, kind: Widget, metadata: {name: w, namespace: default}, status: {phase: Ready}}`, true, ""},
		"its kind has none":     {`{apiVersion: example.com/v1, kind: Widget, metadata: {name: w, namespace: default}}`, false, ""},
		"built-in":              {`{apiVersion: v1, kind: ConfigMap, metadata: {name: w, namespace: default}}`, true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, test.object)
			c.serve("example.com/v1", "widgets", "Widget", true)
			if test.hasStatus {
				last := c.kinds.Resources[len(c.kinds.Resources)-1]
				last.APIResources = append(last.APIResources, metav1.APIResource{Name: "widgets/status", Kind: "Widget", Namespaced: true})
			}
			ref := RefOf(parseObject(t, test.object))
			examined, err := c.Examine(t.Context(), ref.Kind, ref.Namespace, ref.Name)
			if err != nil || examined.Status != Current || examined.Unreported != test.want {
				t.Errorf("examined: %+v, %v", examined, err)
			}
			if created := parseObject(t, test.object).GetCreationTimestamp(); examined.Unreported != "" && !examined.Created.Equal(created.Time) {
				t.Errorf("created %v, not %v", examined.Created, created)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			var waited State
			if err := c.Wait(ctx, []Ref{ref}, Options{Progress: func(s State) { waited = s }}); err != nil {
				t.Error(err)
			}
			if waited.Unreported != test.want || waited.Message != examined.Message {
				t.Errorf("waited: %+v", waited)
			}
		})
	}
}

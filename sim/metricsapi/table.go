package metricsapi

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/metrics/pkg/apis/metrics"
)

// tableOf returns a table of metrics, or of a list of them, with the columns of metrics-server.
func tableOf(obj runtime.Object) (*metav1.Table, error) {
	table := &metav1.Table{ColumnDefinitions: []metav1.TableColumnDefinition{
		{Name: "Name", Type: "string", Format: "name", Description: "Name of the resource"},
		{Name: "cpu", Type: "string", Format: "quantity"},
		{Name: "memory", Type: "string", Format: "quantity"},
		{Name: "Window", Type: "string", Format: "duration"},
	}}
	add := func(obj runtime.Object) error {
		row, err := rowOf(obj)
		table.Rows = append(table.Rows, row)
		return err
	}
	if meta.IsListType(obj) {
		return table, meta.EachListItem(obj, add)
	}
	return table, add(obj)
}

func rowOf(obj runtime.Object) (metav1.TableRow, error) {
	var name string
	var used corev1.ResourceList
	var window metav1.Duration
	switch m := obj.(type) {
	case *metrics.NodeMetrics:
		name, used, window = m.Name, m.Usage, m.Window
	case *metrics.PodMetrics:
		name, used, window = m.Name, corev1.ResourceList{}, m.Window
		for _, c := range m.Containers {
			addResources(used, c.Usage)
		}
	default:
		return metav1.TableRow{}, fmt.Errorf("metrics: no table of %T", obj)
	}
	return metav1.TableRow{
		Cells:  []any{name, used.Cpu().String(), used.Memory().String(), window.Duration.String()},
		Object: runtime.RawExtension{Object: obj},
	}, nil
}

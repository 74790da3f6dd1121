package ctrlplane

import (
	"log/slog"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// fill sets every exported field below v to a value that is not its zero value.
func fill(t *testing.T, v reflect.Value) {
	t.Helper()
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				fill(t, v.Field(i))
			}
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(t, v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(t, v.Index(0))
	case reflect.String:
		v.SetString("set")
	case reflect.Int, reflect.Int64:
		v.SetInt(7)
	case reflect.Uint8:
		v.SetUint(7)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Func:
		v.Set(reflect.MakeFunc(v.Type(), func([]reflect.Value) []reflect.Value { return nil }))
	case reflect.Interface: // Log.Level
	default:
		t.Fatalf("a field of kind %v: the test does not know it", v.Kind())
	}
}

// configuration returns the exported fields, functions by whether they are set.
func configuration(s *Server) map[string]any {
	fields := map[string]any{}
	v := reflect.ValueOf(s).Elem()
	for i := range v.NumField() {
		field := v.Type().Field(i)
		switch {
		case !field.IsExported():
		case field.Type.Kind() == reflect.Func:
			fields[field.Name] = !v.Field(i).IsNil()
		default:
			fields[field.Name] = v.Field(i).Interface()
		}
	}
	return fields
}

// functions compares functions by whether they are set.
var functions = cmp.Comparer(func(a, b func(slog.Record)) bool { return (a == nil) == (b == nil) })

func TestCopyConfigCopiesEveryField(t *testing.T) {
	original := &Server{}
	fill(t, reflect.ValueOf(original).Elem())
	if diff := cmp.Diff(configuration(original), configuration(original.copyConfig()), functions); diff != "" {
		t.Errorf("a field was not copied (-original +copy):\n%s", diff)
	}
}

func TestCopyConfigSharesNothing(t *testing.T) {
	original, want := &Server{}, &Server{}
	fill(t, reflect.ValueOf(original).Elem())
	fill(t, reflect.ValueOf(want).Elem())
	copied := original.copyConfig()
	for _, list := range [][]string{
		original.Hosts, original.Manifests, original.Etcd.Endpoints, original.APIServer.Args, original.Controllers.Select,
		original.Controllers.Args, original.Scheduler.Args, original.Nodes.Labels, original.Nodes.Taints,
	} {
		list[0] = "changed"
	}
	original.Log.Path, original.ManifestTexts[0].Name = "changed", "changed"
	if diff := cmp.Diff(configuration(want), configuration(copied), functions); diff != "" {
		t.Errorf("a change of the original has reached the copy (-want +copy):\n%s", diff)
	}
}

package health

import (
	"bytes"
	"encoding/json"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Deletion is what an object waits for that is being deleted.
type Deletion struct {
	Requested  time.Time
	Finalizers []Finalizer
}

// Finalizer is one of an object.
type Finalizer struct {
	Name    string
	Manager string // the field manager that has set it; empty if that is not known, or if several have
}

// deletionOf returns what an object waits for that is being deleted; nil if it is not.
func deletionOf(u *unstructured.Unstructured) *Deletion {
	if u.GetDeletionTimestamp() == nil {
		return nil
	}
	d := &Deletion{Requested: u.GetDeletionTimestamp().Time}
	for _, name := range u.GetFinalizers() {
		d.Finalizers = append(d.Finalizers, Finalizer{name, managerOf(u, name)})
	}
	return d
}

// managerOf returns the field manager that has set a finalizer of an object; empty if not exactly one has.
func managerOf(u *unstructured.Unstructured, finalizer string) (manager string) {
	key, err := json.Marshal("v:" + strconv.Quote(finalizer))
	if err != nil {
		return ""
	}
	for _, f := range u.GetManagedFields() {
		if f.FieldsV1 == nil || !bytes.Contains(f.FieldsV1.GetRawBytes(), key) {
			continue
		}
		if manager != "" && manager != f.Manager {
			return ""
		}
		manager = f.Manager
	}
	return manager
}

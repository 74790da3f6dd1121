package health

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"

	"github.com/ctrlplane/ctrlplane/internal/kinds"
	"github.com/ctrlplane/ctrlplane/internal/words"
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

// explainDeletion explains why an object that is being deleted still exists.
func (s *reasonSearch) explainDeletion(u *unstructured.Unstructured) string {
	s.noteNode(u)
	text := "being deleted"
	finalizers := u.GetFinalizers()
	switch {
	case len(finalizers) == 1:
		text += "; waiting for finalizer " + finalizers[0]
	case len(finalizers) > 1:
		text += "; waiting for finalizers " + strings.Join(finalizers, ", ")
	}
	if slices.Contains(finalizers, metav1.FinalizerDeleteDependents) {
		text += s.explainDependents(u)
	}
	switch of := kindOf(u); {
	case of == namespaceKind:
		return text + s.explainNamespaceDeletion(u)
	case of == crdKind:
		return text + s.explainInstances(u)
	case of == claimKind:
		return text + s.explainClaimUse(u)
	case of == volumeKind:
		return text + explainVolumeUse(u)
	case of == podKind:
		if missing := s.explainMissingNode(u); missing != "" {
			return text + "; " + missing
		}
		if len(finalizers) == 0 {
			return text + "; the kubelet of its node has not stopped it"
		}
	case len(finalizers) > 0 && kinds.IsCustom(of):
		return text + explainDeleting(u)
	}
	return text
}

// explainDeleting says what the controller of a custom resource waits for, as those of Cluster API report; "" if it does not
// report that.
func explainDeleting(u *unstructured.Unstructured) string {
	c, _ := findCondition(u, "Deleting")
	if why := joinReason(c.Reason, c.Message); c.Status == metav1.ConditionTrue && why != "" {
		return ": " + words.OneLine(why)
	}
	return ""
}

// dependents are the resources that the controller of a kind creates.
var dependents = map[schema.GroupKind]schema.GroupVersionResource{
	deploymentKind:            appsv1.SchemeGroupVersion.WithResource("replicasets"),
	replicaSetKind:            coreResource("pods"),
	statefulSetKind:           coreResource("pods"),
	daemonSetKind:             coreResource("pods"),
	replicationControllerKind: coreResource("pods"),
	jobKind:                   coreResource("pods"),
	cronJobKind:               batchv1.SchemeGroupVersion.WithResource("jobs"),
}

// explainDependents names one of the dependents that keep an object whose deletion is in the foreground;
// "" if none is known.
func (s *reasonSearch) explainDependents(u *unstructured.Unstructured) string {
	resource, ok := dependents[kindOf(u)]
	if !ok {
		return ""
	}
	for _, d := range s.listOwned(resource, u) {
		if ref := metav1.GetControllerOf(&d); !ptr.Deref(ref.BlockOwnerDeletion, false) {
			continue
		} else if d.GetDeletionTimestamp() == nil {
			return fmt.Sprintf(": %s still exists", RefOf(&d))
		}
		return fmt.Sprintf(": %s is %s", RefOf(&d), s.explainDeletion(&d))
	}
	return ""
}

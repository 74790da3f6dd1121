package objects

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ctrlplane/ctrlplane/internal/secretmask"
	"github.com/ctrlplane/ctrlplane/internal/snapshot"
	"github.com/ctrlplane/ctrlplane/internal/storekeys"
)

// The kinds of differences.
const (
	Added    = "added"
	Removed  = "removed"
	Changed  = "changed"
	Replaced = "replaced" // another object has the same name
)

// Difference is an object that differs between two states. The values of Secrets are
// masked; managedFields and the heartbeats of Nodes are left out.
type Difference struct {
	Change    string         `json:"change"`
	Kind      string         `json:"kind"` // KIND or KIND.GROUP; "Unreadable" if the value cannot be decoded
	Namespace string         `json:"namespace,omitempty"`
	Name      string         `json:"name"`
	Before    map[string]any `json:"before,omitempty"`
	After     map[string]any `json:"after,omitempty"`
}

// String returns the kind and the name of the object.
func (d Difference) String() string {
	if d.Namespace == "" {
		return d.Kind + " " + d.Name
	}
	return d.Kind + " " + d.Namespace + "/" + d.Name
}

// Diff returns the objects that differ between two states, sorted by key. Events are
// included only if events is set.
func Diff(before, after snapshot.State, events bool) []Difference {
	keys := map[string][2][]byte{}
	for i, s := range []snapshot.State{before, after} {
		for _, e := range s.Entries {
			if snapshot.IsTransient(e.Key) || !events && storekeys.ResourcePrefix(e.Key) == storekeys.Events {
				continue
			}
			pair := keys[e.Key]
			pair[i] = e.Value
			keys[e.Key] = pair
		}
	}
	list := []Difference{}
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		if pair := keys[key]; !bytes.Equal(pair[0], pair[1]) {
			if d, ok := compareValues(key, pair[0], pair[1]); ok {
				list = append(list, d)
			}
		}
	}
	return list
}

// compareValues returns false if the values differ only in fields that are left out.
func compareValues(key string, before, after []byte) (d Difference, ok bool) {
	was, is := decodeForDiff(key, before), decodeForDiff(key, after)
	known := is
	switch {
	case before == nil:
		d.Change = Added
	case after == nil:
		d.Change, known = Removed, was
	case was.GetUID() != is.GetUID():
		d.Change = Replaced
	case reflect.DeepEqual(was, is):
		return d, false
	default:
		d.Change = Changed
	}
	d.Kind, d.Namespace, d.Name = known.GetKind(), known.GetNamespace(), known.GetName()
	if group := known.GroupVersionKind().Group; group != "" {
		d.Kind += "." + group
	}
	if d.Name == "" {
		d.Name = strings.TrimPrefix(key, "/") // a port range has no name
	}
	maskSecrets(was, is)
	if was != nil {
		d.Before = was.Object
	}
	if is != nil {
		d.After = is.Object
	}
	return d, true
}

// removeHeartbeats removes when a kubelet has confirmed the conditions of a Node, which it
// does every five minutes.
func removeHeartbeats(node *unstructured.Unstructured) {
	conditions, _, err := unstructured.NestedSlice(node.Object, "status", "conditions")
	if err != nil || len(conditions) == 0 {
		return
	}
	for _, c := range conditions {
		if condition, ok := c.(map[string]any); ok {
			delete(condition, "lastHeartbeatTime")
		}
	}
	node.Object["status"].(map[string]any)["conditions"] = conditions
}

// decodeForDiff returns the object in a value without the fields that are left out; nil
// for no value.
func decodeForDiff(key string, value []byte) *unstructured.Unstructured {
	if value == nil {
		return nil
	}
	u := decodeObject(value)
	if u == nil {
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "Unreadable",
			"metadata": map[string]any{"name": strings.TrimPrefix(key, "/")},
			"value":    fmt.Sprintf("%d bytes, SHA-256 %x", len(value), sha256.Sum256(value)),
		}}
	}
	unstructured.RemoveNestedField(u.Object, "metadata", "managedFields")
	unstructured.RemoveNestedField(u.Object, "metadata", "resourceVersion")
	if u.GetAPIVersion() == "v1" && u.GetKind() == "Node" {
		removeHeartbeats(u)
	}
	return u
}

// maskSecrets hides the values of Secrets, but not which of them differ.
func maskSecrets(was, is *unstructured.Unstructured) {
	before, after := secretData(was), secretData(is)
	for side, u := range map[string]*unstructured.Unstructured{"before": was, "after": is} {
		if !isSecret(u) {
			continue
		}
		unstructured.RemoveNestedField(u.Object, "metadata", "annotations", corev1.LastAppliedConfigAnnotation)
		secretmask.Replace(u.Object, func(v secretmask.Value) string {
			if b, a := before[v.Name], after[v.Name]; b != nil && a != nil && b != a {
				return "*** (" + side + ")"
			}
			return "***"
		})
	}
}

func isSecret(u *unstructured.Unstructured) bool {
	return u != nil && u.GetKind() == "Secret" && u.GroupVersionKind().Group == ""
}

// secretData returns a copy of the values of a Secret; nil for any other object.
func secretData(u *unstructured.Unstructured) map[string]any {
	if !isSecret(u) {
		return nil
	}
	data, _, _ := unstructured.NestedMap(u.Object, "data")
	return data
}

package apiserver

import (
	"bytes"
	"context"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/klog/v2"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ctrlplane/ctrlplane/observe"
)

// forcingPlugin is upstream's plugin that calls validating webhooks, the last one that sees a write. It notes the conflicts that a
// server-side apply forces: the answer to the client does not name them.
type forcingPlugin struct{ webhookPlugin }

// Validate implements admission.ValidationInterface.
func (p forcingPlugin) Validate(ctx context.Context, a admission.Attributes, o admission.ObjectInterfaces) error {
	noteForced(ctx, a)
	return p.webhookPlugin.Validate(ctx, a, o)
}

// noteForced notes the conflicts that a server-side apply forces.
func noteForced(ctx context.Context, a admission.Attributes) {
	options, isUpdate := a.GetOperationOptions().(*metav1.UpdateOptions) // also of an apply
	if !isUpdate {
		return
	}
	before, err := meta.Accessor(a.GetOldObject())
	if err != nil {
		return // a kind without metadata
	}
	after, err := meta.Accessor(a.GetObject())
	if err != nil {
		return
	}
	observe.NoteForced(func() (object observe.Written, managers, fields []string) {
		managers, fields, err := forcedFields(options.FieldManager, before.GetManagedFields(), after.GetManagedFields())
		if err != nil {
			klog.FromContext(ctx).V(2).Info("the fields that a server-side apply has forced are not known", "resource", a.GetResource(), "err", err)
		}
		// The attributes of a Namespace have its own name as the namespace.
		return observe.Written{Resource: a.GetResource().GroupResource().String(), Namespace: before.GetNamespace(), Name: a.GetName()}, managers, fields
	})
}

// forcedFields returns the fields that others than a manager have managed before an apply of this, and that it has taken from
// all of them, with the names of the others. The managers of a field with the same value share it.
func forcedFields(manager string, before, after []metav1.ManagedFieldsEntry) (managers, fields []string, err error) {
	isOther := func(f metav1.ManagedFieldsEntry) bool { return f.Manager != manager }
	isChanged := func(f metav1.ManagedFieldsEntry) bool {
		return isOther(f) && !slices.ContainsFunc(after, func(a metav1.ManagedFieldsEntry) bool { return isSameEntry(f, a) })
	}
	if !slices.ContainsFunc(before, isChanged) { // as of most applies: nothing is decoded
		return nil, nil, nil
	}
	applied, err := fieldsOf(after, func(f metav1.ManagedFieldsEntry) bool {
		return f.Manager == manager && f.Operation == metav1.ManagedFieldsOperationApply
	})
	if err != nil {
		return nil, nil, err
	}
	kept, err := fieldsOf(after, isOther) // also what upstream has moved to another entry, as if there are many
	if err != nil {
		return nil, nil, err
	}
	all := &fieldpath.Set{}
	for _, f := range before {
		if !isChanged(f) {
			continue
		}
		had, err := fieldsOf([]metav1.ManagedFieldsEntry{f}, isChanged)
		if err != nil {
			return nil, nil, err
		}
		taken := had.Difference(kept).Intersection(applied)
		if taken.Empty() {
			continue
		}
		all = all.Union(taken)
		if !slices.Contains(managers, f.Manager) {
			managers = append(managers, f.Manager)
		}
	}
	for path := range all.Leaves().All() {
		fields = append(fields, strings.TrimPrefix(path.String(), "."))
	}
	slices.Sort(fields)
	return managers, fields, nil
}

// isSameEntry reports whether two entries are of the same manager and have the same fields.
func isSameEntry(a, b metav1.ManagedFieldsEntry) bool {
	if a.Manager != b.Manager || a.Operation != b.Operation || a.Subresource != b.Subresource || a.APIVersion != b.APIVersion {
		return false
	}
	return a.FieldsV1 == b.FieldsV1 || a.FieldsV1 != nil && b.FieldsV1 != nil && bytes.Equal(a.FieldsV1.GetRawBytes(), b.FieldsV1.GetRawBytes())
}

// fieldsOf returns the fields of the entries that is selects.
func fieldsOf(entries []metav1.ManagedFieldsEntry, is func(metav1.ManagedFieldsEntry) bool) (*fieldpath.Set, error) {
	all := &fieldpath.Set{}
	for _, f := range entries {
		if !is(f) || f.FieldsV1 == nil {
			continue
		}
		set := &fieldpath.Set{}
		if err := set.FromJSON(bytes.NewReader(f.FieldsV1.GetRawBytes())); err != nil {
			return nil, err
		}
		all = all.Union(set)
	}
	return all, nil
}

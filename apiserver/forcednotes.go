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

// forcingPlugin is upstream's plugin that calls validating webhooks, the last one that sees a write. It notes which fields a
// server-side apply takes by force from other managers: the answer to the client does not say so.
type forcingPlugin struct{ webhookPlugin }

// Validate implements admission.ValidationInterface.
func (p forcingPlugin) Validate(ctx context.Context, a admission.Attributes, o admission.ObjectInterfaces) error {
	noteForced(ctx, a)
	return p.webhookPlugin.Validate(ctx, a, o)
}

// noteForced notes what a server-side apply takes from other managers. Without force the API server refuses that.
func noteForced(ctx context.Context, a admission.Attributes) {
	options, isUpdate := a.GetOperationOptions().(*metav1.UpdateOptions) // also of a patch
	if !isUpdate || options.FieldManager == "" {
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
	managers, fields, err := forcedFields(options.FieldManager, before.GetManagedFields(), after.GetManagedFields())
	if err != nil {
		klog.FromContext(ctx).V(2).Info("the fields that a server-side apply has forced are not known", "resource", a.GetResource(), "err", err)
	}
	object := observe.Written{Resource: a.GetResource().GroupResource().String(), Namespace: a.GetNamespace(), Name: a.GetName()}
	observe.NoteForced(object, managers, fields)
}

// forcedFields returns the fields that others than a manager have managed before an apply of this, and that it manages since,
// with the names of the others. The managers of a field with the same value share it.
func forcedFields(manager string, before, after []metav1.ManagedFieldsEntry) (managers, fields []string, err error) {
	var applied *fieldpath.Set
	lost := &fieldpath.Set{}
	for _, b := range before {
		if b.Manager == manager || b.FieldsV1 == nil {
			continue
		}
		is := func(f metav1.ManagedFieldsEntry) bool {
			return f.Manager == b.Manager && f.Operation == b.Operation && f.Subresource == b.Subresource && f.APIVersion == b.APIVersion
		}
		var left []byte
		if at := slices.IndexFunc(after, is); at >= 0 && after[at].FieldsV1 != nil {
			left = after[at].FieldsV1.GetRawBytes()
		}
		if bytes.Equal(left, b.FieldsV1.GetRawBytes()) {
			continue
		}
		if applied == nil {
			if applied, err = appliedFields(manager, after); err != nil {
				return nil, nil, err
			}
		}
		if applied.Empty() { // an update, which needs no force
			return nil, nil, nil
		}
		had, err := parseFields(b.FieldsV1.GetRawBytes())
		if err != nil {
			return nil, nil, err
		}
		has, err := parseFields(left)
		if err != nil {
			return nil, nil, err
		}
		taken := had.Difference(has).Intersection(applied)
		if taken.Empty() {
			continue
		}
		lost = lost.Union(taken)
		if !slices.Contains(managers, b.Manager) {
			managers = append(managers, b.Manager)
		}
	}
	for path := range lost.Leaves().All() {
		fields = append(fields, strings.TrimPrefix(path.String(), "."))
	}
	slices.Sort(fields)
	return managers, fields, nil
}

// appliedFields returns the fields that a manager has applied.
func appliedFields(manager string, all []metav1.ManagedFieldsEntry) (*fieldpath.Set, error) {
	applied := &fieldpath.Set{}
	for _, f := range all {
		if f.Manager != manager || f.Operation != metav1.ManagedFieldsOperationApply || f.FieldsV1 == nil {
			continue
		}
		set, err := parseFields(f.FieldsV1.GetRawBytes())
		if err != nil {
			return nil, err
		}
		applied = applied.Union(set)
	}
	return applied, nil
}

func parseFields(raw []byte) (*fieldpath.Set, error) {
	set := &fieldpath.Set{}
	if len(raw) == 0 {
		return set, nil
	}
	return set, set.FromJSON(bytes.NewReader(raw))
}

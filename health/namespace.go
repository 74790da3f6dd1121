package health

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"

	"github.com/ctrlplane/ctrlplane/internal/controllernames"
)

// explainNamespaceDeletion says what a Namespace waits for that is being deleted, beside its metadata.finalizers. The namespace
// controller removes its own finalizer from spec.finalizers once it has deleted the content; others wait for other controllers.
func (s *reasonSearch) explainNamespaceDeletion(u *unstructured.Unstructured) string {
	content := remainingContent(u)
	left, text := joinTexts(content, s.nameRemaining(u), s.explainUnencoded(content, u.GetName())), ""
	listed, _, _ := unstructured.NestedStringSlice(u.Object, "spec", "finalizers")
	others := slices.DeleteFunc(slices.Clone(listed), func(f string) bool { return f == string(corev1.FinalizerKubernetes) })
	if len(others) > 0 {
		text = "; waiting for " + strings.Join(others, ", ") + " in spec.finalizers"
	}
	switch waits := len(u.GetFinalizers()) + len(others); {
	case waits > 0 && left != "":
		return text + "; " + left
	case left != "":
		return ": " + left
	case len(u.GetFinalizers()) == 0 && (len(others) == 0 || len(listed) > len(others)):
		if stopped := s.explainStopped(controllernames.Namespace, "delete its content"); stopped != "" {
			return text + "; " + stopped
		}
		return text + "; the namespace controller has not reported the remaining content yet" + s.explainDrain(u)
	}
	return text
}

// aggregatedWait is how long after the deletion of a Namespace the namespace controller may wait while an APIService names a Service, with
// the time that timestamps cut off.
const aggregatedWait = 7 * time.Second

// explainDrain says that the namespace controller waits for the writes that an aggregated API server may still admit; "" if it does not.
func (s *reasonSearch) explainDrain(u *unstructured.Unstructured) string {
	if time.Since(u.GetDeletionTimestamp().Time) > aggregatedWait {
		return ""
	}
	defer s.ignoreErrors()()
	for _, api := range s.listAll(apiServices, "") {
		if isAggregated(&api) {
			return ": it waits 5 s, as APIService " + api.GetName() + " names a Service, whose server may still admit writes"
		}
	}
	return ""
}

// namespaceConditions is the prefix of the conditions that the namespace controller sets.
const namespaceConditions = "Namespace"

// remainingContent returns what remains in a Namespace according to its conditions.
func remainingContent(u *unstructured.Unstructured) string {
	var left []string
	for _, c := range readConditions(u) {
		if strings.HasPrefix(c.Type, namespaceConditions) && c.Status == metav1.ConditionTrue {
			left = append(left, c.Message)
		}
	}
	return strings.Join(left, "; ")
}

// Of the objects that remain in a Namespace, maxRemaining are named, of those of maxRemainingKinds kinds, of maxRemainingListed of each.
const (
	maxRemaining       = 3
	maxRemainingKinds  = 10
	maxRemainingListed = 20
)

// Of several namespaces, what remains is named for maxNamed of them, within maxNaming: it costs up to maxRemainingKinds lists for each.
const (
	maxNamed  = 3
	maxNaming = time.Second
)

// namingLimit is for how many more namespaces, and until when, what remains is named.
type namingLimit struct {
	namespaces int
	until      time.Time
}

// remainingCount matches how many objects of a resource remain, in the message of the namespace controller.
var remainingCount = regexp.MustCompile(`([^\s.]+)\.(\S*) has (\d+) resource instances`)

// nameRemaining names some of the objects that remain in a Namespace, those with finalizers first; "" if none is known.
func (s *reasonSearch) nameRemaining(u *unstructured.Unstructured) string {
	defer s.ignoreErrors()()
	c, _ := findCondition(u, string(corev1.NamespaceContentRemaining))
	remaining, ctx := remainingCount.FindAllStringSubmatch(c.Message, -1), s.ctx
	if limit := s.options.naming; limit != nil && len(remaining) > 0 {
		if limit.namespaces == 0 {
			return ""
		}
		limit.namespaces--
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, limit.until)
		defer cancel()
	}
	var found []unstructured.Unstructured
	var total int64
	for i, reported := range remaining {
		count, err := strconv.ParseInt(reported[3], 10, 64)
		if err == nil && i < maxRemainingKinds {
			var objects []unstructured.Unstructured
			objects, count = s.listRemaining(ctx, strings.TrimSuffix(reported[1]+"."+reported[2], "."), u.GetName(), count)
			found = append(found, objects...)
		}
		total += count
	}
	return nameObjects(found, total)
}

// nameObjects names the first of the objects that remain in a Namespace, those with finalizers first; "" if none is known.
func nameObjects(found []unstructured.Unstructured, total int64) string {
	slices.SortStableFunc(found, func(a, b unstructured.Unstructured) int {
		return min(len(b.GetFinalizers()), 1) - min(len(a.GetFinalizers()), 1)
	})
	var names []string
	for i := range found[:min(len(found), maxRemaining)] {
		names = append(names, describeRemaining(&found[i]))
	}
	if len(names) == 0 {
		return ""
	}
	text := "remaining: " + strings.Join(names, ", ")
	if more := total - int64(len(names)); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

func describeRemaining(u *unstructured.Unstructured) string {
	name, finalizers := u.GetKind()+" "+u.GetName(), u.GetFinalizers()
	switch len(finalizers) {
	case 0:
		return name
	case 1:
		return name + " (finalizer " + finalizers[0] + ")"
	}
	return name + " (finalizers " + strings.Join(finalizers, ", ") + ")"
}

// listRemaining lists the first objects of a resource in a namespace, and returns how many it has; as many as reported if that
// is not known.
func (s *reasonSearch) listRemaining(ctx context.Context, resource, namespace string, reported int64) ([]unstructured.Unstructured, int64) {
	m, err := s.cache.mapper(s.kinds).Find(ctx, resource)
	if err != nil {
		return nil, reported
	}
	return s.listFirst(ctx, m.Resource, namespace, reported)
}

// listFirst is listRemaining of a known resource.
func (s *reasonSearch) listFirst(ctx context.Context, r schema.GroupVersionResource, namespace string, reported int64) ([]unstructured.Unstructured, int64) {
	list, err := s.resourceClient(r, namespace).List(ctx, metav1.ListOptions{Limit: maxRemainingListed})
	if err != nil {
		return nil, reported
	}
	return list.Items, int64(len(list.Items)) + ptr.Deref(list.GetRemainingItemCount(), 0)
}

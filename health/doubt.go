package health

import (
	"context"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ctrlplane/ctrlplane/internal/kinds"
	"github.com/ctrlplane/ctrlplane/internal/requestlog"
	"github.com/ctrlplane/ctrlplane/internal/words"
)

// kstatus knows of custom resources only the conditions Ready, Reconciling and Stalled, and observedGeneration: without
// them an object is current. Others are no reason to fail, as their meaning is up to their authors, but worth to be said.
var (
	conditionsOfSuccess = []string{"Ready", "Available", "Reconciled", "Synced", "Healthy", "Accepted", "Programmed", "ResolvedRefs"}
	conditionsOfFailure = []string{"Failed", "Degraded", "InvalidSpec"}
)

// addConditionDoubt notes the conditions of a custom resource that make it doubtful that it is healthy although kstatus calls it
// Current.
func (s *State) addConditionDoubt(u *unstructured.Unstructured) {
	if s.Status != Current || !kinds.IsCustom(kindOf(u)) || hasCustomRule(u) {
		return
	}
	var doubts []string
	for _, c := range readConditions(u) {
		if slices.Contains(conditionsOfSuccess, c.Type) && c.Status != metav1.ConditionTrue || slices.Contains(conditionsOfFailure, c.Type) && c.Status == metav1.ConditionTrue {
			doubts = append(doubts, "its "+describeCondition(c, ""))
		}
	}
	if len(doubts) == 0 {
		doubts = waitingDoubts(u)
	}
	if text := staleConditions(u); text != "" {
		doubts = append(doubts, text)
	}
	if len(doubts) > 0 {
		s.Doubt = words.OneLine(strings.Join(doubts, "; "))
		s.Message += ", but " + s.Doubt
	}
}

// staleConditions says that all conditions with an observedGeneration are of an earlier generation than the object; "" if one is not,
// or if none has it. An object whose status has one has been observed, whatever its conditions say. Without the subresource
// status each write of the status makes another generation.
func staleConditions(u *unstructured.Unstructured) string {
	isOfStatus := func(f metav1.ManagedFieldsEntry) bool { return f.Subresource == "status" }
	if _, has, err := unstructured.NestedFieldNoCopy(u.Object, "status", "observedGeneration"); has || err != nil || !slices.ContainsFunc(u.GetManagedFields(), isOfStatus) {
		return ""
	}
	var latest int64
	for _, c := range readConditions(u) {
		latest = max(latest, c.ObservedGeneration)
	}
	if latest == 0 || latest >= u.GetGeneration() {
		return ""
	}
	return fmt.Sprintf("its conditions are of generation %d or before, and it is at generation %d", latest, u.GetGeneration())
}

// DoubtOf returns a function that returns [State.Doubt] of an object that is healthy to Wait. It says nothing of a
// Service whose Pods are not healthy, which the caller judges as well, and of what cannot be read. It is not safe for concurrent use.
func (w *Waiter) DoubtOf(ctx context.Context) func(*unstructured.Unstructured) string {
	ctx, cache := requestlog.Discard(ctx), newSearchCache()
	return func(u *unstructured.Unstructured) string {
		s := StateOf(u)
		_ = s.addRuleDoubt(w.newSearch(ctx, searchOptions{skipPods: true}, cache), u) // the object is healthy all the same
		return s.Doubt
	}
}

// reportDoubts passes on the states of those of the objects that Wait waited for of which a rule doubts that they have an effect. What
// they need may be created after them, and so it is called at the end of the wait. If some objects are not healthy then, it leaves out
// Services whose Pods are not.
func (w *Waiter) reportDoubts(ctx context.Context, t *tracker) {
	if t.Doubtful == nil || t.Gone {
		return
	}
	ctx, cancel := afterDeadline(ctx)
	defer cancel()
	options := searchOptions{skipPods: !t.allSatisfied()}
	var cache *searchCache
	if len(t.objects) > 1 {
		cache = newSearchCache()
	}
	for i := range t.objects {
		e := &t.objects[i]
		doubtful := e.State
		_ = doubtful.addRuleDoubt(w.newSearch(ctx, options, cache), e.object) // as DoubtOf
		if doubtful.Doubt != e.Doubt {
			t.Doubtful(doubtful)
		}
	}
}

// addRuleDoubt notes what findDoubt says of an object that is healthy to kstatus.
func (s *State) addRuleDoubt(search *reasonSearch, u *unstructured.Unstructured) error {
	if s.Status != Current || s.Doubt != "" {
		return nil
	}
	var err error
	if s.Doubt, err = search.findDoubt(u); s.Doubt != "" {
		s.Message = strings.TrimSuffix(s.Message, ".") + ", but " + s.Doubt
	}
	return err
}

package health

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ctrlplane/ctrlplane/internal/kinds"
	"github.com/ctrlplane/ctrlplane/internal/requestlog"
	"github.com/ctrlplane/ctrlplane/internal/words"
)

// UnavailableAPIs says of which APIServices the server is not available, and why.
func (w *Waiter) UnavailableAPIs(ctx context.Context) []string {
	return w.newSearch(requestlog.Discard(ctx), searchOptions{}, nil).unavailableAPIs(func(*unstructured.Unstructured) bool { return true })
}

// unavailableAPIs says which of the selected APIServices are not available, and why.
func (s *reasonSearch) unavailableAPIs(selects func(*unstructured.Unstructured) bool) []string {
	defer s.ignoreErrors()()
	return describeUnavailable(s.listAll(apiServices, ""), selects)
}

// isOfGroup returns a function that selects the APIServices of a group. The core group, which is empty, is never that of another server.
func isOfGroup(group string) func(*unstructured.Unstructured) bool {
	return func(api *unstructured.Unstructured) bool { return versionOf(api).Group == group }
}

// failedCheck matches what the API server says before the error of a request to an aggregated server: its URL, twice.
var failedCheck = regexp.MustCompile(`failing or missing response from \S+: Get "[^"]*": `)

// notChecked is said of an APIService that is so new that the API server has not asked its server yet.
const notChecked = "not checked yet"

// describeUnavailable says which of the selected APIServices are not available, and why: each reason once.
func describeUnavailable(apis []unstructured.Unstructured, selects func(*unstructured.Unstructured) bool) (list []string) {
	names := map[string][]string{}
	var reasons []string
	for i := range apis {
		state := StateOf(&apis[i])
		if state.Status == Current || !selects(&apis[i]) {
			continue
		}
		reason := failedCheck.ReplaceAllString(state.Message, "")
		if c, _ := findCondition(&apis[i], "Available"); c.Status != metav1.ConditionFalse {
			reason = notChecked
		}
		if names[reason] == nil {
			reasons = append(reasons, reason)
		}
		names[reason] = append(names[reason], apis[i].GetName())
	}
	for _, reason := range reasons {
		what := "APIService " + names[reason][0] + " is "
		if len(names[reason]) > 1 {
			what = "APIServices " + words.And(names[reason]) + " are "
		}
		list = append(list, what+reason)
	}
	return list
}

// adviseOnAPIs joins what unavailableAPIs has returned, and what to do, unless the reason says that or may pass; "" if that is nothing.
func adviseOnAPIs(unavailable []string) string {
	text := joinTexts(unavailable...)
	switch {
	case text == "" || strings.Contains(text, "run the server") || strings.Contains(text, notChecked):
		return text
	case len(unavailable) > 1:
		return text + ": start their servers, or delete the APIServices"
	case strings.HasPrefix(text, "APIServices "): // versions of one API
		return text + ": start their server, or delete the APIServices"
	}
	return text + ": start its server, or delete the APIService"
}

// Unreadable says that the current state of objects of a group cannot be read, which has failed, as the server of its APIServices is not
// available, or does not answer though it was when it was last checked; "" if ctrlplane itself serves the group.
func (w *Waiter) Unreadable(ctx context.Context, group string, failed error) string {
	s := w.newSearch(requestlog.Discard(ctx), searchOptions{}, nil)
	why := adviseOnAPIs(s.unavailableAPIs(isOfGroup(group)))
	for _, api := range s.listAll(apiServices, "") {
		if why != "" || !isAggregated(&api) || versionOf(&api).Group != group || meta.IsNoMatchError(failed) {
			continue
		}
		why = plainError(cmp.Or(errors.Unwrap(failed), failed))
		if isNoAnswer(failed, group) {
			why = "the server of APIService " + api.GetName() + " does not answer: " + strings.TrimPrefix(why, noAnswer)
		}
	}
	if why == "" {
		return ""
	}
	return "Its current state cannot be read: " + why + "."
}

// isNoAnswer reports whether an error says that the server of a group has not answered, rather than that it has refused.
func isNoAnswer(err error, group string) bool {
	if lost, ok := errors.AsType[*url.Error](err); ok {
		return strings.Contains(lost.URL, "/apis/"+group+"/")
	}
	answer, ok := errors.AsType[*apierrors.StatusError](err)
	return ok && slices.Contains([]int32{http.StatusServiceUnavailable, http.StatusGatewayTimeout, http.StatusTooManyRequests}, answer.Status().Code)
}

// isAggregated reports whether another server serves the API.
func isAggregated(api *unstructured.Unstructured) bool {
	_, is, _ := unstructured.NestedMap(api.Object, "spec", "service")
	return is
}

// explainUnknown says what to do about a kind that is not served. An API that is not available may serve it: namesGroup is set if the kind
// names the group of one, so that it is worth to wait for it. It also answers if ctx has reached its deadline.
func (w *Waiter) explainUnknown(ctx context.Context, mapper kinds.Mapper, kind, otherwise string) (text string, namesGroup bool) {
	ctx, cancel := afterDeadline(ctx)
	defer cancel()
	_, of, namesGroup := strings.Cut(kind, ".") // RESOURCE.VERSION.GROUP or RESOURCE.GROUP
	why := adviseOnAPIs(w.newSearch(ctx, searchOptions{}, nil).unavailableAPIs(func(api *unstructured.Unstructured) bool {
		v := versionOf(api)
		if !namesGroup { // of the metrics, nothing is waited for
			return metricsAPIs[v.Group] == ""
		}
		return of == v.Group || of == v.Version+"."+v.Group
	}))
	if why != "" {
		why = "an aggregated API may serve it: " + why
	}
	if namesGroup && why != "" {
		return why, true
	}
	if hint := mapper.Hint(ctx, kind, ""); hint != "" {
		return hint, false
	}
	return joinTexts(otherwise, why), false
}

// listError adds to an error which APIServices of the group are not available.
func (w *Waiter) listError(ctx context.Context, r schema.GroupVersionResource, err error) error {
	ctx, cancel := afterDeadline(ctx)
	defer cancel()
	if why := adviseOnAPIs(w.newSearch(ctx, searchOptions{}, nil).unavailableAPIs(isOfGroup(r.Group))); why != "" {
		return fmt.Errorf("list %s: %w: %s", r.Resource, err, why)
	}
	return fmt.Errorf("list %s: %w", r.Resource, err)
}

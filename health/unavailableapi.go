package health

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ctrlplane/ctrlplane/internal/kinds"
	"github.com/ctrlplane/ctrlplane/internal/requestlog"
	"github.com/ctrlplane/ctrlplane/internal/words"
)

// UnavailableAPIs says of which APIServices of a group the server is not available, and why; of all groups if it is empty.
func (w *Waiter) UnavailableAPIs(ctx context.Context, group string) (list []string) {
	return w.newSearch(requestlog.Discard(ctx), searchOptions{}, nil).unavailableAPIs(group)
}

func (s *reasonSearch) unavailableAPIs(group string) []string {
	defer s.ignoreErrors()()
	return describeUnavailable(s.listAll(apiServices, ""), func(api *unstructured.Unstructured) bool {
		of, _, _ := unstructured.NestedString(api.Object, "spec", "group")
		return group == "" || of == group
	})
}

// failedCheck matches what the API server says before the error of a request to an aggregated server: its URL, twice.
var failedCheck = regexp.MustCompile(`failing or missing response from \S+: Get "[^"]*": `)

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

// adviseOnAPIs joins what unavailableAPIs has returned, and what to do, unless the reason says that; "" if that is nothing.
func adviseOnAPIs(unavailable []string) string {
	text := joinTexts(unavailable...)
	if text == "" || strings.Contains(text, "run the server") {
		return text
	}
	if len(unavailable) > 1 || strings.HasPrefix(text, "APIServices ") {
		return text + ": start their server, or delete the APIServices"
	}
	return text + ": start its server, or delete the APIService"
}

// Unreadable says that the current state of objects of a group cannot be read, which has failed, as the server of its APIServices is not
// available, or does not answer though it was when it was last checked; "" if ctrlplane itself serves the group.
func (w *Waiter) Unreadable(ctx context.Context, group string, failed error) string {
	s := w.newSearch(requestlog.Discard(ctx), searchOptions{}, nil)
	why := adviseOnAPIs(s.unavailableAPIs(group))
	for _, api := range s.listAll(apiServices, "") {
		of, _, _ := unstructured.NestedString(api.Object, "spec", "group")
		if why == "" && isAggregated(&api) && of == group && !meta.IsNoMatchError(errors.Unwrap(failed)) {
			why = "the server of APIService " + api.GetName() + " does not answer: " + strings.TrimPrefix(plainError(cmp.Or(errors.Unwrap(failed), failed)), noAnswer)
		}
	}
	if why == "" {
		return ""
	}
	return "Its current state cannot be read: " + why + "."
}

// isAggregated reports whether another server serves the API.
func isAggregated(api *unstructured.Unstructured) bool {
	_, is, _ := unstructured.NestedMap(api.Object, "spec", "service")
	return is
}

// unavailableAPIsOf says which APIServices may serve an unknown kind and are not available; "" if none, or if the name is like that of a
// known kind. It also answers if ctx has ended.
func (w *Waiter) unavailableAPIsOf(ctx context.Context, mapper kinds.Mapper, kind string) string {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), reasonTimeout)
	defer cancel()
	if mapper.Hint(ctx, kind, "") != "" {
		return ""
	}
	_, of, _ := strings.Cut(kind, ".") // RESOURCE.VERSION.GROUP or RESOURCE.GROUP
	var list []string
	for _, api := range w.newSearch(ctx, searchOptions{}, nil).unavailableAPIs("") {
		if of == "" || strings.Contains(api, of) {
			list = append(list, api)
		}
	}
	if len(list) == 0 {
		return ""
	}
	return "it may be one of an API that is not available: " + adviseOnAPIs(list)
}

// listError adds to an error which APIServices of the group are not available.
func (w *Waiter) listError(ctx context.Context, r schema.GroupVersionResource, err error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), reasonTimeout)
	defer cancel()
	if why := adviseOnAPIs(w.UnavailableAPIs(ctx, r.Group)); why != "" {
		return fmt.Errorf("list %s: %s: %w", r.Resource, why, err)
	}
	return fmt.Errorf("list %s: %w", r.Resource, err)
}

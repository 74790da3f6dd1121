package health

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// maxWarningsTime bounds how long searches that share a cache read warnings about custom resources: the API server has no index of
// events, and there may be many.
const maxWarningsTime = 2 * time.Second

// warningsAbout returns the warnings about a custom resource; none if they cannot be read, or not in time. Searches that share a
// cache read those of a namespace once, without those about Pods, of which there may be many.
func (s *reasonSearch) warningsAbout(u *unstructured.Unstructured) (warnings []*corev1.Event) {
	namespace, selector := eventNamespace(u), "type=Warning,involvedObject.kind!=Pod"
	if s.single {
		selector = "type=Warning,involvedObject.uid=" + string(u.GetUID())
	}
	found, known := s.cache.warnings[namespace]
	if !known {
		found = s.readWarnings(namespace, selector)
		s.cache.warnings[namespace] = found
	}
	for _, item := range found[u.GetUID()] {
		if e := (&corev1.Event{}); convertObject(&item, e) == nil && isWarning(e) {
			warnings = append(warnings, e)
		}
	}
	return warnings
}

// readWarnings reads a page of events.
func (s *reasonSearch) readWarnings(namespace, selector string) objectsByUID {
	began := time.Now()
	ctx, cancel := context.WithTimeout(s.ctx, maxWarningsTime-s.cache.readingWarnings)
	defer cancel()
	list, err := s.resourceClient(coreResource("events"), namespace).List(ctx, metav1.ListOptions{FieldSelector: selector, Limit: maxListed})
	s.cache.readingWarnings += time.Since(began)
	if err != nil {
		return nil
	}
	return groupByUID(list.Items, involvedUID)
}

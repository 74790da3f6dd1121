package health

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

const (
	// maxNeeded is how many of the objects that one refers to are read: a binding may have thousands of subjects.
	maxNeeded = 100
	// maxTexts is how many of the things that an object lacks are said.
	maxTexts = 5
)

// neededObject is an object that another one refers to.
type neededObject struct {
	schema.GroupVersionResource
	namespace, name string
}

// readAnswer has an object; neither it nor an error if it does not exist.
type readAnswer struct {
	object *unstructured.Unstructured
	err    error
}

// read reads an object, only once for searches that share a cache. It is not an error of the search if that fails.
func (s *reasonSearch) read(o neededObject) readAnswer {
	answer, known := s.cache.reads[o]
	if !known {
		defer s.ignoreErrors()()
		s.err = nil
		answer.object = s.get(o.GroupVersionResource, o.namespace, o.name)
		answer.err = s.err
		s.cache.reads[o] = answer
	}
	return answer
}

// need reads an object that the explained one refers to, unless it has read too many of them: then it returns none, and does not
// know whether it is missing.
func (s *reasonSearch) need(r schema.GroupVersionResource, namespace, name string) (u *unstructured.Unstructured, missing bool) {
	o := neededObject{r, namespace, name}
	if !s.needed[o] && len(s.needed) == maxNeeded {
		s.unread = true
		return nil, false
	}
	if s.needed == nil {
		s.needed = map[neededObject]bool{}
	}
	s.needed[o] = true
	answer := s.read(o)
	if answer.err != nil {
		s.recordError(answer.err)
	}
	return answer.object, answer.object == nil && answer.err == nil
}

// missing reports whether an object does not exist that the explained one refers to.
func (s *reasonSearch) missing(r schema.GroupVersionResource, namespace, name string) bool {
	_, missing := s.need(r, namespace, name)
	return missing
}

// unreadSuffix says that what an object lacks is what was found among the objects that were read; "" if all were.
func (s *reasonSearch) unreadSuffix() string {
	if !s.unread {
		return ""
	}
	return fmt.Sprintf("; only the first %d objects that it refers to were examined", maxNeeded)
}

// joinFirst joins the first of several texts, and counts the others.
func joinFirst(texts []string) string {
	texts = slices.DeleteFunc(texts, func(t string) bool { return t == "" })
	if over := len(texts) - maxTexts; over > 1 {
		return joinTexts(texts[:maxTexts]...) + fmt.Sprintf("; and %d more", over)
	}
	return joinTexts(texts...)
}

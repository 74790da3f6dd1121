package health

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"

	"github.com/ctrlplane/ctrlplane/internal/kinds"
	"github.com/ctrlplane/ctrlplane/internal/requestlog"
	"github.com/ctrlplane/ctrlplane/internal/words"
	"github.com/ctrlplane/ctrlplane/observe"
)

// WhyOf returns a function that says in one line why an object is not healthy. It examines the objects that it owns or
// needs and its events first, and then the object itself. Several objects share the lists of what they own or need. It is
// not safe for concurrent use.
func (w *Waiter) WhyOf(ctx context.Context) func(*unstructured.Unstructured) string {
	ctx, cache := requestlog.Discard(ctx), newSearchCache()
	return func(u *unstructured.Unstructured) string { return w.newSearch(ctx, searchOptions{}, cache).why(u) }
}

// why says in one line why an object is not healthy.
func (s *reasonSearch) why(u *unstructured.Unstructured) string {
	return s.explainState(&trackedObject{State: StateOf(u), object: u}, false).Reason
}

// explainState returns why an object is not healthy or, if gone is set, why it still exists.
func (s *reasonSearch) explainState(e *trackedObject, gone bool) Unhealthy {
	u := Unhealthy{State: e.State, Reason: words.OneLine(s.findReason(e, gone))}
	u.Log, u.Failing, u.Node = s.log, s.failing, s.node
	switch {
	case u.Reason == "":
		u.Reason = e.Message
	case e.Status == Unknown && !strings.HasPrefix(u.Reason, e.Message):
		u.Reason += "; current state unknown: " + e.Message
	default:
		u.Reason += s.errorSuffix()
	}
	return u
}

func (s *reasonSearch) findReason(e *trackedObject, gone bool) string {
	switch {
	case e.object == nil && e.Status == NotFound:
		return s.explainAbsence(e)
	case e.object == nil:
		return joinTexts(e.Message, adviseOnAPIs(s.unavailableAPIs(isOfGroup(e.Ref.Group))))
	case !gone:
		return joinTexts(s.explainObject(beforeExpiry(e.object)), s.explainUnservedOwner(e.object))
	case e.object.GetDeletionTimestamp() == nil:
		return "its deletion was not requested"
	}
	return s.explainObject(e.object)
}

// reasonSearch looks for the reason of one object. It keeps the first error and continues with the
// information that it has.
type reasonSearch struct {
	ctx     context.Context
	options searchOptions
	cache   *searchCache
	single  bool // no other search uses the cache: of what may be long, such as the events, it lists what is about the object
	kinds   discovery.DiscoveryInterfaceWithContext
	objects dynamic.Interface
	records observe.Source // nil if there are none
	owners  []types.UID    // the custom resource that is explained, and the owned ones below it
	err     error
	needed  map[neededObject]bool // what the explained object refers to and was looked for
	unread  bool                  // it refers to more than that
	log     *ContainerLog         // as in State
	failing Ref                   // as in State
	node    string                // as in State
}

// newSearch returns a search for the reason of one object. The searches of several objects share a cache; nil for a single one.
func (w *Waiter) newSearch(ctx context.Context, options searchOptions, shared *searchCache) *reasonSearch {
	s := &reasonSearch{ctx: ctx, options: options, cache: shared, single: shared == nil, kinds: w.kinds, objects: w.objects, records: w.records}
	if s.single {
		s.cache = newSearchCache()
	}
	return s
}

// noteNode notes the node of a Pod, or a Node, that the reason is about.
func (s *reasonSearch) noteNode(u *unstructured.Unstructured) {
	if node := nodeOf(u); node != "" {
		s.node = node
	}
}

// nodeOf returns the node of a Pod, or the name of a Node; "" for other objects.
func nodeOf(u *unstructured.Unstructured) (name string) {
	switch kindOf(u) {
	case podKind:
		name, _, _ = unstructured.NestedString(u.Object, "spec", "nodeName")
	case nodeKind:
		name = u.GetName()
	}
	return name
}

func (s *reasonSearch) recordError(err error) {
	if s.err == nil {
		s.err = err
	}
}

// errorSuffix says that details are missing in what was found, and why; "" if none are.
func (s *reasonSearch) errorSuffix() string {
	if s.err == nil {
		return ""
	}
	return "; no further details: " + plainError(s.err)
}

// joinTexts joins those of several texts that are not empty.
func joinTexts(texts ...string) string {
	texts = slices.DeleteFunc(texts, func(t string) bool { return t == "" })
	for i := range max(len(texts)-1, 0) {
		texts[i] = trimStop(texts[i])
	}
	return strings.Join(texts, "; ")
}

// trimStop returns a text to which more is added without its full stop.
func trimStop(text string) string {
	if strings.HasSuffix(text, "..") {
		return text
	}
	return strings.TrimSuffix(text, ".")
}

// explainObject explains why an object is not healthy, or still exists.
func (s *reasonSearch) explainObject(u *unstructured.Unstructured) string {
	return s.addUnavailableAPIs(s.explainItself(u))
}

// explainItself is like explainObject, without the APIs that a controller needs for it.
func (s *reasonSearch) explainItself(u *unstructured.Unstructured) string {
	if u.GetDeletionTimestamp() != nil {
		return s.explainDeletion(u)
	}
	if reason := s.explainKind(u); reason != "" {
		return reason
	}
	text := s.addLastWarning(joinTexts(StateOf(u).Message, explainSpec(u)), u)
	if kinds.IsCustom(kindOf(u)) {
		text = s.addOwned(text, u)
	}
	return text
}

// explainKind applies the rules for the object's kind. It returns "" if there is no
// reason to be found.
func (s *reasonSearch) explainKind(u *unstructured.Unstructured) string {
	switch kindOf(u) {
	case deploymentKind:
		return s.explainDeployment(u)
	case replicaSetKind, replicationControllerKind:
		return s.explainReplicaSet(u)
	case statefulSetKind:
		return s.explainPods(u)
	case daemonSetKind:
		return s.explainDaemonSet(u)
	case jobKind:
		return s.explainJob(u)
	case podKind:
		return s.explainPod(u)
	case nodeKind:
		s.noteNode(u)
	case claimKind:
		return s.explainClaim(u)
	}
	return ""
}

// explainAbsence explains why an object does not exist.
func (s *reasonSearch) explainAbsence(e *trackedObject) string {
	if strings.Contains(e.Message, errNotServed.Error()) {
		return s.explainUnserved(e.Ref)
	}
	if ns := e.Ref.Namespace; ns != "" && s.get(coreResource("namespaces"), "", ns) == nil && s.err == nil {
		return fmt.Sprintf("namespace %s does not exist", ns)
	}
	return e.Message
}

package nodes

import (
	"encoding/json"
	"maps"
	"net/netip"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"sigs.k8s.io/kwok/pkg/apis/internalversion"
	"sigs.k8s.io/kwok/pkg/utils/gotpl"

	"github.com/ctrlplane/ctrlplane/sim/annotations"
)

// The stages with which kwok plays what is due. A feed names the stage in an
// annotation of its own copy of the object; the stored object never has it.
const (
	nodeStatusNow   = "node-status"
	nodeStatusLater = "node-status-later"
	podStatusNow    = "pod-status"
	podStatusLater  = "pod-status-later"
	podDeleteNow    = "pod-delete"
	podDeleteLater  = "pod-delete-later"
)

var (
	nodeRef = internalversion.StageResourceRef{APIGroup: "v1", Kind: "Node"}
	podRef  = internalversion.StageResourceRef{APIGroup: "v1", Kind: "Pod"}
)

// builtinStages returns the stages that need no Stage objects.
func builtinStages() []*internalversion.Stage {
	status := func(template string) internalversion.StageStep {
		kind := internalversion.StagePatchTypeStrategicMergePatch
		return internalversion.StageStep{Patch: &internalversion.StagePatch{Subresource: "status", Template: template, Type: &kind}}
	}
	node, pod := status("{{ NodePatch .metadata.name }}"), status("{{ PodPatch .metadata.uid }}")
	remove := internalversion.StageStep{Delete: true}
	return []*internalversion.Stage{
		builtinStage(nodeRef, nodeStatusNow, false, node),
		builtinStage(nodeRef, nodeStatusLater, true, node),
		builtinStage(podRef, podStatusNow, false, pod),
		builtinStage(podRef, podStatusLater, true, pod),
		builtinStage(podRef, podDeleteNow, false, pod, remove),
		builtinStage(podRef, podDeleteLater, true, pod, remove),
	}
}

func builtinStage(ref internalversion.StageResourceRef, name string, later bool, steps ...internalversion.StageStep) *internalversion.Stage {
	stage := &internalversion.Stage{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: internalversion.StageSpec{
			ResourceRef: ref,
			Selector:    &internalversion.StageSelector{MatchAnnotations: map[string]string{annotations.Stage: name}},
			Steps:       steps,
		},
	}
	if later {
		from := `.metadata.annotations["` + annotations.StageTime + `"]`
		stage.Spec.Delay = &internalversion.StageDelay{
			DurationFrom: &internalversion.ExpressionFrom{JQ: &internalversion.ExpressionJQ{Expression: from}},
		}
	}
	return stage
}

// setDueStage adds what is due to the annotations of an object.
func setDueStage(meta *metav1.ObjectMeta, what dueStage) {
	set := make(map[string]string, len(meta.Annotations)+2)
	maps.Copy(set, meta.Annotations)
	delete(set, annotations.Stage)
	if what.name != "" {
		set[annotations.Stage] = what.name
		set[annotations.StageTime] = what.at.Format(time.RFC3339Nano)
	}
	meta.Annotations = set
}

// templateFunctions returns the functions that the templates of stages call: those of
// this package, and replacements for kwok's functions that allocate addresses.
func (r *podRegistry) templateFunctions() gotpl.FuncMap {
	first := func(list []string) string {
		if len(list) == 0 {
			return ""
		}
		return list[0]
	}
	hosts := func(node string) []string { return addressStrings(r.nodeIPs(node)) }
	pods := func(_ string, _ bool, uid, _, _ string) []string { return addressStrings(r.podIPs(types.UID(uid))) }
	return gotpl.FuncMap{
		"NodePatch":   r.nodePatch,
		"PodPatch":    r.podPatch,
		"NodeIPsWith": hosts,
		"NodeIPWith":  func(node string) string { return first(hosts(node)) },
		"PodIPsWith":  pods,
		"PodIPWith": func(node string, host bool, uid, name, namespace string) string {
			return first(pods(node, host, uid, name, namespace))
		},
	}
}

func addressStrings(addrs []netip.Addr) []string {
	var list []string
	for _, a := range addrs {
		list = append(list, a.String())
	}
	return list
}

const emptyPatch = "{}"

func (r *podRegistry) nodePatch(name string) (string, error) {
	node, addr, err := r.liveNode(name)
	if err != nil {
		return "", err
	}
	r.played.nodes.setRendered(name)
	st, _ := r.shape.nodeStatus(node, addr, r.now())
	return mergePatch(corev1.Node{Status: node.Status}, corev1.Node{ObjectMeta: metav1.ObjectMeta{UID: node.UID}, Status: st})
}

func (r *podRegistry) podPatch(uid string) (string, error) {
	pod, at, err := r.duePod(types.UID(uid))
	if pod == nil {
		return emptyPatch, err
	}
	st, _ := podStatus(pod, at, r.now())
	return mergePatch(corev1.Pod{Status: pod.Status}, corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: pod.UID}, Status: st})
}

// mergePatch returns the patch that leads from one state to the other. Its UID keeps
// it from changing a later object of the same name.
func mergePatch[T any](from, to T) (string, error) {
	before, err := json.Marshal(from)
	if err != nil {
		return "", err
	}
	after, err := json.Marshal(to)
	if err != nil {
		return "", err
	}
	data, err := strategicpatch.CreateTwoWayMergePatch(before, after, to)
	return string(data), err
}

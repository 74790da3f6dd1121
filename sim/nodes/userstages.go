package nodes

import (
	"encoding/json"
	"maps"
	"net/netip"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"sigs.k8s.io/kwok/pkg/apis/internalversion"
	"sigs.k8s.io/kwok/pkg/utils/gotpl"

	"github.com/ctrlplane/ctrlplane/sim/annotations"
)

var (
	nodeRef = internalversion.StageResourceRef{APIGroup: "v1", Kind: "Node"}
	podRef  = internalversion.StageResourceRef{APIGroup: "v1", Kind: "Pod"}
)

// setDueStage adds the stage of a user that is due to the annotations of an object. A version that kwok is given again
// becomes another one: kwok skips one for which it has already queued a stage.
func setDueStage(meta *metav1.ObjectMeta, what dueStage) {
	if what.again > 0 {
		meta.ResourceVersion += "+" + strconv.Itoa(what.again)
	}
	set := make(map[string]string, len(meta.Annotations)+1)
	maps.Copy(set, meta.Annotations)
	set[annotations.Stage] = stageVersion(what.user.stage.object)
	meta.Annotations = set
}

// templateFunctions returns replacements for functions that kwok gives to the templates of
// stages: those that allocate addresses, and limitedFunctions.
func (r *podRegistry) templateFunctions() gotpl.FuncMap {
	first := func(list []string) string {
		if len(list) == 0 {
			return ""
		}
		return list[0]
	}
	hosts := func(node string) []string { return addressStrings(r.nodeIPs(node)) }
	pods := func(_ string, _ bool, uid, _, _ string) []string { return addressStrings(r.podIPs(types.UID(uid))) }
	functions := gotpl.FuncMap{
		"NodeIPsWith": hosts,
		"NodeIPWith":  func(node string) string { return first(hosts(node)) },
		"PodIPsWith":  pods,
		"PodIPWith": func(node string, host bool, uid, name, namespace string) string {
			return first(pods(node, host, uid, name, namespace))
		},
	}
	maps.Copy(functions, limitedFunctions())
	return functions
}

func addressStrings(addrs []netip.Addr) []string {
	var list []string
	for _, a := range addrs {
		list = append(list, a.String())
	}
	return list
}

// mergePatch returns the patch that leads from one state to the other. Its UID keeps
// it from changing a later object of the same name.
func mergePatch[T any](from, to T) ([]byte, error) {
	before, err := json.Marshal(from)
	if err != nil {
		return nil, err
	}
	after, err := json.Marshal(to)
	if err != nil {
		return nil, err
	}
	return strategicpatch.CreateTwoWayMergePatch(before, after, to)
}

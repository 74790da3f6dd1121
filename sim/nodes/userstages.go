package nodes

import (
	"encoding/json"
	"maps"
	"net/netip"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"sigs.k8s.io/kwok/pkg/apis/internalversion"
	"sigs.k8s.io/kwok/pkg/utils/gotpl"
)

var (
	nodeRef = internalversion.StageResourceRef{APIGroup: "v1", Kind: "Node"}
	podRef  = internalversion.StageResourceRef{APIGroup: "v1", Kind: "Pod"}
)

// templateFunctions returns the functions that kwok's controllers give to the templates of stages, as without an address
// of kwok itself, and limitedFunctions.
func (r *podRegistry) templateFunctions() gotpl.FuncMap {
	first := func(list []string) string {
		if len(list) == 0 {
			return ""
		}
		return list[0]
	}
	hosts := func(node string) []string { return addressStrings(r.nodeIPs(node)) }
	pods := func(_ string, _ bool, uid, _, _ string) []string { return addressStrings(r.podIPs(types.UID(uid))) }
	none := func() string { return "" }
	functions := gotpl.FuncMap{
		"NodeIP": none, "NodeName": none, "PodIP": none,
		"NodePort":    func() int { return 0 },
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

package volumes

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	corehelper "k8s.io/kubernetes/pkg/apis/core/v1/helper"
)

// nodeAffinity returns which nodes can reach a volume: all, unless its StorageClass
// restricts the topology. Then it is the topology of the selected node or, if no node
// is selected, every allowed one. why is set if the selected node is not allowed or
// does not exist.
func (ctrl *controller) nodeAffinity(class *storagev1.StorageClass, selected string) (a *corev1.VolumeNodeAffinity, why string, err error) {
	allowed := class.AllowedTopologies
	if len(allowed) == 0 {
		return nil, "", nil
	}
	if selected == "" {
		return requiredAffinity(allowed), "", nil
	}
	node, err := ctrl.nodes.Get(selected)
	if apierrors.IsNotFound(err) {
		return nil, fmt.Sprintf("node %s does not exist: waiting until another node is selected", selected), nil
	}
	if err != nil {
		return nil, "", err
	}
	i := slices.IndexFunc(allowed, func(t corev1.TopologySelectorTerm) bool {
		return corehelper.MatchTopologySelectorTerms([]corev1.TopologySelectorTerm{t}, node.Labels)
	})
	if i < 0 {
		return nil, fmt.Sprintf("node %s is not in the allowedTopologies of StorageClass %s: waiting until another node is selected", selected, class.Name), nil
	}
	var here corev1.TopologySelectorTerm
	for _, e := range allowed[i].MatchLabelExpressions {
		here.MatchLabelExpressions = append(here.MatchLabelExpressions,
			corev1.TopologySelectorLabelRequirement{Key: e.Key, Values: []string{node.Labels[e.Key]}})
	}
	return requiredAffinity([]corev1.TopologySelectorTerm{here}), "", nil
}

func requiredAffinity(terms []corev1.TopologySelectorTerm) *corev1.VolumeNodeAffinity {
	selector := &corev1.NodeSelector{}
	for _, t := range terms {
		var term corev1.NodeSelectorTerm
		for _, e := range t.MatchLabelExpressions {
			term.MatchExpressions = append(term.MatchExpressions,
				corev1.NodeSelectorRequirement{Key: e.Key, Operator: corev1.NodeSelectorOpIn, Values: e.Values})
		}
		selector.NodeSelectorTerms = append(selector.NodeSelectorTerms, term)
	}
	return &corev1.VolumeNodeAffinity{Required: selector}
}

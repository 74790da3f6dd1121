package health

import (
	"fmt"
	"slices"
	"strings"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// doubtResourceClaim names the DeviceClasses of a ResourceClaim that do not exist, of each request for which none exists.
func (s *reasonSearch) doubtResourceClaim(u *unstructured.Unstructured, claim *resourcev1.ResourceClaim) string {
	if u.GroupVersionKind().Version != resourcev1.SchemeGroupVersion.Version {
		return ""
	}
	if claim.Status.Allocation != nil { // it needs none any more
		return ""
	}
	var missing []string
	for _, request := range claim.Spec.Devices.Requests {
		var classes []string // one of which is needed
		if request.Exactly != nil {
			classes = append(classes, request.Exactly.DeviceClassName)
		}
		for _, sub := range request.FirstAvailable {
			classes = append(classes, sub.DeviceClassName)
		}
		if !slices.ContainsFunc(classes, func(name string) bool {
			return !s.missing(resourcev1.SchemeGroupVersion.WithResource("deviceclasses"), "", name)
		}) {
			missing = append(missing, classes...)
		}
	}
	slices.Sort(missing)
	switch missing = slices.Compact(missing); len(missing) {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf("its DeviceClass %s does not exist: no device can be allocated", missing[0])
	}
	return fmt.Sprintf("its DeviceClasses %s do not exist: no device can be allocated", strings.Join(missing, ", "))
}

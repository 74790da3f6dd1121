package apiserver

import (
	"strings"
	"testing"

	utilfeature "k8s.io/apiserver/pkg/util/feature"
)

// A configuration that is refused leaves the gates as they were: another start of the process
// would fail because of it.
func TestRefusedFeatureGatesAreForgotten(t *testing.T) {
	gates := utilfeature.DefaultMutableFeatureGate
	for _, refused := range []string{"NoSuchGate=true", "kube:NoSuchGate=true", "AllAlpha=maybe", "ConsistentListFromCache=false,NoSuchGate=true", "nocomponent:A=true", "AllBeta=true,kube:AllAlpha=false"} {
		if err := (Config{FeatureGates: refused}).CheckFlags(); err == nil || !strings.HasPrefix(err.Error(), "--feature-gates") {
			t.Errorf("%s: got error %v", refused, err)
		}
		if err := gates.DeepCopy().Set("AllBeta=true"); err != nil {
			t.Errorf("after %s: %v", refused, err)
		}
		if err := (Config{}).CheckFlags(); err != nil {
			t.Errorf("after %s: %v", refused, err)
		}
	}
}

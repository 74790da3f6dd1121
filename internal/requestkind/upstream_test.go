package requestkind

import (
	"testing"

	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

func TestLeaderAnnotation(t *testing.T) {
	if LeaderAnnotation != resourcelock.LeaderElectionRecordAnnotationKey {
		t.Errorf("client-go has %s", resourcelock.LeaderElectionRecordAnnotationKey)
	}
}

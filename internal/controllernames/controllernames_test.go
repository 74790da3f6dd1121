package controllernames

import (
	"strings"
	"testing"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
)

// A name that upstream changes would match nothing.
func TestUpstreamHasTheNames(t *testing.T) {
	source := testutil.UpstreamSource(t, "k8s.io/kubernetes", "cmd/kube-controller-manager/names/controller_names.go")
	for _, name := range []string{
		CronJob, Deployment, EndpointSliceMirror, GarbageCollector, HorizontalPodAutoscaler, Namespace, NodeLifecycle, PodGarbageCollector, ReplicaSet, ReplicationController, ServiceAccount, TaintEviction, TTLAfterFinished,
	} {
		if !strings.Contains(source, ` = "`+name+`"`) {
			t.Errorf("no controller has the name %s", name)
		}
	}
	source = testutil.UpstreamSource(t, "k8s.io/kubernetes", "pkg/controller/garbagecollector/graph_builder.go")
	if !strings.Contains(source, `Name: "`+GarbageCollectorQueue+`"`) {
		t.Errorf("the garbage collector has no queue %s", GarbageCollectorQueue)
	}
}

package health

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/discovery"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
)

func TestConstantsMatchTheDeploymentController(t *testing.T) {
	source := testutil.UpstreamSource(t, "k8s.io/kubernetes", "pkg/controller/deployment/util/deployment_util.go")
	for _, want := range []string{
		`RevisionAnnotation = "` + revisionAnnotation + `"`,
		`TimedOutReason = "` + progressDeadlineExceeded + `"`,
	} {
		if !strings.Contains(source, want) {
			t.Errorf("the Deployment controller has no %s", want)
		}
	}
}

func TestNamespaceConditionsHaveThePrefix(t *testing.T) {
	for _, c := range []corev1.NamespaceConditionType{
		corev1.NamespaceDeletionDiscoveryFailure, corev1.NamespaceDeletionContentFailure, corev1.NamespaceDeletionGVParsingFailure,
		corev1.NamespaceContentRemaining, corev1.NamespaceFinalizersRemaining,
	} {
		if !strings.HasPrefix(string(c), namespaceConditions) {
			t.Errorf("condition %s does not begin with %s", c, namespaceConditions)
		}
	}
}

func TestTextsAboutAPIs(t *testing.T) {
	source := testutil.UpstreamSource(t, "k8s.io/kubernetes", "pkg/controller/podautoscaler/metrics/client.go")
	for _, name := range metricsAPIs {
		if want := "unable to fetch metrics from " + name + ": %w"; !strings.Contains(source, want) {
			t.Errorf("the controller of autoscalers has no %q", want)
		}
	}
	if got := (discovery.StaleGroupVersionError{}).Error(); !strings.HasPrefix(got, staleDiscovery) {
		t.Errorf("client-go says %q", got)
	}
}

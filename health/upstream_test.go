package health

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

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

func TestConstantsMatchTheJobControllers(t *testing.T) {
	for file, want := range map[string]string{
		"job/job_controller.go":           fmt.Sprintf("DefaultJobPodFailureBackOff = %d * time.Second", int(podBackoff.Seconds())),
		"job/backoff_utils.go":            "backoffDuration = backoffDuration * 2",
		"cronjob/cronjob_controllerv2.go": `"` + skippedStart + `"`,
		"controller_utils.go":             `SuccessfulCreatePodReason = "` + podCreation + `"`,
	} {
		if source := testutil.UpstreamSource(t, "k8s.io/kubernetes", "pkg/controller/"+file); !strings.Contains(source, want) {
			t.Errorf("%s has no %s", file, want)
		}
	}
	source := testutil.UpstreamSource(t, "k8s.io/kubernetes", "pkg/controller/job/job_controller.go")
	if want := fmt.Sprintf("MaxJobPodFailureBackOff = %d * time.Minute", int(maxPodBackoff.Minutes())); !strings.Contains(source, want) {
		t.Errorf("the Job controller has no %s", want)
	}
}

func TestLeaderAnnotation(t *testing.T) {
	if leaderAnnotation != resourcelock.LeaderElectionRecordAnnotationKey {
		t.Errorf("client-go has %s", resourcelock.LeaderElectionRecordAnnotationKey)
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

package health

import (
	"fmt"
	"slices"
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

func TestTextsOfTheScheduler(t *testing.T) {
	for file, want := range map[string][]string{
		"framework/plugins/interpodaffinity/filtering.go":           {`"` + breaksAntiAffinity + `"`, `"` + breaksAffinity + `"`},
		"framework/plugins/podtopologyspread/plugin.go":             {`"` + breaksSpread + `"`, `ErrReasonConstraintsNotMatch + "` + strings.TrimPrefix(lacksSpreadLabel, breaksSpread) + `"`},
		"framework/plugins/nodeports/node_ports.go":                 {`"` + portsInUse + `"`},
		"framework/plugins/noderesources/fit.go":                    {`"Insufficient cpu"`, `"Insufficient %v"`},
		"framework/plugins/defaultpreemption/default_preemption.go": {`"` + noVictims + `"`},
		"framework/preemption/preemption.go":                        {`"` + notHelpful + `"`},
		"framework/types.go":                                        {`%v %v`, ` nodes are available`},
	} {
		source := testutil.UpstreamSource(t, "k8s.io/kubernetes", "pkg/scheduler/"+file)
		for _, text := range want {
			if !strings.Contains(source, text) {
				t.Errorf("%s has no %s", file, text)
			}
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

func TestUpstreamCountsWhatRemains(t *testing.T) {
	source := testutil.UpstreamSource(t, "k8s.io/kubernetes", "pkg/controller/namespace/deletion/status_condition_utils.go")
	if want := `Sprintf("%s.%s has %d resource instances", gvr.Resource, gvr.Group, numRemaining)`; !strings.Contains(source, want) {
		t.Errorf("the namespace controller has no %s", want)
	}
	if found := remainingCount.FindStringSubmatch(fmt.Sprintf("Some resources are remaining: %s.%s has %d resource instances", "pods", "", 3)); !slices.Equal(found[1:], []string{"pods", "", "3"}) {
		t.Errorf("got %q", found)
	}
}

func TestUpstreamEvictsWithOneBudget(t *testing.T) {
	source := testutil.UpstreamSource(t, "k8s.io/kubernetes", "pkg/registry/core/pod/storage/eviction.go")
	for _, want := range []string{
		"if len(pdbs) > 1 {",
		"This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.",
		"if pod.Status.Phase == api.PodSucceeded || pod.Status.Phase == api.PodFailed ||",
		"pod.Status.Phase == api.PodPending || !pod.ObjectMeta.DeletionTimestamp.IsZero()",
	} {
		if !strings.Contains(source, want) {
			t.Errorf("the eviction of Pods has no %s", want)
		}
	}
}

func TestUpstreamRetriesUnservedOwners(t *testing.T) {
	source := testutil.UpstreamSource(t, "k8s.io/kubernetes", "pkg/controller/garbagecollector/garbagecollector.go")
	for _, want := range []string{
		"resource, namespaced, err := gc.apiResource(reference.APIVersion, reference.Kind)\n\tif err != nil {\n\t\treturn false, nil, err\n",
		"if _, ok := err.(*restMappingError); ok {",
		"// retry if garbage collection of an object failed.\n\t\treturn requeueItem",
	} {
		if !strings.Contains(source, want) {
			t.Errorf("the garbage collector has no %s", want)
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
	check := testutil.UpstreamSource(t, "k8s.io/kube-aggregator", "pkg/controllers/status/remote/remote_available_controller.go")
	if want := `"failing or missing response from %v: %w"`; !strings.Contains(check, want) {
		t.Errorf("the availability controller has no %s", want)
	}
	serializer := testutil.UpstreamSource(t, "k8s.io/apimachinery", "pkg/runtime/serializer/protobuf/protobuf.go")
	if want := `"object %v does not implement the protobuf marshalling interface`; !strings.Contains(serializer, want) {
		t.Errorf("the serializer has no %s", want)
	}
}

package trace

import (
	"strings"
	"testing"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
)

// If upstream changes the text, traces show failures twice.
func TestControllersLogErrorSyncing(t *testing.T) {
	for _, file := range []string{"deployment/deployment_controller.go", "statefulset/stateful_set.go", "job/job_controller.go"} {
		if source := testutil.UpstreamSource(t, "k8s.io/kubernetes", "pkg/controller/"+file); !strings.Contains(source, errorSyncing) {
			t.Errorf("%s does not contain %q", file, errorSyncing)
		}
	}
}

// If upstream logs or answers otherwise, why does not say which owner did not exist, or that a CRD has no
// status subresource, and waits for a cache are failures.
func TestUpstreamOfReasons(t *testing.T) {
	for _, c := range []struct{ module, file, text string }{
		{"k8s.io/kubernetes", "pkg/controller/garbagecollector/graph_builder.go", `"` + otherNamespace + `", "item"`},
		{"k8s.io/kubernetes", "pkg/controller/podgc/gc_controller.go", `"` + orphanedPod + `", "pod", klog.KObj(pod), "node"`},
		{"k8s.io/kubernetes", "pkg/controller/util/consistency/consistency.go", `"read version: %s is not as new as written version: %s for group resource %s"`},
		{"k8s.io/apiextensions-apiserver", "pkg/apiserver/customresource_handler.go", `case subresource == "status" && subresources != nil && subresources.Status != nil:`},
	} {
		if source := testutil.UpstreamSource(t, c.module, c.file); !strings.Contains(source, c.text) {
			t.Errorf("%s does not contain %s", c.file, c.text)
		}
	}
}

package scheduler

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
)

// TestUpstreamStillLogsMoves compares the lines that queueLog and bindingRecorder read
// with upstream's source: if one of them changes, the cause of an attempt is lost.
func TestUpstreamStillLogsMoves(t *testing.T) {
	for path, wants := range map[string][]string{
		"backend/queue/active_queue.go":  {fmt.Sprintf("V(%d).Info(%q, \"type\", entity.Type(), \"entity\", klog.KObj(entity), ", movedVerbosity, movedEntity)},
		"backend/queue/backoff_queue.go": {fmt.Sprintf("V(%d).Info(%q, \"type\", entity.Type(), \"entity\", klog.KObj(entity), ", movedVerbosity, movedEntity)},
		"backend/queue/scheduling_queue.go": {
			fmt.Sprintf("V(%d).Info(%q, \"pod\", klog.KObj(pod), ", attemptVerbosity, movedPod),
			fmt.Sprintf("V(%d).Info(%q, \"type\", entity.Type(), \"entity\", klog.KObj(entity), ", movedVerbosity, gatedEntity),
			`unschedulableQ = "Unschedulable"`,
		},
		"schedule_one.go": {
			fmt.Sprintf("v1.EventTypeNormal, %q, ", boundReason),
			`Info("` + attemptFailed + `fit`, `HandleErrorWithContext(ctx, nil, "` + preemptionFailed + `", "pod", klog.KObj(pod), "status", msg)`, "fitError.Diagnosis.PostFilterMsg = msg",
			"sched.NextEntity(", "sched.SchedulePod(", "sched.FailureHandler(",
		},
	} {
		source := testutil.UpstreamSource(t, "k8s.io/kubernetes", "pkg/scheduler/"+path)
		for _, want := range wants {
			if !strings.Contains(source, want) {
				t.Errorf("pkg/scheduler/%s has no longer %s", path, want)
			}
		}
	}
}

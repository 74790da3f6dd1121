package nodes

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ctrlplane/ctrlplane/sim/annotations"
)

// TestNextDue has a Pod that ends by itself, and Pods whose containers have failed twice.
func TestNextDue(t *testing.T) {
	ends := func(p *corev1.Pod) {
		p.Annotations[annotations.ExitCode], p.Annotations[annotations.RunFor] = "0", "5s"
	}
	failed := func(ago time.Duration) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			end := corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
				ExitCode: 1, StartedAt: metav1.NewTime(epoch.Add(-ago)), FinishedAt: metav1.NewTime(epoch.Add(-ago))}}
			p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "a", Image: "nginx", RestartCount: 1, State: end}}
		}
	}
	var crashing []func(*corev1.Pod)
	var want []Due
	for i := range maxDue + 2 {
		crashing = append(crashing, failed(time.Duration(i)*100*time.Millisecond))
		if i >= 2 {
			want = append(want, Due{fmt.Sprintf("Pod n/p-%d", i), epoch.Add(10*time.Second - time.Duration(i)*100*time.Millisecond), "CrashLoopBackOff", false})
		}
	}
	slices.Reverse(want)
	for name, test := range map[string]struct {
		pods []func(*corev1.Pod)
		want []Due
	}{
		"none":               {nil, nil},
		"one that ends":      {[]func(*corev1.Pod){ends}, []Due{{"Pod n/p-0", epoch.Add(5 * time.Second), "", false}}},
		"one that has ended": {[]func(*corev1.Pod){failed(0)}, []Due{{"Pod n/p-0", epoch.Add(10 * time.Second), "CrashLoopBackOff", false}}},
		"both": {[]func(*corev1.Pod){ends, failed(0)}, []Due{
			{"Pod n/p-0", epoch.Add(5 * time.Second), "", false}, {"Pod n/p-1", epoch.Add(10 * time.Second), "CrashLoopBackOff", false}}},
		"the other order": {[]func(*corev1.Pod){ends, failed(8 * time.Second)}, []Due{{"Pod n/p-1", epoch.Add(2 * time.Second), "CrashLoopBackOff", false}}},
		"many":            {crashing, want},
	} {
		t.Run(name, func(t *testing.T) {
			r := newTestRegistry(t, testNode(nil))
			for i, change := range test.pods {
				pod := testPod(func(p *corev1.Pod) {
					p.Name, p.UID = fmt.Sprintf("p-%d", i), types.UID(fmt.Sprint(i))
					change(p)
				})
				r.updatePod(pod, false, nil)
				pod.Status, _ = podStatus(pod, placement{backoffs: &restartBackoffs{}}, epoch)
				pod.ResourceVersion = "2"
				r.updatePod(pod, false, nil)
			}
			if diff := cmp.Diff(test.want, r.nextDue()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

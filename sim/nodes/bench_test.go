package nodes

import (
	"slices"
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ctrlplane/ctrlplane/sim/annotations"
)

// BenchmarkPod measures the start of a Pod without kwok and the API server.
func BenchmarkPod(b *testing.B) {
	s, err := Config{}.nodeShape()
	if err != nil {
		b.Fatal(err)
	}
	l := newPodRegistry(s, time.Now)
	l.updateNode(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-1", Annotations: map[string]string{annotations.KwokNode: annotations.KwokFake}}})
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		pod := testPod(func(p *corev1.Pod) { p.UID = types.UID(strconv.Itoa(i)) })
		l.updatePod(pod, false, nil)
		if _, _, _, err := l.podPatch(pod.UID); err != nil {
			b.Fatal(err)
		}
		l.deletePod(pod.UID)
	}
}

// BenchmarkTerminate measures what sets the containers of a Pod that ends to terminated.
func BenchmarkTerminate(b *testing.B) {
	pod := testPod(func(p *corev1.Pod) {
		p.Status.StartTime = &metav1.Time{Time: epoch}
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: p.Spec.Containers[0].Name, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}}
	})
	b.ReportAllocs()
	for b.Loop() {
		st := pod.Status
		st.ContainerStatuses = slices.Clone(pod.Status.ContainerStatuses)
		terminateAll(pod, &st, commandRunner{}, epoch, 0)
	}
}

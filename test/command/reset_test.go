package command_test

import (
	"path/filepath"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
	"github.com/ctrlplane/ctrlplane/internal/testutil/program"
)

// TestResetKeepsTheFirstWorkOfTheControllers resets a control plane whose controllers were
// still acting upon its manifests when the start was over.
func TestResetKeepsTheFirstWorkOfTheControllers(t *testing.T) {
	t.Parallel()
	const replicas = 3
	labels := map[string]string{"app": "web"}
	web := &appsv1.Deployment{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"},
		ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "default"},
		Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(replicas)),
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "web"}}},
			},
		},
	}
	text, err := yaml.Marshal(web)
	if err != nil {
		t.Fatal(err)
	}
	file := testutil.WriteFile(t, filepath.Join(t.TempDir(), "web.yaml"), text)
	p := program.Up(t, filepath.Join(t.TempDir(), "data"), "-f", file)
	client := p.Client(t)
	pods := func() map[types.UID]bool {
		list, err := client.CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		uids := map[types.UID]bool{}
		for _, pod := range list.Items {
			uids[pod.UID] = true
		}
		return uids
	}
	// The first change comes as soon as it can: ten seconds after the start the state of the start is read.
	var before map[types.UID]bool
	p.Await(t, "with Pods", func() bool {
		before = pods()
		return len(before) == replicas
	})
	if _, err := client.CoreV1().ConfigMaps("default").Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "later"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	program.MustRun(t, p.Dir, "reset")
	for uid := range pods() {
		if !before[uid] {
			t.Errorf("Pod %s has replaced one that the controllers had created after the start", uid)
		}
		delete(before, uid)
	}
	if len(before) > 0 {
		t.Errorf("Pods %v were deleted", before)
	}
	if list, err := client.CoreV1().ConfigMaps("default").List(t.Context(), metav1.ListOptions{FieldSelector: "metadata.name=later"}); err != nil || len(list.Items) > 0 {
		t.Errorf("the object that was created later: %v, %v; want that it is gone", list, err)
	}
}

package command_test

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// web creates one more Deployment, with a Service, and returns its name.
func web(t *testing.T, dir string, replicas int32) string {
	t.Helper()
	client, err := (&plane{dir: dir}).client()
	if err != nil {
		t.Fatal(err)
	}
	labels := map[string]string{"app": "web"}
	meta := metav1.ObjectMeta{GenerateName: "web-"}
	deployment := appsv1.DeploymentSpec{
		Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labels},
		Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: labels},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "registry.invalid/web"}}},
		},
	}
	made, err := client.AppsV1().Deployments("default").Create(t.Context(), &appsv1.Deployment{ObjectMeta: meta, Spec: deployment}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	service := corev1.ServiceSpec{Selector: labels, Ports: []corev1.ServicePort{{Port: 80}}}
	if _, err := client.CoreV1().Services("default").Create(t.Context(), &corev1.Service{ObjectMeta: meta, Spec: service}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	return made.Name
}

//go:build !windows

package command_test

import (
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestTerminal uses the live view of a control plane that is kept.
func TestTerminal(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	v := viewUp(t, "--data-dir", dir)
	v.took(t)
	v.fills(t, 160, 45)
	web(t, dir, 20)

	t.Run("queues that moved", func(t *testing.T) {
		for _, queue := range []string{"deployment", "replicaset", "endpoint_slice"} {
			v.matches(t, `^.\S+-controller +`+queue+` +running .* [0-9.]+(µs|ms|s)\b`)
		}
		v.shows(t, "● settled")
	})
	t.Run("feed", func(t *testing.T) {
		v.press(t, keyTab+"/create replicaset")
		v.matches(t, `replicaset|deployment-controller +create  ReplicaSet default/web-`)
		v.hides(t, "create  Pod")
		v.press(t, keyEsc)
		v.press(t, "/create pod"+keyEnter)
		v.matches(t, `replicaset-controller +create  Pod default/web-`)
		v.hides(t, "create  ReplicaSet")
		t.Log(v.Text())
		v.press(t, keyEsc)
		v.press(t, keyTab)
	})
	t.Run("filter", func(t *testing.T) {
		v.press(t, "/endpoint_slice")
		v.hides(t, "deployment-controller  ")
		v.shows(t, "endpointslice-controller")
		v.press(t, keyEnter)
		t.Log(v.Text())
		v.press(t, keyEsc)
		v.shows(t, "deployment-controller  ")
	})
	t.Run("pages", func(t *testing.T) {
		v.press(t, "/replicaset"+keyEnter+keyEnter)
		v.hides(t, "Queues")
		t.Log(v.Text())
		v.press(t, keyEsc)
		v.shows(t, "Queues ")
		v.press(t, keyEsc)
	})
	t.Run("size", func(t *testing.T) {
		for _, size := range [][2]int{{60, 15}, {160, 45}, {80, 24}, {41, 10}, {160, 45}} {
			v.resize(t, size[0], size[1])
			v.fills(t, size[0], size[1])
		}
	})
	t.Run("help", func(t *testing.T) {
		v.press(t, "?")
		v.shows(t, "this help")
		v.press(t, "?")
		v.hides(t, "this help")
	})
	t.Run("leave it running", func(t *testing.T) {
		v.press(t, "q")
		v.shows(t, "Stop the control plane?")
		v.press(t, keyEsc)
		v.hides(t, "Stop the control plane?")
		v.press(t, "q")
		v.shows(t, "Stop the control plane?")
		v.press(t, "l")
		v.shows(t, "It runs on: ")
		v.gaveBack(t)
		web(t, dir, 3)
		v.matches(t, `create  ReplicaSet default/web-`)
		t.Log(v.Text())
		v.press(t, keyCtrlC)
		v.ends(t)
		t.Log(v.Text())
	})
}

var _ = syscall.SIGTERM
var _ = regexp.MustCompile
var _ = strings.Cut

// web creates a Deployment, and the Service for it, anew.
func web(t *testing.T, dir string, replicas int32) {
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
	if _, err := client.AppsV1().Deployments("default").Create(t.Context(), &appsv1.Deployment{ObjectMeta: meta, Spec: deployment}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	service := corev1.ServiceSpec{Selector: labels, Ports: []corev1.ServicePort{{Port: 80}}}
	if _, err := client.CoreV1().Services("default").Create(t.Context(), &corev1.Service{ObjectMeta: meta, Spec: service}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

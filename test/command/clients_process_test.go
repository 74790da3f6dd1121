package command_test

import (
	"errors"
	"strings"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/ctrlplane/ctrlplane/internal/testutil/program"
)

// testClientsOfOneProcess has a program that watches with one user agent and writes with another one, as cert-manager does:
// client-go shares their connection.
func (t *clientsTest) testClientsOfOneProcess() {
	p := t.plane
	const watching, writing = "split (kubernetes-admin)", "split-writer (kubernetes-admin)"
	clientOf := func(userAgent string) kubernetes.Interface {
		own := rest.CopyConfig(loadKubeconfig(t.T, p.Dir))
		own.UserAgent = userAgent
		return kubernetes.NewForConfigOrDie(own)
	}
	reader, writer := clientOf("split/v1"), clientOf("split-writer/v1").CoreV1().Secrets("default")

	events, err := reader.CoreV1().ConfigMaps("default").Watch(t.Context(), metav1.ListOptions{FieldSelector: "metadata.name=two"})
	if err != nil {
		t.Fatal(err)
	}
	defer events.Stop()
	t.run("kubectl", "create", "configmap", "two")
	config := (<-events.ResultChan()).Object.(*corev1.ConfigMap)
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "two", OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: config.Name, UID: config.UID}}}}
	if _, err := writer.Create(t.Context(), secret, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.says(t.run("why", "secret/two"), writing+" created Secret two likely because ConfigMap two was added. It began when kubectl (kubernetes-admin) created ConfigMap two.", watching+" saw ConfigMap two added")
	t.says(t.run("trace", "configmap/two"), watching+" saw it added, "+writing+" created Secret two")
	t.says(t.run("clients"), watching+" shares its connection with split-writer: most likely one process")
	t.says(t.run("clients", "roles", "split"), "# What split (kubernetes-admin) has asked for: 2 permissions.",
		"# Included are other clients over the same connection, most likely of the same process: split-writer.", "  - configmaps\n", "  - secrets\n")

	for _, c := range [][2]string{
		{"delay split 1ms", "clients delay split-writer 1ms"},
		{"fail split --rate 0.5 --verb get", "clients fail split-writer --rate 0.5 --verb get"},
		{"clear split split-writer", ""},
		{"pause split split-writer", ""},
		{"delay split 1ms", "clients delay split-writer 1ms"},
		{"clear split", ""}, // split-writer is only paused
		{"resume split split-writer", ""},
	} {
		command, says := c[0], c[1]
		_, stderr, code := program.Run(t.T, program.Command(t.T, append([]string{"--data-dir", p.Dir, "clients"}, strings.Fields(command)...)...))
		if code != 0 || (says == "") != (stderr == "") {
			t.Errorf("%s: exit code %d: %s", command, code, stderr)
		}
		t.says(stderr, says)
	}

	invalid := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "three", Labels: map[string]string{"a": "not valid"}}}
	for range 3 {
		if _, err := writer.Create(t.Context(), invalid, metav1.CreateOptions{}); !apierrors.IsInvalid(err) {
			t.Fatal(errors.Join(errors.New("the API server accepts it"), err))
		}
	}
	t.says(t.run("status"), writing, "fails to create Secret default/three, 3 times in a row")

	// An operator with a user agent of its own has another one in leader election.
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: "split"}}
	if _, err := clientOf("manager/v1/leader-election").CoordinationV1().Leases("default").Create(t.Context(), lease, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, names := range [][]string{{"split"}, {"manager"}, {"split-writer", "manager"}} {
		t.says(t.run(append([]string{"clients", "roles"}, names...)...), "  - configmaps\n", "  - secrets\n", "  - leases\n")
	}
}

package container

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilexec "k8s.io/utils/exec"

	"github.com/ctrlplane/ctrlplane/sim/podconfig"
)

func TestExec(t *testing.T) {
	f := newFixture(t)
	pod := newPod()
	pod.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "A", Value: "1"}}
	if got := f.exec(pod, "echo $A > /tmp/x; cat /tmp/x; hostname"); got != "1\np\n" {
		t.Errorf("got %q", got)
	}
	if got := f.exec(pod, "cat /tmp/x"); got != "1\n" {
		t.Errorf("files do not stay: %q", got)
	}
	var out bytes.Buffer
	err := f.Exec(t.Context(), pod, "c", 0, []string{"cat"}, Streams{Stdin: strings.NewReader("in"), Stdout: &out})
	if err != nil || out.String() != "in" {
		t.Errorf("cat: %v, %q", err, &out)
	}
	err = f.Exec(t.Context(), pod, "c", 0, []string{"sh", "-c", "exit 7"}, Streams{})
	if exit, ok := errors.AsType[utilexec.CodeExitError](err); !ok || exit.Code != 7 {
		t.Errorf("exit: %v", err)
	}
	if err := f.Exec(t.Context(), pod, "c", 0, []string{"nginx"}, Streams{}); err == nil || !strings.Contains(err.Error(), "executable file not found in $PATH") {
		t.Errorf("unknown program: %v", err)
	}
}

// TestExecAfterDeletion deletes what a container without a command was started with before anything uses it.
func TestExecAfterDeletion(t *testing.T) {
	settings := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "m"}, Data: map[string]string{"k": "value"}}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "s"}, Data: map[string][]byte{"f": []byte("secret")}}
	f := newFixture(t, settings, secret)
	pod := newPod()
	c := &pod.Spec.Containers[0]
	c.Env = []corev1.EnvVar{{Name: "A", ValueFrom: &corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: "m"}, Key: "k"}}}}
	c.VolumeMounts = []corev1.VolumeMount{{Name: "v", MountPath: "/v"}}
	pod.Spec.Volumes = []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "s", DefaultMode: new(int32(0o600))}}}}
	f.start(pod)
	f.await(pod, Running)
	if err := f.client.CoreV1().ConfigMaps("ns").Delete(t.Context(), "m", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := f.client.CoreV1().Secrets("ns").Delete(t.Context(), "s", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	f.awaitDeletion(podconfig.Reference{Namespace: "ns", Name: "m"})
	f.awaitDeletion(podconfig.Reference{Secret: true, Namespace: "ns", Name: "s"})
	if got := f.exec(pod, "echo $A; cat /v/f"); got != "value\nsecret" {
		t.Errorf("got %q", got)
	}
	later := pod.DeepCopy() // another Pod, which has not started, has to wait
	later.UID, later.Name = "later", "later"
	f.start(later)
	f.await(later, Blocked)
	f.Remove(later.UID)
	f.Remove(pod.UID)
	if n := len(f.session.deleted); n != 0 {
		t.Errorf("%d deleted objects are kept without a Pod", n)
	}
}

// TestHostnameAsFQDN has a Pod whose processes see its full name.
func TestHostnameAsFQDN(t *testing.T) {
	f := newFixture(t)
	pod := newPod()
	pod.Spec.Hostname, pod.Spec.Subdomain, pod.Spec.SetHostnameAsFQDN = "a", "b", new(true)
	const want = "a.b.ns.svc.cluster.local"
	if got := strings.Fields(f.exec(pod, "hostname; cat /etc/hostname; hostname -s; uname -n; echo $HOSTNAME")); !slices.Equal(got, []string{want, want, "a", want, want}) {
		t.Errorf("got %q", got)
	}
}

func TestAttach(t *testing.T) {
	f := newFixture(t)
	pod := newPod("sh", "-c", "read x; echo got $x")
	pod.Spec.Containers[0].Stdin, pod.Spec.Containers[0].StdinOnce = true, true
	f.start(pod)
	var out bytes.Buffer
	if err := f.Attach(t.Context(), pod, "c", 0, Streams{Stdin: strings.NewReader("line\n"), Stdout: &out}); err != nil {
		t.Fatal(err)
	}
	if out.String() != "got line\n" || f.logOf(pod) != "got line\n" {
		t.Errorf("output %q, log %q", &out, f.logOf(pod))
	}
	gone, leave := context.WithCancel(t.Context())
	leave()
	sleeper := newPod("sleep", "infinity")
	sleeper.UID = "other"
	f.start(sleeper)
	if err := f.Attach(gone, sleeper, "c", 0, Streams{Stdout: io.Discard}); err != nil {
		t.Errorf("a client that leaves: %v", err)
	}
}

// blockedWriter is a client that does not read.
type blockedWriter struct{ released chan struct{} }

func (w blockedWriter) Write(p []byte) (int, error) {
	<-w.released
	return 0, io.ErrClosedPipe
}

func TestClientThatDoesNotRead(t *testing.T) {
	f := newFixture(t)
	pod := newPod("sh", "-c", "read x; echo a; echo b; sleep 1000")
	pod.Spec.Containers[0].Stdin = true
	f.start(pod)
	w := blockedWriter{make(chan struct{})}
	defer close(w.released)
	ctx, leave := context.WithCancel(t.Context())
	left := make(chan error)
	go func() { left <- f.Attach(ctx, pod, "c", 0, Streams{Stdin: strings.NewReader("x\n"), Stdout: w}) }()
	for {
		_, _, changed := f.Log(pod.UID, "c", 0).Read(0)
		if f.logOf(pod) == "a\nb\n" {
			break
		}
		select {
		case <-changed:
		case <-time.After(patience):
			t.Fatalf("the client blocks the command: %q", f.logOf(pod))
		}
	}
	f.StopPod(pod, time.Now().Add(time.Minute))
	f.await(pod, Ended)
	leave()
	if err := <-left; err != nil {
		t.Error(err)
	}
}

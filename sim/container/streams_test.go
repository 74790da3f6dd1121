package container

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cri-streaming/pkg/streaming/remotecommand"
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

// A program in a terminal sees the size that the client has sent last, and waits for the first one.
func TestTerminalSize(t *testing.T) {
	f := newFixture(t)
	const script = "stty size; read x; stty size"
	attached := newPod("sh", "-c", "read x; "+script)
	attached.UID = "attached"
	attached.Spec.Containers[0].Stdin, attached.Spec.Containers[0].TTY = true, true
	f.start(attached)
	f.await(attached, Running)
	for name, connect := range map[string]func(Streams) error{
		"exec": func(s Streams) error {
			return f.Exec(t.Context(), newPod(), "c", 0, []string{"sh", "-c", "read x; " + script}, s)
		},
		"attach": func(s Streams) error { return f.Attach(t.Context(), attached, "c", 0, s) },
	} {
		sizes := make(chan remotecommand.TerminalSize)
		stdin, in := io.Pipe()
		out, stdout := io.Pipe()
		done := make(chan error, 1)
		go func() {
			done <- connect(Streams{Stdin: stdin, Stdout: stdout, TTY: true, Sizes: sizes})
			stdout.Close()
		}()
		lines := bufio.NewReader(out)
		for _, size := range []remotecommand.TerminalSize{{Width: 111, Height: 33}, {Width: 80, Height: 24}} {
			for range 2 { // when the second is received, the first is known
				sizes <- size
			}
			if _, err := io.WriteString(in, "\r"); err != nil {
				t.Fatal(err)
			}
			line, err := lines.ReadString('\n')
			for err == nil && line == "\r\n" { // the echo
				line, err = lines.ReadString('\n')
			}
			if want := fmt.Sprintf("%d %d\r\n", size.Height, size.Width); line != want || err != nil {
				t.Errorf("%s: got %q, %v, want %q", name, line, err, want)
			}
		}
		if err := <-done; err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A size that a client sends after the command, as kubectl does, is awaited.
func TestFirstTerminalSize(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		size := newTerminalSize()
		go func() {
			time.Sleep(maxFirstSize / 2)
			size.set(remotecommand.TerminalSize{Width: 111, Height: 33})
		}()
		if rows, columns := size.get(t.Context()); rows != 33 || columns != 111 {
			t.Errorf("%d rows, %d columns", rows, columns)
		}
	})
}

// What stty does not do is refused, also the size without a terminal. A client that sends no size has none.
func TestStty(t *testing.T) {
	f := newFixture(t)
	for _, tt := range []struct {
		args, want string
		tty        bool
	}{
		{"size", "stty: standard input: Not a tty\n", false},
		{"size", "0 0\r\n", true},
		{"-bogus", "stty: invalid argument '-bogus'\r\n", true},
		{"-echo", "stty: invalid argument '-echo'\r\n", true},
		{"size -a", "stty: invalid argument '-a'\r\n", true},
		{"", "stty: the settings of a terminal are not simulated, except for size\r\n", true},
	} {
		var out bytes.Buffer
		err := f.Exec(t.Context(), newPod(), "c", 0, append([]string{"stty"}, strings.Fields(tt.args)...), Streams{Stdout: &out, Stderr: &out, TTY: tt.tty})
		if out.String() != tt.want || (err == nil) != strings.HasPrefix(tt.want, "0") {
			t.Errorf("stty %s: %q, %v", tt.args, &out, err)
		}
	}
}

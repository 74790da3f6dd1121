package container

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ctrlplane/ctrlplane/sim/shell"
)

func configMapSource(name string) corev1.VolumeSource {
	return corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: name}, DefaultMode: new(int32(0o644))}}
}

// TestNestedMounts mounts volumes inside of a volume that the container cannot write.
func TestNestedMounts(t *testing.T) {
	settings := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "m"}, Data: map[string]string{"key": "old\n"}}
	f := newFixture(t, settings)
	pod := newPod("sh", "-c", "sleep 1000; true")
	pod.Spec.Volumes = []corev1.Volume{{Name: "config", VolumeSource: configMapSource("m")}, {Name: "data", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}
	pod.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{
		{Name: "data", MountPath: "/etc/app/data/deep"}, {Name: "config", MountPath: "/etc/app"}, {Name: "config", MountPath: "/etc/app/data/deep/missing", SubPath: "none"},
	}
	f.start(pod)
	f.await(pod, Running)
	if got := f.exec(pod, "cd /etc/app; cat key; ls; echo x > data/deep/file; cat data/deep/file; touch new 2>&1; ls -d data/deep/missing; ls data/deep/missing"); got !=
		"old\ndata\nkey\nnone\nx\ntouch: new: Read-only file system\ndata/deep/missing\n" {
		t.Errorf("got %q", got)
	}
	settings.Data = map[string]string{"other": "new\n"}
	if _, err := f.client.CoreV1().ConfigMaps("ns").Update(t.Context(), settings, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	f.awaitExec(pod, "cd /etc/app; cat other data/deep/file; ls", "new\nx\ndata\nnone\nother\n")
}

func TestReadOnlyClaim(t *testing.T) {
	f := newFixture(t, newClaim("claim"), newVolume())
	pod := newPod("sh", "-c", "touch /claim/x")
	source := claimSource("claim")
	source.PersistentVolumeClaim.ReadOnly = true
	pod.Spec.Volumes = []corev1.Volume{{Name: "claim", VolumeSource: source}}
	pod.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "claim", MountPath: "/claim"}}
	f.start(pod)
	if end := f.await(pod, Ended); end.ExitCode != 1 || f.logOf(pod) != "touch: /claim/x: Read-only file system\n" {
		t.Errorf("got %+v, log %q", end, f.logOf(pod))
	}
}

// TestLogsShareABudget writes to logs when all Pods together hold as much as they may.
func TestLogsShareABudget(t *testing.T) {
	var l Log
	out := l.writer(false)
	fmt.Fprintf(out, "one\n%s\n", strings.Repeat("x", 1000))
	reserved := 0
	for n := 1 << 30; n > 0; n /= 2 {
		for shell.Reserve(n) {
			reserved += n
		}
	}
	defer shell.Release(reserved)
	fmt.Fprint(out, "two\n")
	lines, next, _ := l.Read(0)
	if len(lines) != 2 || lines[1].Text != "two\n" || next != 3 {
		t.Errorf("an older line makes room: got %d lines, next %d", len(lines), next)
	}
	fmt.Fprint(out, strings.Repeat("y", 2000)+"\n")
	if lines, next, _ := l.Read(0); len(lines) != 0 || next != 4 {
		t.Errorf("a line without room: got %d lines, next %d", len(lines), next)
	}
	c := newClient(Streams{Stdout: out}, func() {})
	c.add([]byte(strings.Repeat("z", 100000)), false)
	if c.take() != nil {
		t.Error("a client has output pending for which room is missing")
	}
	close(c.ready)
	<-c.written
}

func TestReadOnlyRoot(t *testing.T) {
	f := newFixture(t)
	pod := newPod("/bin/sh", "-c", "echo message > /dev/termination-log; echo x > /data/file; cat /data/file; pwd; sysctl kernel.x; echo test > /file")
	c := &pod.Spec.Containers[0]
	c.WorkingDir = "/work"
	c.SecurityContext = &corev1.SecurityContext{ReadOnlyRootFilesystem: new(true)}
	pod.Spec.SecurityContext = &corev1.PodSecurityContext{Sysctls: []corev1.Sysctl{{Name: "kernel.x", Value: "1"}}}
	pod.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}
	c.VolumeMounts = []corev1.VolumeMount{{Name: "data", MountPath: "/data"}}
	f.start(pod)
	end := f.await(pod, Ended)
	if got := f.logOf(pod); got != "x\n/work\nkernel.x = 1\n/bin/sh: can't create /file: Read-only file system\n" || end.Message != "message\n" {
		t.Errorf("got %+v, log %q", end, got)
	}
}

// TestMissingTrustBundle has a container without a command, which waits too.
func TestMissingTrustBundle(t *testing.T) {
	for name, test := range map[string]struct {
		source *corev1.ClusterTrustBundleProjection
		want   string
	}{
		"by name":   {&corev1.ClusterTrustBundleProjection{Name: new("none"), Path: "x"}, `while getting ClusterTrustBundle: clustertrustbundles.certificates.k8s.io "none" not found`},
		"by signer": {&corev1.ClusterTrustBundleProjection{SignerName: new("example.com/a"), LabelSelector: &metav1.LabelSelector{}, Path: "x"}, "combination of signerName and labelSelector matched zero ClusterTrustBundles"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			pod := newPod()
			pod.Spec.Volumes = []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{{ClusterTrustBundle: test.source}}}}}}
			pod.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "v", MountPath: "/v"}}
			if !NeedsPreparation(pod, &pod.Spec.Containers[0]) {
				t.Fatal("it needs no preparation")
			}
			f.start(pod)
			f.await(pod, Blocked)
			if got := <-f.events; got != `FailedMount: MountVolume.SetUp failed for volume "v" : `+test.want {
				t.Error(got)
			}
		})
	}
}

func TestFilesOfTheNode(t *testing.T) {
	f := newFixture(t)
	pod := newPod("sh", "-c", "cat /etc/hosts; echo x > /new; cat /new; test -f /new")
	volume := func(name, path string) corev1.Volume {
		return corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: path, Type: new(corev1.HostPathFileOrCreate)}}}
	}
	pod.Spec.Volumes = []corev1.Volume{volume("hosts", "/etc/hosts"), volume("new", "/var/x")}
	pod.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "hosts", MountPath: "/etc/hosts"}, {Name: "new", MountPath: "/new"}}
	f.start(pod)
	if end := f.await(pod, Ended); end.ExitCode != 0 || f.logOf(pod) != "127.0.0.1\tlocalhost\nx\n" {
		t.Errorf("got %+v, log %q", end, f.logOf(pod))
	}
}

// The kubelet mounts the file for the termination message, after the volumes.
func TestTerminationMessageFile(t *testing.T) {
	for name, test := range map[string]struct {
		path   string
		volume string // where one is mounted
	}{
		"no such folder":  {path: "/tekton/run/termination"},
		"in a volume":     {path: "/data/log", volume: "/data"},
		"below a volume":  {path: "/data/a/log", volume: "/data"},
		"relative":        {path: "termination-log"},
		"in a new folder": {path: "/data/log", volume: "/elsewhere"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			pod := newPod("sh", "-c", "echo why > "+test.path+"")
			c := &pod.Spec.Containers[0]
			c.TerminationMessagePath = test.path
			if test.volume != "" {
				c.VolumeMounts = []corev1.VolumeMount{{Name: "v", MountPath: test.volume}}
				pod.Spec.Volumes = []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}
			}
			f.start(pod)
			if end := f.await(pod, Ended); end.ExitCode != 0 || end.Message != "why\n" {
				t.Errorf("got %+v, log %q", end, f.logOf(pod))
			}
		})
	}
}

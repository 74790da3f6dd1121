package container

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/google/go-cmp/cmp"
)

// hostVolume returns a volume with a path of the node.
func hostVolume(name, path string) corev1.Volume {
	return corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: path}}}
}

// TestPathsOfANodeNest sees a file of a node through all paths that lead to it, also that of a PersistentVolume, and
// through none of another node.
func TestPathsOfANodeNest(t *testing.T) {
	ofNode := newVolume()
	ofNode.Spec.HostPath = &corev1.HostPathVolumeSource{Path: "/mnt/data"}
	f := newFixture(t, newClaim("claim"), ofNode)
	pod := newPod()
	pod.Spec.NodeName = "n"
	pod.Spec.Volumes = []corev1.Volume{
		hostVolume("host", "/"), hostVolume("mnt", "/mnt/"), hostVolume("data", "/mnt/data"),
		{Name: "claim", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "claim"}}},
	}
	for _, v := range pod.Spec.Volumes {
		pod.Spec.Containers[0].VolumeMounts = append(pod.Spec.Containers[0].VolumeMounts, corev1.VolumeMount{Name: v.Name, MountPath: "/" + v.Name})
	}
	if diff := cmp.Diff("x\nx\nx\nx\n", f.exec(pod, "echo x > /data/f; cat /host/mnt/data/f /mnt/data/f /data/f /claim/f")); diff != "" {
		t.Error(diff)
	}
	f.Remove(pod.UID)
	pod.Spec.NodeName = "other"
	if diff := cmp.Diff("data\n", f.exec(pod, "ls -R /data /claim | grep f; ls /mnt")); diff != "" {
		t.Errorf("on another node: %s", diff)
	}
}

// TestPathOfANodeIsRemoved starts a container whose path another Pod has removed.
func TestPathOfANodeIsRemoved(t *testing.T) {
	f := newFixture(t)
	pod := newPod("sleep", "infinity")
	pod.Spec.NodeName = "n"
	pod.Spec.Volumes = []corev1.Volume{hostVolume("v", "/data/deep")}
	pod.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "v", MountPath: "/v"}}
	pod.Spec.Containers = append(pod.Spec.Containers, *pod.Spec.Containers[0].DeepCopy())
	pod.Spec.Containers[1].Name = "d"
	f.exec(pod, "touch /v/f")
	other := newPod()
	other.UID, other.Spec.NodeName = "other", "n"
	other.Spec.Volumes = []corev1.Volume{hostVolume("host", "/")}
	other.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "host", MountPath: "/host"}}
	f.exec(other, "rm -r /host/data")
	d := &pod.Spec.Containers[1]
	d.Command = []string{"sh", "-c", "ls /v"}
	f.Run(Spec{Pod: pod, Container: d, Args: d.Command})
	if end := f.awaitContainer(pod, "d", Ended); end.ExitCode != 0 {
		t.Errorf("it ended with %+v", end)
	}
}

// TestMountInAReadOnlyPathOfANode has another volume inside of it.
func TestMountInAReadOnlyPathOfANode(t *testing.T) {
	f := newFixture(t)
	pod := newPod()
	pod.Spec.NodeName = "n"
	pod.Spec.Volumes = []corev1.Volume{hostVolume("v", "/data"), {Name: "e", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}
	pod.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "v", MountPath: "/v", ReadOnly: true}, {Name: "e", MountPath: "/v/e"}}
	if got := f.exec(pod, "echo x > /v/e/f; cat /v/e/f; (echo x > /v/f) 2>/dev/null || echo read-only"); got != "x\nread-only\n" {
		t.Errorf("got %q", got)
	}
}

// TestGroupOfVolumes compares with what the page "Configure a Security Context for a Pod or Container" of Kubernetes shows.
func TestGroupOfVolumes(t *testing.T) {
	f := newFixture(t, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "m"}, Data: map[string]string{"k": "v"}})
	pod := newPod("sleep", "1h")
	pod.Spec.SecurityContext = &corev1.PodSecurityContext{RunAsUser: new(int64(1000)), RunAsGroup: new(int64(3000)), FSGroup: new(int64(2000))}
	pod.Spec.Volumes = []corev1.Volume{
		{Name: "demo", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
		{Name: "map", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: "m"}, DefaultMode: new(int32(0o400))}}},
	}
	pod.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "demo", MountPath: "/data/demo"}, {Name: "map", MountPath: "/data/map"}}
	f.start(pod)
	f.await(pod, Running)
	for script, want := range map[string]string{
		"ls -ld /data/demo | cut -c 1-10":              "drwxrwsrwx\n",
		"ls -ld /data/map | cut -c 1-10":               "drwxrwsrwx\n",
		"stat -c '%u %g' /data/demo /data/map":         "0 2000\n0 2000\n",
		"cd /data/demo; echo x > f; stat -c '%u %g' f": "1000 2000\n",
		"stat -L -c '%u %g %a' /data/map/k":            "0 2000 440\n",
		"ps | sed -n '2p' | tr -s ' '":                 " 1 1000 0:00 sleep 1h\n",
	} {
		if got := f.exec(pod, script); got != want {
			t.Errorf("%s: got %q, want %q", script, got, want)
		}
	}
}

// TestGroupOfSubPaths has folders that are made for a subPath: they have the mode of their volume, also in one without it.
func TestGroupOfSubPaths(t *testing.T) {
	f := newFixture(t)
	pod := newPod("sleep", "1h")
	pod.Spec.SecurityContext = &corev1.PodSecurityContext{RunAsUser: new(int64(1000)), RunAsGroup: new(int64(3000)), FSGroup: new(int64(2000))}
	pod.Spec.Volumes = []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}
	pod.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "v", MountPath: "/v"}, {Name: "v", MountPath: "/sub", SubPath: "a/b"}}
	if got := f.exec(pod, "cd /v; ls -ld . a a/b | cut -c 1-10; cd /sub; echo x > f; stat -c '%u %g' . f"); got != strings.Repeat("drwxrwsrwx\n", 3)+"0 2000\n1000 2000\n" {
		t.Errorf("got %q", got)
	}
	f.exec(pod, "cd /v; mkdir plain; chmod 750 plain; chmod g-s plain")
	pod.Spec.Containers = append(pod.Spec.Containers, *pod.Spec.Containers[0].DeepCopy())
	d := &pod.Spec.Containers[1]
	d.Name, d.VolumeMounts[1].SubPath = "d", "plain/deep/er"
	var out bytes.Buffer
	if err := f.Exec(t.Context(), pod, "d", 0, []string{"sh", "-c", "ls -ld /v/plain /v/plain/deep /sub | cut -c 1-10"}, Streams{Stdout: &out}); err != nil {
		t.Fatal(err)
	}
	if got := out.String(); got != "drwxr-x---\ndrwxrwsrwx\ndrwxrwsrwx\n" {
		t.Errorf("in a folder without the mode of the volume: %q", got)
	}
}

// TestSubPathLeavesItsVolume has links in a path of a node, as another Pod can make them. As upstream, those that lead
// out of the volume are refused, in SafeMakeDir if something is to be made there, and nothing is made.
func TestSubPathLeavesItsVolume(t *testing.T) {
	f := newFixture(t)
	root := newPod()
	root.UID, root.Spec.NodeName = "root", "n"
	root.Spec.Volumes = []corev1.Volume{hostVolume("host", "/")}
	root.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "host", MountPath: "/host"}}
	f.exec(root, "cd /host; mkdir -p etc database data/in; echo secret > etc/f; echo data > data/in/f; ln -s data linked; "+
		"cd data; ln -s ../etc out; ln -s /etc absolute; ln -s ../missing dangling; ln -s ../database sibling; ln -s in inside; ln -s ../data/in around")
	const (
		prepare = `failed to prepare subPath for volumeMount "v" of container "c"`
		create  = `failed to create subPath directory for volumeMount "v" of container "c"`
	)
	for _, test := range []struct{ volume, subPath, want string }{
		{"/data", "out", prepare},
		{"/data", "absolute", prepare},
		{"/data", "out/f", prepare},
		{"/data", "out/new", create},
		{"/data", "absolute/new/er", create},
		{"/data", "dangling", prepare},
		{"/data", "dangling/new", prepare},
		{"/data", "in/f/new", prepare},
		{"/data", "sibling", prepare},
		{"/data", "inside", ""},
		{"/data", "around", ""},
		{"/linked", "in", ""},
		{"/", "data/out", ""},
	} {
		pod := newPod()
		pod.UID, pod.Spec.NodeName = types.UID(test.volume+test.subPath), "n"
		pod.Spec.Volumes = []corev1.Volume{hostVolume("v", test.volume)}
		pod.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "v", MountPath: "/v", SubPath: test.subPath}}
		got := ""
		if err := f.Exec(t.Context(), pod, "c", 0, []string{"cat", "/v/f"}, Streams{}); err != nil {
			got = err.Error()
		}
		if got != test.want {
			t.Errorf("%s, subPath %s: got %q, want %q", test.volume, test.subPath, got, test.want)
		}
	}
	if got := f.exec(root, "ls /host /host/etc | tr '\\n' ' '"); got != "/host: data database etc linked  /host/etc: f " {
		t.Errorf("outside of the volumes: %q", got)
	}
}

// TestSubPathLeavesAVolumeOfItsPod has links in a volume without a path of the node: an absolute one is one of the node, and
// one above the volume leads to other volumes.
func TestSubPathLeavesAVolumeOfItsPod(t *testing.T) {
	f := newFixture(t, newClaim("claim"), newVolume(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "m"}, Data: map[string]string{"f": "m"}})
	for name, source := range map[string]corev1.VolumeSource{"e": {EmptyDir: &corev1.EmptyDirVolumeSource{}}, "claim": claimSource("claim")} {
		pod := newPod()
		pod.UID = types.UID(name)
		pod.Spec.Volumes = []corev1.Volume{{Name: "v", VolumeSource: source}, {Name: "m", VolumeSource: configMapSource("m")}}
		pod.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "v", MountPath: "/v"}}
		f.exec(pod, "cd /v; mkdir -p etc a/b; echo x > etc/f; echo x > a/f; ln -s /etc absolute; ln -s ../../etc up; ln -s /none dangling; ln -s ../../a a/b/in; ln -s ../../.. a/b/out")
		for subPath, want := range map[string]string{
			"absolute": "prepare subPath", "up": "prepare subPath", "dangling": "prepare subPath", "a/b/out": "prepare subPath", "a/b/out/etc": "prepare subPath",
			"absolute/new": "create subPath directory", "a/b/out/new": "create subPath directory",
			"etc": "", "a/b/in": "", "a": "",
		} {
			c := *pod.Spec.Containers[0].DeepCopy()
			c.Name = strings.ReplaceAll(subPath, "/", "-")
			c.VolumeMounts = []corev1.VolumeMount{{Name: "v", MountPath: "/v", SubPath: subPath}, {Name: "m", MountPath: "/m", SubPath: "f"}}
			pod.Spec.Containers = append(pod.Spec.Containers, c)
			if want != "" {
				want = fmt.Sprintf("failed to %s for volumeMount \"v\" of container %q", want, c.Name)
			}
			got := ""
			if err := f.Exec(t.Context(), pod, c.Name, 0, []string{"cat", "/v/f", "/m"}, Streams{}); err != nil {
				got = err.Error()
			}
			if got != want {
				t.Errorf("%s, subPath %s: got %q, want %q", name, subPath, got, want)
			}
		}
		if got := f.exec(pod, "ls -R /v | grep new || :"); got != "" {
			t.Errorf("%s: made %q", name, got)
		}
	}
}

package container

import (
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

// TestSubPathLeavesItsVolume has links in a path of a node, as another Pod can make them. As upstream, those that lead
// out of the volume are refused, and nothing is created there.
func TestSubPathLeavesItsVolume(t *testing.T) {
	f := newFixture(t)
	root := newPod()
	root.UID, root.Spec.NodeName = "root", "n"
	root.Spec.Volumes = []corev1.Volume{hostVolume("host", "/")}
	root.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "host", MountPath: "/host"}}
	f.exec(root, "cd /host; mkdir -p etc database data/in; echo secret > etc/f; echo data > data/in/f; ln -s data linked; "+
		"cd data; ln -s ../etc out; ln -s /etc absolute; ln -s ../missing dangling; ln -s ../database sibling; ln -s in inside; ln -s ../data/in around")
	for _, test := range []struct {
		volume, subPath string
		leaves          bool
	}{
		{"/data", "out", true},
		{"/data", "absolute", true},
		{"/data", "out/f", true},
		{"/data", "out/new", true},
		{"/data", "dangling", true},
		{"/data", "sibling", true},
		{"/data", "inside", false},
		{"/data", "around", false},
		{"/linked", "in", false},
		{"/", "data/out", false},
	} {
		pod := newPod()
		pod.UID, pod.Spec.NodeName = types.UID(test.volume+test.subPath), "n"
		pod.Spec.Volumes = []corev1.Volume{hostVolume("v", test.volume)}
		pod.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "v", MountPath: "/v", SubPath: test.subPath}}
		err := f.Exec(t.Context(), pod, "c", 0, []string{"cat", "/v/f"}, Streams{})
		const refused = `failed to prepare subPath for volumeMount "v" of container "c"`
		if leaves := err != nil && err.Error() == refused; leaves != test.leaves || !leaves && err != nil {
			t.Errorf("%s, subPath %s: got %v", test.volume, test.subPath, err)
		}
	}
	if got := f.exec(root, "ls /host /host/etc | tr '\\n' ' '"); got != "/host: data database etc linked  /host/etc: f " {
		t.Errorf("outside of the volumes: %q", got)
	}
}

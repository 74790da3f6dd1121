package container

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ctrlplane/ctrlplane/sim/podconfig"
)

func TestVolumesFollowTheirSources(t *testing.T) {
	settings := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "m"}, Data: map[string]string{"a": "1", "b": "2"}}
	f := newFixture(t, settings)
	pod := newPod("sleep", "infinity")
	mode := new(int32(0o440))
	pod.Spec.Volumes = []corev1.Volume{
		{Name: "v", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: "m"}, DefaultMode: mode}}},
		{Name: "d", VolumeSource: corev1.VolumeSource{DownwardAPI: &corev1.DownwardAPIVolumeSource{DefaultMode: mode, Items: []corev1.DownwardAPIVolumeFile{{Path: "l", FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.labels"}}}}}},
	}
	pod.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "v", MountPath: "/v"}, {Name: "d", MountPath: "/d"}, {Name: "v", MountPath: "/sub/file", SubPath: "a"}}
	f.start(pod)
	f.await(pod, Running)
	if got := f.exec(pod, "cd /v; cat a b /sub/file; readlink a; (echo x > a) 2>/dev/null || echo read-only; cat /d/l"); got != "121..data/a\nread-only\napp=\"a\"" {
		t.Errorf("got %q", got)
	}
	settings.Data = map[string]string{"a": "new", "c": "3"}
	if _, err := f.client.CoreV1().ConfigMaps("ns").Update(t.Context(), settings, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	f.awaitExec(pod, "cd /v; echo *; cat a /sub/file 2>/dev/null || :", "a c\nnew1")
	changed := pod.DeepCopy()
	changed.Labels["app"] = "b"
	f.Update(changed)
	f.awaitExec(pod, "cat /d/l 2>/dev/null || :", `app="b"`)
}

// TestDownwardVolumeFollowsAResize: a resize in place changes nothing else of a Pod.
func TestDownwardVolumeFollowsAResize(t *testing.T) {
	f := newFixture(t)
	pod := newPod("sleep", "infinity")
	pod.Spec.InitContainers = []corev1.Container{{Name: "sidecar"}}
	item := func(container string) corev1.DownwardAPIVolumeFile {
		return corev1.DownwardAPIVolumeFile{Path: container, ResourceFieldRef: &corev1.ResourceFieldSelector{ContainerName: container, Resource: "limits.cpu"}}
	}
	limit := func(pod *corev1.Pod, own, sidecar string) {
		pod.Spec.Containers[0].Resources.Limits = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(own)}
		pod.Spec.InitContainers[0].Resources.Limits = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(sidecar)}
	}
	limit(pod, "1", "1")
	pod.Spec.Volumes = []corev1.Volume{{Name: "d", VolumeSource: corev1.VolumeSource{DownwardAPI: &corev1.DownwardAPIVolumeSource{
		DefaultMode: new(int32(0o440)), Items: []corev1.DownwardAPIVolumeFile{item("c"), item("sidecar")},
	}}}}
	pod.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "d", MountPath: "/d"}}
	f.start(pod)
	f.await(pod, Running)
	for _, limits := range [][2]string{{"1", "1"}, {"2", "1"}, {"2", "3"}} {
		resized := pod.DeepCopy()
		limit(resized, limits[0], limits[1])
		f.Update(resized)
		f.awaitExec(pod, "cat /d/c /d/sidecar 2>/dev/null || :", limits[0]+limits[1])
	}
}

func TestVolumesThatStay(t *testing.T) {
	f := newFixture(t, newClaim("claim"), newVolume())
	pod := newPod()
	pod.Spec.Volumes = []corev1.Volume{
		{Name: "claim", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "claim"}}},
		{Name: "empty", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
	}
	pod.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "claim", MountPath: "/claim"}, {Name: "empty", MountPath: "/empty"}, {Name: "claim", MountPath: "/sub", SubPath: "x/y"}}
	f.exec(pod, "echo data > /claim/f; echo data > /empty/f; echo data > /sub/f; cat /claim/x/y/f")
	f.Remove(pod.UID)
	pod.UID = "next"
	if got := f.exec(pod, "cat /claim/f; ls /empty; cat /sub/f"); got != "data\ndata\n" {
		t.Errorf("got %q", got)
	}
	if err := f.client.CoreV1().PersistentVolumes().Delete(t.Context(), "pv", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := f.client.CoreV1().PersistentVolumes().Create(t.Context(), newVolume(), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	for data := "data\n"; data != "gone\n"; data = f.exec(pod, "cat /claim/f 2>/dev/null || echo gone") {
		f.Remove(pod.UID)
	}
}

func TestFoldersOfANode(t *testing.T) {
	f := newFixture(t)
	pod := newPod()
	pod.Spec.NodeName = "n"
	pod.Spec.Volumes = []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/data"}}}}
	pod.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "v", MountPath: "/v"}}
	f.exec(pod, "echo data > /v/f")
	for _, want := range []string{"data\n", "gone\n"} {
		f.Remove(pod.UID)
		if got := f.exec(pod, "cat /v/f 2>/dev/null || echo gone"); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		f.RemoveNode("n")
	}
}

// newVolume returns a PersistentVolume that is bound to newClaim("claim").
func newVolume() *corev1.PersistentVolume {
	return &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "pv"}, Spec: corev1.PersistentVolumeSpec{ClaimRef: &corev1.ObjectReference{Namespace: "ns", Name: "claim", UID: "claim"}}}
}

func newClaim(name string) *corev1.PersistentVolumeClaim {
	return &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID(name)},
		Spec:       corev1.PersistentVolumeClaimSpec{VolumeName: "pv"}, Status: corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimBound},
	}
}

func TestVolumesOfOthers(t *testing.T) {
	thief := newClaim("thief")
	unbound := newClaim("claim")
	unbound.Status.Phase = corev1.ClaimLost
	ephemeral := newClaim("p-v")
	lost := newVolume()
	lost.Spec.ClaimRef.UID = "p-v"
	for name, test := range map[string]struct {
		claim  *corev1.PersistentVolumeClaim
		volume *corev1.PersistentVolume
		source corev1.VolumeSource
		want   string
	}{
		"of another claim": {thief, newVolume(), claimSource("thief"), "found PV object pv but its pv.Spec.ClaimRef does not point to claim.UID thief"},
		"unbound":          {unbound, newVolume(), claimSource("claim"), "PVC is not bound"},
		"no volume":        {newClaim("claim"), &corev1.PersistentVolume{}, claimSource("claim"), `failed to fetch PV pv from API server: persistentvolumes "pv" not found`},
		"of no Pod":        {ephemeral, lost, corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{}}, "PVC ns/p-v was not created for pod ns/p (pod is not owner)"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, test.claim, test.volume)
			pod := newPod()
			pod.Spec.Volumes = []corev1.Volume{{Name: "v", VolumeSource: test.source}}
			pod.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "v", MountPath: "/v"}}
			err := f.Exec(t.Context(), pod, "c", 0, []string{"true"}, Streams{})
			if want := `MountVolume.SetUp failed for volume "v" : ` + test.want; err == nil || err.Error() != want {
				t.Errorf("got %v, want %s", err, want)
			}
		})
	}
}

func TestVolumesOfAPodAreBounded(t *testing.T) {
	large := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "m"}, Data: map[string]string{"k": strings.Repeat("x", 1<<20)}}
	f := newFixture(t, large)
	source := &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: "m"}, DefaultMode: new(int32(0o444))}
	for i := range 33 {
		source.Items = append(source.Items, corev1.KeyToPath{Key: "k", Path: strings.Repeat("f", i+1)})
	}
	pod := newPod()
	for _, name := range []string{"a", "b"} {
		pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{ConfigMap: source}})
		pod.Spec.Containers[0].VolumeMounts = append(pod.Spec.Containers[0].VolumeMounts, corev1.VolumeMount{Name: name, MountPath: "/" + name})
	}
	err := f.Exec(t.Context(), pod, "c", 0, []string{"true"}, Streams{})
	if err == nil || !strings.Contains(err.Error(), `volume "b" : the volumes of the pod hold more than 67108864 bytes`) {
		t.Errorf("got %v", err)
	}
}

// TestVolumesOfLaterCommands makes them with the first command, so that they stay when their objects change; those that no
// command mounts would only be kept and refreshed.
func TestVolumesOfLaterCommands(t *testing.T) {
	f := newFixture(t)
	pod := newPod("true")
	for _, name := range []string{"image", "later"} {
		settings := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}, Data: map[string]string{"a": "1"}}
		if err := f.client.Tracker().Add(settings); err != nil {
			t.Fatal(err)
		}
		source := &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: name}, Items: []corev1.KeyToPath{{Key: "a", Path: "a"}}, DefaultMode: new(int32(0o444))}
		pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{ConfigMap: source}})
		pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{Name: name, Image: "busybox", VolumeMounts: []corev1.VolumeMount{{Name: name, MountPath: "/v"}}})
	}
	commandOf := func(c *corev1.Container) []string { // as of an annotation
		if c.Name == "later" {
			return []string{"cat", "/v/a"}
		}
		return c.Command
	}
	run := func(c *corev1.Container) {
		f.Run(Spec{Pod: pod, Container: c, Args: commandOf(c), CommandOf: commandOf})
	}
	run(&pod.Spec.Containers[0])
	f.await(pod, Ended)
	f.session.mu.Lock()
	if v := f.session.pods[pod.UID].volumes; v == nil || v.dirs["later"] == nil || v.dirs["image"] != nil {
		t.Errorf("got %+v", v)
	}
	f.session.mu.Unlock()
	changed := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "later"}, Data: map[string]string{"b": "2"}}
	if _, err := f.client.CoreV1().ConfigMaps("ns").Update(t.Context(), changed, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	run(&pod.Spec.Containers[2])
	if state := f.awaitContainer(pod, "later", Ended); state.ExitCode != 0 {
		t.Errorf("got %+v", state)
	}
}

// TestDependAfterRemoval has a check of a run that ends after its Pod was removed.
func TestDependAfterRemoval(t *testing.T) {
	f := newFixture(t)
	ctx, remove := context.WithCancel(t.Context())
	remove()
	if err := f.session.depend(ctx, "u", podconfig.Reference{Namespace: "ns", Name: "m"}); !errors.Is(err, context.Canceled) || len(f.session.dependents) != 0 {
		t.Errorf("error %v, dependents %v", err, f.session.dependents)
	}
}

// TestVolumesThatNoContainerMounts starts without the object that only such a volume needs.
func TestVolumesThatNoContainerMounts(t *testing.T) {
	f := newFixture(t)
	pod := newPod("true")
	pod.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "A", ValueFrom: &corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{Key: "k", LocalObjectReference: corev1.LocalObjectReference{Name: "absent"}, Optional: new(true)}}}}
	pod.Spec.Volumes = []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "absent"}}}}
	f.start(pod)
	f.await(pod, Ended)
}

func claimSource(name string) corev1.VolumeSource {
	return corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name}}
}

// TestClaimOfAPathOfANode mounts it a second time without its objects, but makes its path again.
func TestClaimOfAPathOfANode(t *testing.T) {
	ofNode := newVolume()
	ofNode.Spec.HostPath = &corev1.HostPathVolumeSource{Path: "/mnt/data"}
	f := newFixture(t, newClaim("claim"), ofNode)
	pod := newPod()
	pod.Spec.NodeName = "n"
	pod.Spec.Volumes = []corev1.Volume{hostVolume("host", "/"), {Name: "claim", VolumeSource: claimSource("claim")}}
	pod.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "host", MountPath: "/host"}, {Name: "claim", MountPath: "/claim"}}
	later := *pod.Spec.Containers[0].DeepCopy()
	later.Name = "later"
	pod.Spec.Containers = append(pod.Spec.Containers, later)
	f.exec(pod, "echo x > /claim/f; rm -r /host/mnt")
	f.client.ClearActions()
	var out bytes.Buffer
	if err := f.Exec(t.Context(), pod, "later", 0, []string{"sh", "-c", "ls /claim; echo y > /claim/g; ls /host/mnt/data"}, Streams{Stdout: &out}); err != nil || out.String() != "g\n" {
		t.Errorf("got %q, %v", &out, err)
	}
	for _, action := range f.client.Actions() {
		if action.GetVerb() == "get" && strings.HasPrefix(action.GetResource().Resource, "persistentvolume") {
			t.Errorf("%s %s again", action.GetVerb(), action.GetResource().Resource)
		}
	}
}

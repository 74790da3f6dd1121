package container

import (
	"context"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ctrlplane/ctrlplane/internal/procstat"
	"github.com/ctrlplane/ctrlplane/internal/testutil"
)

// cpuTime returns the CPU time that the process has used.
func cpuTime(t *testing.T) time.Duration {
	t.Helper()
	u, err := procstat.NewMeter().Measure()
	if err != nil {
		t.Fatal(err)
	}
	return u.CPU
}

// FuzzVolumes runs scripts in a Pod whose mounts have paths that the API server might not
// accept, and that mounts what the scripts have made of its volume. They must neither see
// a file of this machine or of a volume that they do not mount, nor change a ConfigMap.
func FuzzVolumes(f *testing.F) {
	for _, seed := range [][4]string{
		{"a/b", "x/y", "/m", "echo x > /m/f; cat /m/f /cm/x/y"},
		{"../other", "../../../x", "/m/../../etc", "ln -s / up; ln -s .. up2; ls -la /"},
		{"link/f", "..data", "/cm/x", "ln -s /work link; ln -s ../../other /m/link; ln -s loop loop"},
		{"link", "a/../../b", "/", "mkdir -p /m/d; mv /m/d /m/link; ln -sf ../../.. /m/link; find -L / -type f -exec cat {} +"},
		{"loop/x", ".", "/proc", "ln -s loop /m/loop; cd /m; for i in 1 2 3 4 5 6 7 8 9; do ln -s l$i l$((i+1)); done; ln -s /secret l1; cat l9"},
		{strings.Repeat("a/", 2000), strings.Repeat("b/../", 500) + "c", strings.Repeat("/m", 500), "cp -r /m /m/m; cp -rL /cm /m; cat /cm/c"},
		{"d", "k", "/m", "head -c 300000000 /dev/zero > /m/big; ln /m/big /m/again; tar cf /m/t.tar -C /m . ; tar xf /m/t.tar -C /m"},
		{"d", "k", "/m", "rm -rf /cm/* /m /cm; echo gone > /cm/k; mv /cm /m/cm; chmod -R 777 /cm; ln -sf /m/d /cm/..data"},
		{"\x00", "a\x00b", "m", "cat \"/m/\x00\""},
	} {
		f.Add(seed[0], seed[1], seed[2], seed[3])
	}
	host := filepath.Join(f.TempDir(), "host")
	const hostText, otherText, kept = "text-of-the-machine", "text-of-another-pod", "kept"
	testutil.WriteFile(f, host, hostText)
	f.Fuzz(func(t *testing.T, subPath, item, mountPath, script string) {
		config := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "cm"}, Data: map[string]string{"k": kept}}
		r := newFixture(t, config)
		other := newPod()
		other.UID = "other"
		other.Spec.Volumes = []corev1.Volume{emptyVolume("v")}
		other.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "v", MountPath: "/other"}}
		r.exec(other, "echo "+otherText+" > /other/secret; ln -s secret /other/link")
		pod := newPod()
		pod.Spec.Volumes = []corev1.Volume{emptyVolume("v"), configVolume("cm", item), configVolume("safe", "k")}
		pod.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "v", MountPath: "/m"}, {Name: "cm", MountPath: "/cm"}, {Name: "safe", MountPath: "/safe"}}
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		began := cpuTime(t) // other programs may use the machine as well
		var out limitedBuffer
		run := func(pod *corev1.Pod, container, script string) {
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				// The error is that of a mount that does not exist, or of the script.
				_ = r.Exec(ctx, pod, container, 0, []string{"sh", "-c", script}, Streams{Stdout: &out, Stderr: io.Discard})
			}()
			select {
			case <-ended:
			case <-time.After(time.Minute):
				panic("a script has not ended a minute after its start") // the clean-up would wait for it
			}
		}
		run(pod, "c", script+"\ncat "+host+" /other/* /m/../other/secret")
		// A second container mounts what the script has left.
		next := pod.DeepCopy()
		c := &next.Spec.Containers[0]
		c.Name = "next"
		c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: "v", MountPath: mountPath, SubPath: subPath}, corev1.VolumeMount{Name: "cm", MountPath: "/sub", SubPath: subPath})
		run(next, "next", script+"\ncd "+shellQuote(mountPath)+"; find -L . -type f | head -100 | xargs cat")
		if used := cpuTime(t) - began; used > 10*time.Second {
			t.Errorf("it used the CPU for %v", used)
		}
		if text := out.String(); strings.Contains(text, hostText) || strings.Contains(text, otherText+"\n") {
			t.Errorf("a script has seen %q", text)
		}
		third := newPod()
		third.UID = "third"
		third.Spec.Volumes = []corev1.Volume{configVolume("safe", "k")}
		third.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "safe", MountPath: "/safe"}}
		if got := r.exec(third, "cat /safe/k"); got != kept {
			t.Errorf("the ConfigMap holds %q", got)
		}
	})
}

func emptyVolume(name string) corev1.Volume {
	return corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}
}

func configVolume(name, item string) corev1.Volume {
	return corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
		LocalObjectReference: corev1.LocalObjectReference{Name: "cm"}, DefaultMode: new(int32(0o644)), Items: []corev1.KeyToPath{{Key: "k", Path: item}},
	}}}
}

func shellQuote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

package container

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// TestVerdictOfLargeScript has a script with many programs that are not known.
func TestVerdictOfLargeScript(t *testing.T) {
	var script strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&script, "unknown-%d\n", i)
	}
	pod := newPod("sh", "-c", script.String())
	c := &pod.Spec.Containers[0]
	if got := Unknown(c, c.Command); len(got) != 20 || got[0] != "unknown-0" {
		t.Errorf("got %q", got)
	}
	allocations := testing.AllocsPerRun(100, func() {
		if CanRun(c, c.Command) {
			t.Fatal("it can run")
		}
	})
	if allocations > 20 { // to parse the script takes one for each program
		t.Errorf("another verdict of the same script makes %v allocations", allocations)
	}
}

// TestFilesOfTheImage copies a file that is in a volume, and one that only the image can have.
func TestFilesOfTheImage(t *testing.T) {
	pod := newPod("cp", "/data/a", "/opt/b", "/shared")
	c := &pod.Spec.Containers[0]
	c.VolumeMounts = []corev1.VolumeMount{{Name: "data", MountPath: "/data"}}
	if got := Unknown(c, c.Command); len(got) != 1 || got[0] != "/opt/b" {
		t.Errorf("got %q", got)
	}
	if CanRun(c, c.Command) || MayRun(c, c.Command) {
		t.Error("it can run without the file of the image")
	}
	if c.VolumeMounts[0].MountPath = "/"; !CanRun(c, c.Command) {
		t.Error("it cannot run, although both may be in the volume")
	}
}

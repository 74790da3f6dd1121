package podconfig

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
)

func fileKey(path, key string, optional *bool) *corev1.EnvVarSource {
	return &corev1.EnvVarSource{FileKeyRef: &corev1.FileKeySelector{VolumeName: "v", Path: path, Key: key, Optional: optional}}
}

func TestEnvironmentFromFiles(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	got, err := environmentOf(t, func(_ *corev1.Pod, c *corev1.Container) {
		c.Env = []corev1.EnvVar{
			{Name: "A", ValueFrom: fileKey("good", "A", nil)},
			{Name: "B", ValueFrom: fileKey("good", "B", nil)},
			{Name: "BOTH", Value: "$(A) $(B)"},
			{Name: "NONE", ValueFrom: fileKey("good", "NONE", new(true))},
		}
	})
	want := map[string]string{"A": "1", "B": "two\nlines", "BOTH": "1 two\nlines"}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v: %s", err, diff)
	}
	if left, err := os.ReadDir(os.TempDir()); err != nil || len(left) > 0 {
		t.Errorf("temporary files: %v, %v", left, err)
	}
}

// TestEnvironmentFileErrors has upstream's errors, with the reason that a kubelet has in its
// log only.
func TestEnvironmentFileErrors(t *testing.T) {
	for want, source := range map[string]*corev1.EnvVarSource{
		`environment variable key "NONE" not found in file "v/good"`:                                                      fileKey("good", "NONE", nil),
		`environment variable key "EMPTY" not found in file "v/good"`:                                                     fileKey("good", "EMPTY", nil),
		"couldn't parse env file: open none: file does not exist":                                                         fileKey("none", "A", new(true)),
		"couldn't parse env file: invalid environment variable format at line 1: value must be enclosed in single quotes": fileKey("bad", "A", nil),
		"couldn't parse env file: error reading environment variable file: bufio.Scanner: token too long":                 fileKey("long", "A", nil),
	} {
		_, err := environmentOf(t, func(_ *corev1.Pod, c *corev1.Container) { c.Env = []corev1.EnvVar{{Name: "A", ValueFrom: source}} })
		if err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

package podconfig

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
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

// countingSource counts the files that are read.
type countingSource struct {
	fakeSource
	reads *int
}

func (c countingSource) File(ctx context.Context, pod *corev1.Pod, volume, path string, limit int64) ([]byte, error) {
	*c.reads++
	return c.fakeSource.File(ctx, pod, volume, path, limit)
}

// TestEnvironmentReadsAFileOnce has many variables from one file.
func TestEnvironmentReadsAFileOnce(t *testing.T) {
	pod, reads := testPod(), 0
	c := &pod.Spec.Containers[0]
	for i := range 20 {
		c.Env = append(c.Env, corev1.EnvVar{Name: "V" + strconv.Itoa(i), ValueFrom: fileKey("good", []string{"A", "B", "NONE"}[i%3], new(true))})
	}
	if list, err := Environment(t.Context(), pod, c, countingSource{reads: &reads}); err != nil || reads != 1 || len(list) < 14 {
		t.Errorf("%d reads, %v, %v", reads, list, err)
	}
}

// TestEnvironmentFileHasNoName has a copy of a file that a killed process does not leave
// behind.
func TestEnvironmentFileHasNoName(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("an open file has no other name")
	}
	t.Setenv("TMPDIR", t.TempDir())
	file, err := newEnvFile([]byte("A='1'\n"))
	if err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(os.TempDir()); err != nil || len(left) > 0 {
		t.Errorf("temporary files: %v, %v", left, err)
	}
	for range 2 {
		if value, err := file.parse("A"); value != "1" || err != nil {
			t.Errorf("got %q, %v", value, err)
		}
	}
	if err := file.close(); err != nil {
		t.Error(err)
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

// TestRemoveOldEnvFiles removes what killed processes have left, and nothing else.
func TestRemoveOldEnvFiles(t *testing.T) {
	dir, now := t.TempDir(), time.Now()
	for name, age := range map[string]time.Duration{envFilePrefix + "1": 2 * time.Minute, envFilePrefix + "2": 0, "other": time.Hour} {
		file := testutil.WriteFile(t, filepath.Join(dir, name), "")
		if err := os.Chtimes(file, now.Add(-age), now.Add(-age)); err != nil {
			t.Fatal(err)
		}
	}
	removeOldEnvFiles(dir, now.Add(-leftoverAge))
	var left []string
	entries, err := os.ReadDir(dir)
	for _, entry := range entries {
		left = append(left, entry.Name())
	}
	if diff := cmp.Diff([]string{envFilePrefix + "2", "other"}, left); diff != "" || err != nil {
		t.Errorf("%v: %s", err, diff)
	}
}

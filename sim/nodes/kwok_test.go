package nodes

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// kwokSource returns the source files of a package of kwok, by name.
func kwokSource(t *testing.T, pkg string) map[string]string {
	t.Helper()
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/kwok").Output()
	if err != nil {
		t.Skipf("the source of kwok cannot be found: %v", err)
	}
	names, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(dir)), pkg, "*.go"))
	if err != nil || len(names) == 0 {
		t.Fatalf("%s: %d files, %v", pkg, len(names), err)
	}
	files := map[string]string{}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		source, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		files[filepath.Base(name)] = string(source)
	}
	return files
}

// TestTemplateFunctionsAreThoseOfKwok has the functions that kwok's controllers give to templates.
func TestTemplateFunctionsAreThoseOfKwok(t *testing.T) {
	functions := newTestRegistry(t, testNode(nil)).templateFunctions()
	entry := regexp.MustCompile(`"(\w+)":\s+c\.func`)
	found := 0
	for _, name := range []string{"node_controller.go", "pod_controller.go"} {
		for _, match := range entry.FindAllStringSubmatch(kwokSource(t, "pkg/kwok/controllers")[name], -1) {
			if found++; functions[match[1]] == nil {
				t.Errorf("%s of kwok is missing", match[1])
			}
		}
	}
	if found == 0 {
		t.Error("kwok's functions were not found")
	}
}

// TestStagesAreRetriedAsByKwok compares the delays, and the errors after which a stage is tried again, with kwok's source.
func TestStagesAreRetriedAsByKwok(t *testing.T) {
	source := kwokSource(t, "pkg/kwok/controllers")["utils.go"]
	for _, want := range []string{
		"wait.Backoff{Duration: 1 * time.Second, Factor: 2.0, Jitter: 0.2, Cap: 32 * time.Minute}",
		"	if utilnet.IsConnectionRefused(err) {\n",
		"	if apierrors.IsServerTimeout(err) ||\n\t\tapierrors.IsTimeout(err) ||\n\t\tapierrors.IsServiceUnavailable(err) ||\n\t\tapierrors.IsTooManyRequests(err) {\n",
	} {
		if !strings.Contains(source, want) {
			t.Errorf("kwok does not have %s", want)
		}
	}
	for retries, want := range map[int]time.Duration{
		0: time.Second, 3: 8 * time.Second, 10: 1024 * time.Second, 11: 32 * time.Minute, 5000: 32 * time.Minute,
	} {
		if got := stageRetryDelay(retries); got != want {
			t.Errorf("after %v retries: %s, want %s", retries, got, want)
		}
	}
}

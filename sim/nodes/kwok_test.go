package nodes

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
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

// cancelableClock ends the goroutine that calls After: that must be a queue's.
func TestOnlyQueuesCallAfter(t *testing.T) {
	var callers []string
	for _, pkg := range []string{"pkg/kwok/controllers", "pkg/utils/queue", "pkg/utils/lifecycle"} {
		for name, source := range kwokSource(t, pkg) {
			if strings.Contains(source, "lock.After(") {
				callers = append(callers, pkg+"/"+name)
			}
		}
	}
	slices.Sort(callers)
	if diff := cmp.Diff([]string{"pkg/utils/queue/delaying_queue.go", "pkg/utils/queue/weight_delaying_queue.go"}, callers); diff != "" {
		t.Errorf("files that call After of their clock: %s", diff)
	}
}

// templateFunctions replaces kwok's functions that allocate addresses, by name. The
// others are deprecated by kwok or have no addresses.
func TestTemplateFunctionsReplaceThoseOfKwok(t *testing.T) {
	replaced := newTestRegistry(t, testNode(nil)).templateFunctions()
	entry := regexp.MustCompile(`"(\w+)":\s+c\.func`)
	var kept []string
	for _, name := range []string{"node_controller.go", "pod_controller.go"} {
		for _, match := range entry.FindAllStringSubmatch(kwokSource(t, "pkg/kwok/controllers")[name], -1) {
			if replaced[match[1]] == nil && !slices.Contains(kept, match[1]) {
				kept = append(kept, match[1])
			}
		}
	}
	slices.Sort(kept)
	if diff := cmp.Diff([]string{"NodeIP", "NodeName", "NodePort", "PodIP"}, kept); diff != "" {
		t.Errorf("functions of kwok that stages get: %s", diff)
	}
}

// TestRetryDelay compares maxRetryDelay with what kwok's source says.
func TestRetryDelay(t *testing.T) {
	const backoff = "wait.Backoff{Duration: 1 * time.Second, Factor: 2.0, Jitter: 0.2, Cap: 32 * time.Minute}"
	if !strings.Contains(kwokSource(t, "pkg/kwok/controllers")["utils.go"], backoff) {
		t.Errorf("the backoff of kwok is not %s", backoff)
	}
	for retries, want := range map[float64]time.Duration{
		0: 1200 * time.Millisecond, 3: 9600 * time.Millisecond, 11: 2304 * time.Second, 5000: 2304 * time.Second,
	} {
		if got := maxRetryDelay(retries); got != want {
			t.Errorf("after %v retries: %s, want %s", retries, got, want)
		}
	}
}

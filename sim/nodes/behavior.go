package nodes

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ctrlplane/ctrlplane/sim/annotations"
	"github.com/ctrlplane/ctrlplane/sim/podhttp"
)

// podBehavior is what the containers of a pod do.
type podBehavior struct {
	completes  bool             // the main containers exit with code 0
	exitCode   *int32           // of all main containers …
	exitCodes  map[string]int32 // … or of the containers with these names, also init containers
	failures   int32            // for how many runs the exit codes apply; -1 means all
	runFor     time.Duration
	readyAfter time.Duration
	stopAfter  time.Duration
	annotated  bool              // the annotations say when the main containers exit
	script     string            // of the main containers …
	scripts    map[string]string // … or of the containers with these names
}

// podBehaviorOf reads the annotations of a Pod. The error describes the invalid ones;
// the others apply.
func podBehaviorOf(pod *corev1.Pod) (podBehavior, error) {
	b := podBehavior{failures: -1}
	if owner := metav1.GetControllerOf(pod); owner != nil && owner.Kind == "Job" {
		b.completes = true
	}
	if len(pod.Annotations) == 0 {
		return b, nil
	}
	var wrong []string
	read := func(name string, parse func(string) error) {
		value, ok := pod.Annotations[name]
		if !ok {
			return
		}
		if err := parse(value); err != nil {
			wrong = append(wrong, fmt.Sprintf("annotation %s: %v", name, err))
		}
	}
	duration := func(to *time.Duration) func(string) error {
		return func(value string) error {
			d, err := time.ParseDuration(value)
			if err != nil || d < 0 {
				return fmt.Errorf("%q is not a duration: write it like 5s or 1m30s", value)
			}
			*to = d
			return nil
		}
	}
	runFor := time.Duration(-1)
	read(annotations.RunFor, duration(&runFor))
	b.readScripts(pod)
	read(annotations.ReadyAfter, duration(&b.readyAfter))
	read(annotations.StopAfter, duration(&b.stopAfter))
	read(annotations.HTTP, func(value string) error {
		_, err := podhttp.Parse(value)
		return err
	})
	read(annotations.ExitCode, func(value string) error { return b.parseExitCodes(pod, value) })
	read(annotations.Failures, func(value string) error {
		n, err := strconv.ParseInt(value, 10, 32)
		if err != nil || n < 0 {
			return fmt.Errorf("%q is not a count: write a number from 0", value)
		}
		b.failures = int32(n)
		return nil
	})
	if runFor >= 0 {
		b.runFor, b.annotated = runFor, true
		b.completes = b.completes || b.exitCode == nil && b.exitCodes == nil
	}
	if wrong != nil {
		return b, fmt.Errorf("%s", strings.Join(wrong, "; "))
	}
	return b, nil
}

func (b *podBehavior) parseExitCodes(pod *corev1.Pod, value string) error {
	if !strings.Contains(value, "=") {
		code, err := parseExitCode(value)
		if err == nil {
			b.exitCode = &code
		}
		return err
	}
	codes := map[string]int32{}
	for item := range strings.SplitSeq(value, ",") {
		name, number, _ := strings.Cut(strings.TrimSpace(item), "=")
		if _, kind, found := findContainer(pod, name); !found || kind == ephemeralContainer {
			return fmt.Errorf("the pod has no container %q", name)
		}
		code, err := parseExitCode(number)
		if err != nil {
			return err
		}
		codes[name] = code
	}
	b.exitCodes = codes
	return nil
}

func parseExitCode(value string) (int32, error) {
	code, err := strconv.ParseUint(value, 10, 8)
	if err != nil {
		return 0, fmt.Errorf("%q is not an exit code: write a number from 0 to 255", value)
	}
	return int32(code), nil
}

// readScripts reads the annotations that name scripts.
func (b *podBehavior) readScripts(pod *corev1.Pod) {
	for key, value := range pod.Annotations {
		name, ok := strings.CutPrefix(key, annotations.Run)
		switch {
		case !ok:
		case name == "":
			b.script = value
		case name[0] == '.':
			if b.scripts == nil {
				b.scripts = map[string]string{}
			}
			b.scripts[name[1:]] = value
		}
	}
}

// scriptOf returns the script that the annotations name for a container, if any.
func (b podBehavior) scriptOf(c *corev1.Container, kind containerKind) string {
	if script, ok := b.scripts[c.Name]; ok || kind != mainContainer {
		return script
	}
	return b.script
}

// isAnnotated reports whether the annotations say how a run of a container ends.
func (b podBehavior) isAnnotated(c *corev1.Container, kind containerKind, run int32) bool {
	_, set := b.exitCodes[c.Name]
	if kind == mainContainer {
		set = set || b.exitCode != nil
		if b.annotated && !set {
			return true
		}
	}
	return set && (b.failures < 0 || run < b.failures)
}

// nextExit returns after how long a run of a container exits, and with which code;
// false if it does not exit. Runs are counted from 0.
func (b podBehavior) nextExit(c *corev1.Container, kind containerKind, run int32) (time.Duration, int32, bool) {
	code, set := b.exitCodes[c.Name]
	if kind == mainContainer && !set && b.exitCode != nil {
		code, set = *b.exitCode, true
	}
	switch {
	case set && (b.failures < 0 || run < b.failures):
		return b.runFor, code, true
	case onlyWaits(c) && !(kind == mainContainer && b.annotated):
		return 0, 0, false
	case kind == initContainer:
		return 0, 0, true
	case kind == mainContainer && b.completes:
		return b.runFor, 0, true
	}
	return 0, 0, false
}

//go:build linux

package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
	"unicode"

	"github.com/creack/pty"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// hostileTexts do harm to a terminal, a page or a CI log that shows them as they are.
var hostileTexts = []string{
	"\x1b]0;torture\x07", "\x1b[2J", "\u009b31m", "\x08\x08\x7f", "\u202etorture", "\u2066x", "\r\n::error::torture\n", "\n##[error]torture\n", "torture##vso[task.complete]",
	`<script>torture()</script>`, `"><img src=x onerror=torture()>`, "\x00", "```\n# torture", "${torture}", "</script><b>torture",
}

// hostileText writes such texts wherever a client may, and looks at every face.
func hostileText(r *round) error {
	c, err := r.up(r.join("data"))
	if err != nil {
		return err
	}
	if err := r.awaitControllers(c); err != nil {
		return err
	}
	var all strings.Builder
	for range 6 {
		all.WriteString(hostileTexts[r.rand.IntN(len(hostileTexts))] + " ")
	}
	text := strings.ReplaceAll(all.String(), "\x00", "")
	if err := errors.Join(r.plantText(c, text), r.plantTrial(c, text), r.visitAs(c, text)); err != nil {
		return err
	}
	for _, args := range [][]string{
		{"status", "-o", "wide"}, {"trace", "deployment/web"}, {"why", "pod/web"}, {"trace", "pod/web"}, {"controllers", "-o", "wide"},
		{"trace", "trial/trial"}, {"why", "trial/trial"}, {"trace", "trial/trial", "-o", "mermaid"}, {"clients", "-o", "wide"}, {"logs"},
		{"snapshot", "diff", "none"}, {"wait", "pod/web", "--timeout", "1s"}, {"wait", "trial/trial", "--timeout", "1s"}, {"top", "--ui", "plain"},
	} {
		if err := r.checkVerbIsClean(c, args); err != nil {
			return err
		}
	}
	if err := r.checkViewIsClean(c); err != nil {
		return err
	}
	if err := c.stop(); err != nil {
		return err
	}
	return r.checkReportIsClean(text)
}

// plantText creates a Pod, a Deployment and Events that contain a text.
func (r *round) plantText(c *controlPlane, text string) error {
	note := map[string]string{"torture": text}
	core := c.client.CoreV1()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Annotations: note},
		Spec:       corev1.PodSpec{NodeName: "nowhere", Containers: []corev1.Container{{Name: "main", Image: "x", Args: []string{text}}}},
	}
	pod, err := core.Pods("default").Create(r.ctx, pod, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	pod.Status.Message, pod.Status.Reason = text, text
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse, Reason: "Bad", Message: text}}
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "Bad", Message: text}}}}
	if _, err := core.Pods("default").UpdateStatus(r.ctx, pod, metav1.UpdateOptions{}); err != nil {
		return err
	}
	event := &corev1.Event{
		ObjectMeta:     metav1.ObjectMeta{GenerateName: "web."},
		InvolvedObject: corev1.ObjectReference{Kind: "Pod", Namespace: "default", Name: "web", UID: pod.UID},
		Type:           "Warning", Reason: text, Message: text, Source: corev1.EventSource{Component: text},
	}
	if _, err := core.Events("default").Create(r.ctx, event, metav1.CreateOptions{}); err != nil {
		return err
	}
	manifest := r.join("web.yaml")
	if err := os.WriteFile(manifest, []byte(webManifest), 0o600); err != nil {
		return err
	}
	if _, err := r.verb(c.dir, "kubectl", "apply", "-f", manifest); err != nil {
		return err
	}
	_, err = r.verb(c.dir, "kubectl", "annotate", "deployment/web", "torture="+text)
	return err
}

const webManifest = `apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: default}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: main, image: registry.invalid/web}]}
`

// checkVerbIsClean runs a verb for a moment, whatever its exit code.
func (r *round) checkVerbIsClean(c *controlPlane, args []string) error {
	p, err := r.beginVerb(c.dir, args...)
	if err != nil {
		return err
	}
	if args[0] == "top" {
		r.pause(3 * time.Second)
		_ = p.Process.Signal(syscall.SIGINT) // it may have ended
	}
	if err := p.awaitEnd(waitTimeout); err != nil {
		return err
	}
	if err := checkClean(p.output.String()); err != nil {
		return fmt.Errorf("%s: %w", strings.Join(args, " "), err)
	}
	return nil
}

// checkClean returns an error if a text contains what terminals or CI systems act upon.
func checkClean(text string) error {
	for i, c := range text {
		if c != '\n' && c != '\t' && unicode.IsControl(c) || unicode.Is(unicode.Bidi_Control, c) {
			return fmt.Errorf("prints %q in %q", c, text[max(0, i-60):min(len(text), i+60)])
		}
	}
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "::error") || strings.Contains(line, "##[") || strings.Contains(line, "##vso[") {
			return fmt.Errorf("prints the workflow command %q", line)
		}
	}
	return nil
}

// checkViewIsClean looks at what the live view sends to a terminal: escapes of its own,
// and none of a client's.
func (r *round) checkViewIsClean(c *controlPlane) error {
	screen, terminal, err := pty.Open()
	if err != nil {
		return err
	}
	defer screen.Close()
	if err := pty.Setsize(screen, &pty.Winsize{Rows: 50, Cols: 160}); err != nil {
		return errors.Join(err, terminal.Close())
	}
	cmd := r.command(r.ctrlplane, "--data-dir", c.dir, "top")
	cmd.Env = append(cmd.Env, "TERM=xterm-256color", "LC_ALL=C.UTF-8")
	cmd.Stdin, cmd.Stdout = terminal, terminal
	p, err := r.start(cmd, "")
	if err := errors.Join(err, terminal.Close()); err != nil {
		return err
	}
	drawn := &output{round: r, found: make(chan struct{})}
	go func() {
		buf := make([]byte, 64<<10)
		for {
			n, err := screen.Read(buf)
			_, _ = drawn.Write(buf[:n]) // never fails
			if err != nil {
				return
			}
		}
	}()
	if err := r.await("live view", waitTimeout, func() error {
		if !strings.Contains(drawn.String(), "ctrlplane") {
			return errors.New("nothing is drawn")
		}
		return nil
	}); err != nil {
		return err
	}
	r.pause(2 * time.Second)
	p.kill()
	for _, bad := range []string{"\x1b]0;torture", "\u009b", "\x7f", "\u202e", "\u2066"} {
		if strings.Contains(drawn.String(), bad) {
			return fmt.Errorf("the view sends %q to the terminal", bad)
		}
	}
	return nil
}

// checkReportIsClean reads the summaries and pages of a run whose objects contain the text.
func (r *round) checkReportIsClean(text string) error {
	script, err := r.writeTrial(text)
	if err != nil {
		return err
	}
	report, summary := r.join("report"), r.join("summary.md")
	cmd := r.command(r.ctrlplane, "run", "-f", r.join("web.yaml"), "--report", report, "--", "sh", "-c", script, r.ctrlplane)
	cmd.Env = append(cmd.Env, "GITHUB_ACTIONS=true", "GITHUB_STEP_SUMMARY="+summary, "GITLAB_CI=true")
	p, err := r.start(cmd, "")
	if err != nil {
		return err
	}
	if err := p.awaitEnd(readyTimeout); err != nil {
		return err
	}
	if code := p.ProcessState.ExitCode(); code != 0 {
		return fmt.Errorf("run --report ended with %d: %s", code, lastLine(p.output.String()))
	}
	if err := checkSummaries(p.output.String(), summary); err != nil {
		return fmt.Errorf("run --report: %w", err)
	}
	return filepath.WalkDir(report, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".html" {
			return err
		}
		page, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, bad := range []string{"<script>torture", "<img src=x", "</script><b>torture"} {
			if strings.Contains(string(page), bad) {
				return fmt.Errorf("%s contains %q", path, bad)
			}
		}
		return nil
	})
}

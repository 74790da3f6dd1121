//go:build linux

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strings"
	"unicode"
)

const trialDefinition = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: trials.torture.example.com}
spec:
  group: torture.example.com
  names: {kind: Trial, plural: trials, singular: trial}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    additionalPrinterColumns: [{name: Text, type: string, jsonPath: .spec.text}]
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`

// writeTrial writes the manifests of a custom resource that contains a text in each field, and
// is not healthy because of it. It returns the commands that create it, for a shell whose $0 is
// the program.
func (r *round) writeTrial(text string) (script string, err error) {
	trial := map[string]any{
		"apiVersion": "torture.example.com/v1", "kind": "Trial",
		"metadata": map[string]any{"name": "trial", "namespace": "default", "annotations": map[string]string{"torture": text}},
		"spec":     map[string]any{"text": text, text: text},
	}
	status := map[string]any{"status": map[string]any{
		"phase": text, "message": text,
		"conditions": []map[string]any{{"type": "Ready", "status": "False", "reason": text, "message": text, "lastTransitionTime": "2026-01-01T00:00:00Z"}},
	}}
	files := map[string][]byte{"definition.yaml": []byte(trialDefinition)}
	for name, content := range map[string]any{"trial.json": trial, "status.json": status} {
		if files[name], err = json.Marshal(content); err != nil {
			return "", err
		}
	}
	for name, content := range files {
		if err := os.WriteFile(r.join(name), content, 0o600); err != nil {
			return "", err
		}
	}
	return strings.Join([]string{
		`"$0" kubectl apply -f definition.yaml`, `"$0" kubectl wait --for condition=established crd/trials.torture.example.com`,
		`"$0" kubectl apply -f trial.json`, `"$0" kubectl patch trial trial --subresource status --type merge --patch-file status.json`,
	}, " && "), nil
}

// plantTrial creates the custom resource in a running control plane.
func (r *round) plantTrial(c *controlPlane, text string) error {
	script, err := r.writeTrial(text)
	if err != nil {
		return err
	}
	cmd := r.command("sh", "-c", strings.ReplaceAll(script, `"$0"`, `"$0" --data-dir "$1"`), r.ctrlplane, c.dir)
	p, err := r.start(cmd, "")
	if err != nil {
		return err
	}
	if err := p.awaitEnd(waitTimeout); err != nil {
		return err
	}
	if !p.ProcessState.Success() {
		return fmt.Errorf("custom resource: %v: %s", p.ProcessState, lastLine(p.output.String()))
	}
	return nil
}

// visitAs makes a request whose user agent contains what a header may have of a text.
func (r *round) visitAs(c *controlPlane, text string) error {
	agent := strings.Map(func(c rune) rune {
		if c < 0x20 || c == 0x7f {
			return -1
		}
		return c
	}, text)
	_, err := c.client.CoreV1().RESTClient().Get().AbsPath("/api/v1/namespaces/default/pods").SetHeader("User-Agent", agent+"/1").DoRaw(r.ctx)
	return err
}

// gitlabSection matches what folds a part of a GitLab job log.
var gitlabSection = regexp.MustCompile("\x1b\\[0Ksection_(start|end):[0-9]+:ctrlplane_run(\\[collapsed=true\\])?\r\x1b\\[0K")

// checkSummaries reads what a run publishes for CI services: its job log, without what our own
// commands in it are, and its job summary.
func checkSummaries(log, summaryFile string) error {
	var rest strings.Builder
	for line := range strings.Lines(log) {
		line = gitlabSection.ReplaceAllString(line, "")
		for _, title := range []string{"not healthy", "ctrlplane run"} {
			line = strings.TrimPrefix(line, "::error title="+title)
		}
		rest.WriteString(line)
	}
	if err := checkClean(rest.String()); err != nil {
		return fmt.Errorf("job log: %w", err)
	}
	summary, err := os.ReadFile(summaryFile)
	if err != nil {
		return err
	}
	if !strings.Contains(string(summary), "Not healthy") {
		return fmt.Errorf("the summary does not name what is not healthy: %s", summary)
	}
	for _, c := range string(summary) {
		if c != '\n' && (unicode.IsControl(c) || unicode.Is(unicode.Bidi_Control, c)) {
			return fmt.Errorf("the summary contains %q", c)
		}
	}
	for _, bad := range []string{"<script", "<img", "```"} {
		if strings.Contains(string(summary), bad) {
			return fmt.Errorf("the summary contains %q", bad)
		}
	}
	return nil
}

// Command capture writes a picture of the live view for the documentation, taken while a
// control plane works on a dozen Deployments.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/ctrlplane/ctrlplane/tools/screen"
)

// stepTimeout bounds each step.
const stepTimeout = time.Minute

func main() {
	program := flag.String("ctrlplane", "bin/ctrlplane", "path of the `program`")
	out := flag.String("o", "docs/live.svg", "`file` to write")
	before := flag.Duration("before", 20*time.Second, "time between the start, which should not be visible in the scale of the bars either, and the Deployments")
	flag.Parse()
	if err := run(*program, *out, *before); err != nil {
		fmt.Fprintln(os.Stderr, "capture:", err)
		os.Exit(1)
	}
}

func run(program, out string, before time.Duration) (err error) {
	if program, err = filepath.Abs(program); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "capture-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	ctx, cancel := context.WithTimeout(context.Background(), stepTimeout)
	defer cancel()
	data := filepath.Join(dir, "data")
	s, err := screen.Start(exec.CommandContext(ctx, program, "--data-dir", data, "up"), 140, 40)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if err := s.Await(ctx, containsText("● settled")); err != nil {
		return fmt.Errorf("waiting until settled: %w", err)
	}
	<-time.After(before)
	if err := s.Send("["); err != nil { // half the speed: queues fill
		return err
	}
	create := exec.CommandContext(ctx, program, "--data-dir", data, "kubectl", "create", "-f", "-")
	create.Stdin = strings.NewReader(deploymentManifest(12, 20))
	if said, err := create.CombinedOutput(); err != nil {
		return fmt.Errorf("kubectl create: %w: %s", err, said)
	}
	picture, err := captureBusiest(ctx, s)
	if err != nil {
		return err
	}
	if err := os.WriteFile(out, []byte(picture), 0o644); err != nil {
		return err
	}
	if err := s.Send("\x03"); err != nil { // Ctrl-C
		return err
	}
	select {
	case <-s.Done():
		return nil
	case <-ctx.Done():
		return fmt.Errorf("waiting for the end: %w", ctx.Err())
	}
}

func containsText(words string) func(string) bool {
	return func(text string) bool { return strings.Contains(text, words) }
}

// captureBusiest watches the screen for some seconds and returns the picture with the
// most activity.
func captureBusiest(ctx context.Context, s *screen.Screen) (picture string, err error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	most := 0
	err = s.Await(ctx, func(text string) bool {
		if n := countNewPods(text); n > most {
			most, picture = n, s.SVG()
		}
		return false
	})
	if picture == "" {
		return "", fmt.Errorf("no picture shows busy workers: %w", err)
	}
	return picture, nil
}

// countNewPods counts the Pods in the activity pane, if workers of the replicaset queue
// are busy.
func countNewPods(text string) int {
	if !regexp.MustCompile(`(?m)^.replicaset .* [1-5]/5 `).MatchString(text) {
		return 0
	}
	return strings.Count(text, "create  Pod ")
}

// deploymentManifest returns a manifest of n Deployments.
func deploymentManifest(n, replicas int) string {
	names := []string{"web", "api", "cart", "search", "mail", "media", "login", "orders", "stock", "prices", "reviews", "reports"}
	var b strings.Builder
	for i := range n {
		name := names[i%len(names)]
		fmt.Fprintf(&b, `---
apiVersion: apps/v1
kind: Deployment
metadata: {name: %s}
spec:
  replicas: %d
  selector: {matchLabels: {app: %s}}
  template:
    metadata: {labels: {app: %s}}
    spec: {containers: [{name: main, image: registry.example/%s}]}
`, name, replicas, name, name, name)
	}
	return b.String()
}

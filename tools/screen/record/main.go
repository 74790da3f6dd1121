// Command record writes an animation for the documentation of a terminal in which a
// controller is paused, stepped and queried.
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

const (
	stepTimeout  = time.Minute             // of each step
	keyInterval  = 35 * time.Millisecond   // between keys
	readingPause = 1200 * time.Millisecond // between commands
)

// scriptLine is a command to type and a pattern that its output must match; "" = none.
type scriptLine struct{ input, want string }

// script is the content of the animation.
var script = []scriptLine{
	{"ctrlplane controllers pause replicaset", `(?m)^paused: replicaset-controller$`},
	{"kubectl create deployment web --image=nginx --replicas=2", `deployment.apps/web created`},
	{"kubectl get pods  # none are created", `No resources found`},
	{"ctrlplane controllers held replicaset", `(?m)^create  Pod default/web-\S+- +\S+$`},
	{"ctrlplane controllers step replicaset | head -20  # release one write", `create Pod default/web-\S+: 201 Created`},
	{"kubectl get pods", `(?m)^web-\S+ +1/1 +Running`},
	{"clear", ""},
	{"ctrlplane controllers step replicaset --until settled | tail -25", `\+  readyReplicas: 2`},
	{"kubectl get pods", `(?s)web-\S+ +1/1 +Running.*web-\S+ +1/1 +Running`},
	{"clear", ""},
	{"ctrlplane controllers resume replicaset", `(?m)^resumed: replicaset-controller$`},
	{"ctrlplane why $(kubectl get pods -o name | tail -1)", `kubectl \(kubernetes-admin\) created Deployment web \(version`},
}

func main() {
	program := flag.String("ctrlplane", "bin/ctrlplane", "path of the `program`")
	out := flag.String("o", "docs/hands.svg", "`file` to write")
	flag.Parse()
	if err := run(*program, *out); err != nil {
		fmt.Fprintln(os.Stderr, "record:", err)
		os.Exit(1)
	}
}

func run(program, out string) (err error) {
	if program, err = filepath.Abs(program); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "record-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	env := append(os.Environ(), "HOME="+dir, "XDG_STATE_HOME="+dir, "KUBECONFIG="+filepath.Join(dir, "kubeconfig"),
		"PATH="+filepath.Join(dir, "bin")+string(os.PathListSeparator)+os.Getenv("PATH"), "PS1=$ ", "CLICOLOR_FORCE=1")
	if err := installCommands(program, filepath.Join(dir, "bin")); err != nil {
		return err
	}
	up := exec.Command(program, "up", "--ui", "none")
	up.Env, up.Stderr = env, os.Stderr
	if err := up.Start(); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, up.Process.Signal(os.Interrupt), up.Wait()) }()
	wait := exec.Command("sh", "-c", "until ctrlplane wait settled --quiet 2>/dev/null; do sleep 0.2; done")
	wait.Env = env
	if err := wait.Run(); err != nil {
		return err
	}
	film, err := recordScript(env, dir)
	if err != nil {
		return err
	}
	return os.WriteFile(out, []byte(film.SVG()), 0o644)
}

// installCommands makes ctrlplane and kubectl available as commands.
func installCommands(program, bin string) error {
	if err := os.MkdirAll(bin, 0o755); err != nil {
		return err
	}
	kubectl := fmt.Sprintf("#!/bin/sh\nexec '%s' kubectl \"$@\"\n", program)
	return errors.Join(os.Symlink(program, filepath.Join(bin, "ctrlplane")),
		os.WriteFile(filepath.Join(bin, "kubectl"), []byte(kubectl), 0o755))
}

// recordScript runs the script in a shell.
func recordScript(env []string, dir string) (film *screen.Recording, err error) {
	shell := exec.Command("sh", "-i")
	shell.Env, shell.Dir = env, dir
	s, err := screen.Start(shell, 112, 30)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if err := awaitScreen(ctx, s, `^\$\n`); err != nil {
		return nil, err
	}
	film = s.Record(ctx)
	for _, l := range script {
		if err := typeLine(ctx, s, l); err != nil {
			return nil, fmt.Errorf("%s: %w", l.input, err)
		}
	}
	return film, nil
}

// typeLine types a command and waits for its output and the next prompt.
func typeLine(ctx context.Context, s *screen.Screen, l scriptLine) error {
	for _, key := range strings.Split(l.input+"\r", "") {
		if err := s.Send(key); err != nil {
			return err
		}
		<-time.After(keyInterval)
	}
	if err := awaitScreen(ctx, s, l.want); err != nil {
		return err
	}
	if err := awaitScreen(ctx, s, `(^|\n)\$\n*$`); err != nil {
		return err
	}
	if l.want != "" {
		<-time.After(readingPause)
	}
	return nil
}

// awaitScreen waits until the text of the screen matches a pattern.
func awaitScreen(ctx context.Context, s *screen.Screen, pattern string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, stepTimeout, fmt.Errorf("no %s", pattern))
	defer cancel()
	return s.Await(ctx, regexp.MustCompile(pattern).MatchString)
}

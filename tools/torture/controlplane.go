//go:build linux

package main

import (
	"context"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// readyText is what "up --ui plain" prints when the control plane is ready.
const readyText = " is ready in "

// controlPlane is a running control plane.
type controlPlane struct {
	*process
	dir    string
	config *rest.Config
	client *kubernetes.Clientset
}

// bare returns arguments of up for a control plane without nodes, which starts soonest.
func bare(args ...string) []string {
	return append([]string{"--nodes", "0", "--no-scheduler"}, args...)
}

func upArgs(dir string, args ...string) []string {
	return append([]string{"up", "--ui", "plain", "--data-dir", dir}, args...)
}

// begin starts a control plane and does not wait.
func (r *round) begin(dir string, args ...string) (*process, error) {
	return r.start(r.command(r.ctrlplane, upArgs(dir, args...)...), readyText)
}

// up starts a control plane, which must become ready.
func (r *round) up(dir string, args ...string) (*controlPlane, error) {
	p, err := r.begin(dir, args...)
	if err != nil {
		return nil, err
	}
	return r.awaitReady(p, dir)
}

func (r *round) awaitReady(p *process, dir string) (*controlPlane, error) {
	select {
	case <-p.output.found:
	case <-p.done:
		return nil, fmt.Errorf("up ended with %v: %s", p.ProcessState, lastLine(p.output.String()))
	case <-r.ctx.Done():
		return nil, context.Cause(r.ctx)
	case <-time.After(readyTimeout):
		_ = p.Process.Signal(syscall.SIGQUIT) // its goroutines are in the log
		_ = p.awaitEnd(5 * time.Second)       // it is killed anyway
		return nil, fmt.Errorf("up is not ready after %v", readyTimeout)
	}
	config, err := clientConfig(dir)
	if err != nil {
		return nil, err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	return &controlPlane{process: p, dir: dir, config: config, client: client}, nil
}

// clientConfig returns the configuration of clients of the control plane in a folder, which is killed and
// started again at the same port. Their connections are their own: client-go shares those of clients with
// the same certificates, and Go fails the first request of a connection to the killed process that had
// none before.
func clientConfig(dir string) (*rest.Config, error) {
	config, err := clientcmd.BuildConfigFromFlags("", filepath.Join(dir, "kubeconfig"))
	if err != nil {
		return nil, err
	}
	config.QPS = -1
	config.Timeout = waitTimeout
	config.Dial = (&net.Dialer{}).DialContext // makes client-go share nothing
	return config, nil
}

// readyOrReason waits until a start is ready or has ended with a reason in one line.
func (r *round) readyOrReason(p *process, dir string) (*controlPlane, error) {
	c, err := r.awaitReady(p, dir)
	if err != nil && p.ended() {
		return nil, p.oneLineReason()
	}
	return c, err
}

// kill9 kills the control plane and counts it.
func (r *round) kill9(p *process) {
	r.logf("kill -9 %d", p.Process.Pid)
	r.kills++
	p.kill()
}

// stop ends a control plane as Ctrl-C does.
func (c *controlPlane) stop() error {
	if err := c.Process.Signal(syscall.SIGINT); err != nil {
		return err
	}
	if err := c.awaitEnd(waitTimeout); err != nil {
		return err
	}
	if code := c.ProcessState.ExitCode(); code != 0 {
		return fmt.Errorf("up ended with %v after SIGINT: %s", c.ProcessState, lastLine(c.output.String()))
	}
	return nil
}

// verb runs a verb for the control plane in a folder and returns its output. Its error
// is not a loss by itself: the control plane may have been killed.
func (r *round) verb(dir string, args ...string) (string, error) {
	p, err := r.beginVerb(dir, args...)
	if err != nil {
		return "", err
	}
	if err := p.awaitEnd(waitTimeout); err != nil {
		return "", err
	}
	text := p.output.String()
	if !p.ProcessState.Success() {
		return text, fmt.Errorf("%s: %v: %s", strings.Join(args, " "), p.ProcessState, lastLine(text))
	}
	return text, nil
}

func (r *round) beginVerb(dir string, args ...string) (*process, error) {
	return r.start(r.command(r.ctrlplane, append([]string{"--data-dir", dir}, args...)...), "")
}

// awaitControllers waits until the controllers act: the default namespace has what each
// namespace gets.
func (r *round) awaitControllers(c *controlPlane) error {
	return r.await("service account of the default namespace", waitTimeout, func() error {
		_, err := c.client.CoreV1().ServiceAccounts("default").Get(r.ctx, "default", metav1.GetOptions{})
		return err
	})
}

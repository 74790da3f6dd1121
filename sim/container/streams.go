package container

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/cri-streaming/pkg/streaming/remotecommand"
	utilexec "k8s.io/utils/exec"

	"github.com/ctrlplane/ctrlplane/sim/shell"
)

// Streams are the streams of a client. Each may be nil.
type Streams struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	TTY            bool
	Sizes          <-chan remotecommand.TerminalSize // of the terminal
}

// ErrNoCommand means that a container has no command to attach to.
var ErrNoCommand = errors.New("no process is running")

// Exec runs a command in a running container until it ends or ctx is done. The error
// is a utilexec.CodeExitError if the command fails.
func (r *Runtime) Exec(ctx context.Context, of *corev1.Pod, name string, number int32, args []string, streams Streams) error {
	s := r.active()
	if s == nil {
		return errors.New("the simulated nodes are stopped")
	}
	c := containerOf(of, name)
	run, err := s.runForExec(of, c, number)
	if err != nil {
		return err
	}
	b, err := s.openBox(run, of, c)
	if err != nil {
		return err
	}
	config := b.config(args)
	size := newTerminalSize()
	config.TTY, config.TerminalSize = streams.TTY, size.get
	if streams.Stdin != nil {
		config.Stdin = streams.Stdin
	}
	if streams.Stdout != nil {
		config.Stdout = streams.Stdout
	}
	if streams.Stderr != nil {
		config.Stderr = streams.Stderr
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(run.ctx, cancel)() // the container takes its processes with it
	go size.receive(ctx, streams.Sizes)
	result, err := shell.Run(ctx, config)
	switch {
	case errors.Is(err, shell.ErrUnknownProgram):
		return fmt.Errorf("%w: container %s of pod %s is simulated and knows the programs of a shell only", err, name, of.Name)
	case err != nil:
		return err
	case result.ExitCode != 0:
		return utilexec.CodeExitError{Err: fmt.Errorf("command terminated with exit code %d", result.ExitCode), Code: result.ExitCode}
	}
	return nil
}

// runForExec returns the run of a container that is running. A container without a
// command has one from its first exec on.
func (s *session) runForExec(of *corev1.Pod, c *corev1.Container, number int32) (*run, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.find(of.UID, c.Name, number); r != nil {
		if r.state.Phase == Ended {
			return nil, fmt.Errorf("container %s of pod %s has ended", c.Name, of.Name)
		}
		return r, nil
	}
	r := &run{name: c.Name, number: number}
	r.ctx, r.cancel = context.WithCancel(s.ctx)
	s.add(of, r)
	s.begin(r, of, c)
	return r, nil
}

// Attach connects a client to the command of a container until the command ends or
// ctx is done.
func (r *Runtime) Attach(ctx context.Context, of *corev1.Pod, name string, number int32, streams Streams) error {
	s := r.active()
	if s == nil {
		return errors.New("the simulated nodes are stopped")
	}
	s.mu.Lock()
	run := s.find(of.UID, name, number)
	if run == nil || !run.state.Command {
		s.mu.Unlock()
		return ErrNoCommand
	}
	ended := run.ended()
	if run.stdio == nil {
		run.stdio = newStdio(false, false)
	}
	stdio := run.stdio
	s.mu.Unlock()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	client := newClient(streams, cancel)
	stdio.attach(client)
	go stdio.size.receive(ctx, streams.Sizes)
	if streams.Stdin != nil {
		go stdio.copyIn(streams.Stdin)
	}
	select {
	case <-ended:
	case <-ctx.Done():
	}
	stdio.detach(client)
	select {
	case <-client.written:
	case <-ctx.Done(): // it does not read: its connection ends with this call
	case <-s.ctx.Done():
	}
	return nil
}

// stdio connects clients to the command of a run.
type stdio struct {
	reader *io.PipeReader // nil if the container has no standard input
	writer *io.PipeWriter
	once   bool          // the end of the first client's input is the end of all input
	size   *terminalSize // nil if the command has no terminal

	mu      sync.Mutex
	clients []*client
}

func newStdio(open, once bool) *stdio {
	s := &stdio{once: once}
	if open {
		s.reader, s.writer = io.Pipe()
	}
	return s
}

func (s *stdio) stdin() io.Reader {
	if s.reader == nil {
		return nil
	}
	return s.reader
}

func (s *stdio) close() {
	if s.reader != nil {
		s.reader.Close()
	}
}

func (s *stdio) copyIn(from io.Reader) {
	if s.writer == nil {
		return
	}
	_, _ = io.Copy(s.writer, from) // fails when either end has gone
	if s.once {
		s.writer.Close()
	}
}

func (s *stdio) attach(c *client) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clients = append(s.clients, c)
}

// detach ends what a client gets; it still gets what was written before.
func (s *stdio) detach(c *client) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clients = slices.DeleteFunc(s.clients, func(other *client) bool { return other == c })
	close(c.ready)
}

// write passes output to the clients. It does not block: a client that does not take
// its output is detached.
func (s *stdio) write(p []byte, stderr bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.clients {
		c.add(p, stderr)
	}
}

// output returns a writer to the log of a run and to its clients.
func (r *run) output(stderr bool) io.Writer {
	return &outputWriter{log: r.log.writer(stderr), run: r, stderr: stderr}
}

type outputWriter struct {
	log    io.Writer
	run    *run
	stderr bool
}

// Write implements io.Writer.
func (w *outputWriter) Write(p []byte) (int, error) {
	if stdio := w.run.stdio; stdio != nil {
		stdio.write(p, w.stderr)
	}
	return w.log.Write(p)
}

package ctrlplanetest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/client-go/rest"

	"github.com/ctrlplane/ctrlplane/internal/childproc"
)

// stopTimeout bounds the stop of a control plane: the sum of the limits of its parts, which stop one after
// the other. A restore may take 5 s, the simulated nodes 5 s, the kubelets' connections 10 s, the controllers
// and the scheduler 10 s each, and the API server 18 s.
const stopTimeout = time.Minute

// errProcessEnded is wrapped by the error of a process that ended by itself.
var errProcessEnded = errors.New("process exited")

// process is a control plane in a child process. It stops when its stdin is closed,
// which the system does if this process ends in any way.
type process struct {
	cmd     *exec.Cmd
	stdin   io.Closer
	first   firstLine // of stdout
	stderr  tailBuffer
	closing atomic.Bool
	close   func() error
	done    chan struct{} // closed when the process has ended
	err     error         // of Wait; final when done is closed
	config  *rest.Config
	dataDir string
}

func startProcess(path string, flags []string) (*process, error) {
	return launch(exec.Command(path, append([]string{childproc.Verb}, flags...)...))
}

func launch(cmd *exec.Cmd) (*process, error) {
	p := &process{
		cmd:   cmd,
		first: firstLine{line: make(chan []byte, 1)},
		done:  make(chan struct{}),
	}
	p.close = sync.OnceValue(p.stop)
	p.cmd.Stdout, p.cmd.Stderr = &p.first, &p.stderr
	// A grandchild may hold stdout and stderr open: Wait does not wait for it.
	p.cmd.WaitDelay = time.Second
	var err error
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("run %s: %w", cmd.Path, err)
	}
	go func() {
		p.err = p.cmd.Wait()
		if errors.Is(p.err, exec.ErrWaitDelay) { // it has exited with code 0
			p.err = nil
		}
		close(p.done)
	}()
	return p, nil
}

func (p *process) RESTConfig() *rest.Config { return rest.CopyConfig(p.config) }

func (p *process) DataDir() string { return p.dataDir }

func (p *process) Done() <-chan struct{} { return p.done }

// Err returns why the process ended by itself; nil while it runs and after Close.
func (p *process) Err() error {
	select {
	case <-p.done:
		if !p.closing.Load() {
			return p.exitError("has ended")
		}
	default:
	}
	return nil
}

// exitError returns the exit status of the process and the last line that it printed.
func (p *process) exitError(what string) error {
	state := "exit code 0"
	if p.err != nil {
		state = p.err.Error()
	}
	if said := p.stderr.lastLine(); said != "" {
		state += ": " + said
	}
	return fmt.Errorf("%s %s: %w: %s", p.cmd.Path, what, errProcessEnded, state)
}

func (p *process) Close() error { return p.close() }

func (p *process) stop() error {
	select {
	case <-p.done:
		return p.Err()
	default:
	}
	p.closing.Store(true)
	_ = p.stdin.Close() // fails if the process has closed its end
	timer := time.NewTimer(stopTimeout)
	defer timer.Stop()
	select {
	case <-p.done:
	case <-timer.C:
		_ = p.cmd.Process.Kill() // fails if it has just ended
		<-p.done
		return fmt.Errorf("%s did not stop within %v and was killed", p.cmd.Path, stopTimeout)
	}
	if p.err != nil {
		return p.exitError("did not stop cleanly")
	}
	return nil
}

// firstLine sends the first line that is written to it and drops the rest.
type firstLine struct {
	buf  []byte
	sent bool
	line chan []byte // buffered
}

func (f *firstLine) Write(data []byte) (int, error) {
	if f.sent {
		return len(data), nil
	}
	f.buf = append(f.buf, data...)
	if i := bytes.IndexByte(f.buf, '\n'); i >= 0 {
		f.sent = true
		f.line <- f.buf[:i]
	}
	return len(data), nil
}

// tailBuffer keeps the end of what is written to it.
type tailBuffer struct {
	mu  sync.Mutex
	buf []byte
}

const tailBytes = 8 << 10

func (t *tailBuffer) Write(data []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, data...)
	if over := len(t.buf) - tailBytes; over > 0 {
		t.buf = append([]byte(nil), t.buf[over:]...)
	}
	return len(data), nil
}

// lastLine returns the last line.
func (t *tailBuffer) lastLine() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	lines := strings.Split(strings.TrimSpace(string(t.buf)), "\n")
	return lines[len(lines)-1]
}

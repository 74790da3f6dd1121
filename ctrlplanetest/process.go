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

// stopTimeout is how long a control plane may take to stop.
const stopTimeout = 20 * time.Second

// errProcessEnded is wrapped by the error that a process has ended by itself.
var errProcessEnded = errors.New("it has ended")

// process is a control plane as a child of this process. It stops when its stdin
// ends, and that it does, whatever becomes of us.
type process struct {
	cmd     *exec.Cmd
	stdin   io.Closer
	first   firstLine // of stdout
	stderr  tailBuffer
	closing atomic.Bool
	close   func() error
	done    chan struct{} // closed when it has ended
	err     error         // of its end; final when done is closed
	config  *rest.Config
	dataDir string
}

func startProcess(path string, flags []string) (*process, error) {
	p := &process{
		cmd:   exec.Command(path, append([]string{childproc.Verb}, flags...)...),
		first: firstLine{line: make(chan []byte, 1)},
		done:  make(chan struct{}),
	}
	p.close = sync.OnceValue(p.stop)
	p.cmd.Stdout, p.cmd.Stderr = &p.first, &p.stderr
	// If it leaves a process behind that holds these two, they are not waited for.
	p.cmd.WaitDelay = time.Second
	var err error
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("%s cannot be run: %w", path, err)
	}
	go func() {
		p.err = p.cmd.Wait()
		close(p.done)
	}()
	return p, nil
}

func (p *process) RESTConfig() *rest.Config { return rest.CopyConfig(p.config) }

func (p *process) DataDir() string { return p.dataDir }

func (p *process) Done() <-chan struct{} { return p.done }

// Err says why the process ended by itself; nil while it runs and after Close.
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

// exitError is how the process ended, and the last thing that it said.
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
	_ = p.stdin.Close() // it fails where nobody reads any more
	timer := time.NewTimer(stopTimeout)
	defer timer.Stop()
	select {
	case <-p.done:
	case <-timer.C:
		_ = p.cmd.Process.Kill() // it may have ended just now
		<-p.done
		return fmt.Errorf("%s did not stop within %v and was killed", p.cmd.Path, stopTimeout)
	}
	if p.err != nil {
		return p.exitError("did not stop cleanly")
	}
	return nil
}

// firstLine passes on the first line that is written to it, and drops the rest.
type firstLine struct {
	buf  []byte
	sent bool
	line chan []byte // of one element
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

// lastLine is the last line.
func (t *tailBuffer) lastLine() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	lines := strings.Split(strings.TrimSpace(string(t.buf)), "\n")
	return lines[len(lines)-1]
}

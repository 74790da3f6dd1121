//go:build unix

package devloop

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// gateScript is what "go run -exec" runs with the compiled program as its arguments: it
// reports that the program is compiled, and waits for the permission to run it.
const gateScript = `echo >"$0.ready"
read -r _ <"$0.open" || exit
exec "$@"
`

// compiled is what the script writes; Close writes another byte, to end the read.
const compiled = '\n'

// Gate holds the program of a command "go run" once it is compiled.
type Gate struct {
	dir         string
	ready, pass *os.File // named pipes
	reading     chan struct{}
	readErr     error // why ready cannot be read
}

// NewGate makes a gate with its files in a folder of its own below dir; it closes ready
// when the program has come to it, or when Open would fail.
func NewGate(dir string, ready chan struct{}) (*Gate, error) {
	dir, err := os.MkdirTemp(dir, "gate-")
	if err != nil {
		return nil, gateError(err)
	}
	g := &Gate{dir: dir, reading: make(chan struct{})}
	if err := g.makeFiles(); err != nil {
		close(g.reading)
		return nil, gateError(errors.Join(err, g.Close()))
	}
	go g.awaitProgram(ready)
	return g, nil
}

func (g *Gate) awaitProgram(ready chan struct{}) {
	defer close(g.reading)
	var b [1]byte
	if _, g.readErr = g.ready.Read(b[:]); g.readErr != nil || b[0] == compiled {
		close(ready)
	}
}

func gateError(err error) error { return fmt.Errorf("cannot hold the compiled program: %w", err) }

func (g *Gate) makeFiles() (err error) {
	if err := os.WriteFile(g.script(), []byte(gateScript), 0o600); err != nil {
		return err
	}
	if g.ready, err = makePipe(g.script() + ".ready"); err != nil {
		return err
	}
	g.pass, err = makePipe(g.script() + ".open")
	return err
}

// makePipe makes a named pipe. It is open for both directions, so that neither end waits
// for the other one to open it. On macOS reads block a thread, and Close does not end them.
func makePipe(path string) (*os.File, error) {
	if err := unix.Mkfifo(path, 0o600); err != nil {
		return nil, err
	}
	return os.OpenFile(path, os.O_RDWR, 0)
}

func (g *Gate) script() string { return filepath.Join(g.dir, "gate") }

// ExecFlag is the value of the flag -exec, which the go command splits at spaces outside
// of quotes.
func (g *Gate) ExecFlag() string {
	quote := `"`
	if strings.Contains(g.dir, quote) {
		quote = "'"
	}
	return "/bin/sh " + quote + g.script() + quote
}

// Open lets the program run. It is called after ready is closed.
func (g *Gate) Open() error {
	if g.readErr != nil {
		return gateError(g.readErr)
	}
	_, err := g.pass.WriteString("\n")
	return err
}

// Close removes the files. A program that is held ends with an error: the pipe is removed
// before it is closed, since a shell that opened it after that would wait for a writer.
func (g *Gate) Close() error {
	errs := []error{os.RemoveAll(g.dir)}
	if g.ready != nil {
		_, err := g.ready.WriteString("x")
		errs = append(errs, err)
	}
	<-g.reading
	for _, f := range []*os.File{g.ready, g.pass} {
		if f != nil {
			errs = append(errs, f.Close())
		}
	}
	return errors.Join(errs...)
}

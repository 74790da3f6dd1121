//go:build unix

package main

import (
	"bufio"
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
read -r _ <"$0.open"
exec "$@"
`

// runGate holds the program of a command "go run" once it is compiled.
type runGate struct {
	dir         string
	ready, pass *os.File // named pipes
	reading     chan struct{}
}

// newRunGate makes a gate with its files in a folder of its own below dir; it closes ready
// when the program has come to it.
func newRunGate(dir string, ready chan struct{}) (*runGate, error) {
	dir, err := os.MkdirTemp(dir, "gate-")
	if err != nil {
		return nil, gateError(err)
	}
	g := &runGate{dir: dir, reading: make(chan struct{})}
	if err := g.makeFiles(); err != nil {
		close(g.reading)
		return nil, gateError(errors.Join(err, g.close()))
	}
	go func() {
		defer close(g.reading)
		if _, err := bufio.NewReader(g.ready).ReadByte(); err == nil {
			close(ready)
		}
	}()
	return g, nil
}

func gateError(err error) error { return fmt.Errorf("cannot hold the compiled program: %w", err) }

func (g *runGate) makeFiles() (err error) {
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
// for the other one to open it.
func makePipe(path string) (*os.File, error) {
	if err := unix.Mkfifo(path, 0o600); err != nil {
		return nil, err
	}
	return os.OpenFile(path, os.O_RDWR|unix.O_NONBLOCK, 0)
}

func (g *runGate) script() string { return filepath.Join(g.dir, "gate") }

// execFlag is the value of the flag -exec, which the go command splits at spaces outside
// of quotes.
func (g *runGate) execFlag() string {
	quote := `"`
	if strings.Contains(g.dir, quote) {
		quote = "'"
	}
	return "/bin/sh " + quote + g.script() + quote
}

// open lets the program run.
func (g *runGate) open() error {
	_, err := g.pass.WriteString("\n")
	return err
}

// close removes the files.
func (g *runGate) close() error {
	var errs []error
	for _, f := range []*os.File{g.ready, g.pass} {
		if f != nil {
			errs = append(errs, f.Close())
		}
	}
	<-g.reading
	return errors.Join(append(errs, os.RemoveAll(g.dir))...)
}

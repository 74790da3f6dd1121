package main

import (
	"errors"
	"io"
	"os"
	"sync/atomic"
	"time"
)

// leftoverOutputDelay is how long the output of processes is read that outlive a run.
const leftoverOutputDelay = 2 * time.Second

// errOutputLost says that a signal has ended the wait for an output that accepts nothing.
var errOutputLost = errors.New("interrupted while its output was not read: the end of what the command printed is missing")

// passedOutput passes on what a command writes. It is not done by exec.Cmd, whose Wait
// has no limit for an output that accepts nothing, such as a pipe that is not read.
type passedOutput struct {
	to          io.Writer
	read, write *os.File

	writing atomic.Bool
	ended   chan struct{}
	err     error // of writing; final once ended is closed
}

// passOn has the command write to pipes, from where its output is passed on.
func (c *commandProcess) passOn(stdout, stderr io.Writer) {
	c.cmd.Stdout, c.cmd.Stderr = stdout, stderr
	c.passesOn = true
}

// openOutputs creates the pipes; one if both outputs are the same, so that it keeps the order.
func (c *commandProcess) openOutputs() ([]*passedOutput, error) {
	if !c.passesOn {
		return nil, nil
	}
	same := c.cmd.Stdout == c.cmd.Stderr
	stdout, err := newPassedOutput(c.cmd.Stdout)
	if err != nil {
		return nil, err
	}
	outputs := []*passedOutput{stdout}
	if !same {
		stderr, err := newPassedOutput(c.cmd.Stderr)
		if err != nil {
			return nil, errors.Join(err, stdout.read.Close(), stdout.write.Close())
		}
		outputs = append(outputs, stderr)
	}
	c.cmd.Stdout, c.cmd.Stderr = stdout.write, outputs[len(outputs)-1].write
	return outputs, nil
}

func newPassedOutput(to io.Writer) (*passedOutput, error) {
	read, write, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	return &passedOutput{to: to, read: read, write: write, ended: make(chan struct{})}, nil
}

// begin passes on what is written, until its end or a write error. If the command was not
// started, there is nothing.
func (o *passedOutput) begin() {
	_ = o.write.Close() // the command has it
	go func() {
		defer close(o.ended)
		_, err := io.Copy(o, o.read)
		o.flush()
		_ = o.read.Close() // nothing was written to it; the command receives SIGPIPE, as without a pipe
		if !errors.Is(err, os.ErrClosed) {
			o.err = err
		}
	}()
}

// flush writes what a linePrefixer has of a line without an end.
func (o *passedOutput) flush() {
	if p, ok := o.to.(*linePrefixer); ok {
		o.writing.Store(true)
		defer o.writing.Store(false)
		p.flush()
	}
}

func (o *passedOutput) Write(data []byte) (int, error) {
	o.writing.Store(true)
	defer o.writing.Store(false)
	return o.to.Write(data)
}

// awaitOutputs returns when what a command that has exited has written is passed on. It waits
// for an output that accepts nothing until the run is to end, but not for processes that outlive
// the command. The error is the first write error, or errOutputLost.
func (c *commandProcess) awaitOutputs(outputs []*passedOutput) (err error) {
	late := time.NewTicker(leftoverOutputDelay)
	defer late.Stop()
	for _, o := range outputs {
		for open := true; open; {
			select {
			case <-o.ended:
				open = false
				if err == nil {
					err = o.err
				}
			case <-c.unread:
				return errOutputLost
			case <-late.C:
				switch {
				case !o.writing.Load():
					_ = o.read.Close() // ends begin's goroutine
				case c.ending.Load():
					return errOutputLost
				}
			}
		}
	}
	return err
}

// interrupt forwards a signal to the command. Once that has exited, the signal ends the wait for
// its output.
func (c *commandProcess) interrupt(sig os.Signal) {
	c.ending.Store(true)
	if c.running.Load() {
		c.forwardSignal(sig)
		return
	}
	c.skipOutput.Do(func() { close(c.unread) })
}

package main

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/ctrlplane/ctrlplane"
	"github.com/ctrlplane/ctrlplane/internal/devloop"
	"github.com/ctrlplane/ctrlplane/ui/report"
)

const groupPollInterval = 20 * time.Millisecond // of a group that is about to end

// devProgram is the operator.
type devProgram struct {
	args    []string
	server  *ctrlplane.Server
	account *serviceAccountFlag
	output  *devOutput
	grace   time.Duration   // from SIGTERM to SIGKILL
	killNow <-chan struct{} // closed when the user does not want to wait for its end

	mu   sync.Mutex
	last *devProcess
}

// start starts a run: it compiles the program of a command "go run", and holds it then;
// other commands start when the run begins.
func (p *devProgram) start() (devloop.Process, error) {
	p.output.flush()
	c, err := p.newProcess(p.args)
	if err != nil {
		return nil, err
	}
	at := devloop.ExecFlagIndex(p.args)
	var gate *devloop.Gate
	if at >= 0 {
		gate, err = devloop.NewGate(p.server.DataDir(), c.ready)
	}
	if err != nil {
		return nil, err
	}
	if gate == nil { // it needs no build, or the platform has no gates
		close(c.ready)
		return c, nil
	}
	c.gate = gate
	c.command.cmd.Args = slices.Insert(slices.Clone(p.args), at, "-exec="+gate.ExecFlag())
	if err := c.startCommand(); err != nil {
		return nil, errors.Join(err, gate.Close())
	}
	return c, nil
}

// newProcess returns a process that is not started, with a group of its own, so that all
// of it can be stopped. Ctrl-C reaches only ctrlplane, which stops it then.
func (p *devProgram) newProcess(args []string) (*devProcess, error) {
	command, err := newCommandProcess(args)
	if err != nil {
		return nil, err
	}
	command.ownGroup = true
	command.cmd.Stdin = nil
	command.passOn(p.output.operator, p.output.operator)
	c := &devProcess{program: p, command: command, ready: make(chan struct{}), tail: p.output.newRun()}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last = c
	return c, nil
}

// killLast kills the operator at once.
func (p *devProgram) killLast() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.last != nil {
		p.last.command.killGroup()
	}
}

// devProcess is a run of the operator.
type devProcess struct {
	program *devProgram
	command *commandProcess
	gate    *devloop.Gate // holds the operator before it begins; nil = it is not started
	ready   chan struct{}
	tail    func() []string // its last lines
	begun   bool
	stop    sync.Once
}

// Ready implements devloop.Process.
func (c *devProcess) Ready() <-chan struct{} { return c.ready }

// Begin implements devloop.Process.
func (c *devProcess) Begin() error {
	if c.gate == nil {
		if err := c.startCommand(); err != nil {
			return err // Stop must not wait for what has not started
		}
		c.begun = true
		return nil
	}
	c.begun = true
	return c.gate.Open()
}

func (c *devProcess) startCommand() error {
	s := c.program.server
	return c.command.start(c.program.account.kubeconfigPath(s.DataDir()), s.URL())
}

// Exited implements devloop.Process.
func (c *devProcess) Exited() <-chan struct{} { return c.command.exited }

// Outcome says how the operator has ended.
func (c *devProcess) Outcome() string {
	c.program.output.flush()
	code, err := c.command.exitCode()
	switch {
	case err != nil:
		return err.Error()
	case !c.begun:
		return describeFailure("the build failed", c.tail())
	case code == 0:
		return describeExit(code)
	}
	return describeEnd(code, c.tail())
}

// describeEnd says how the operator has failed, and why if its output may say that: a process that another one ends says nothing of it.
func describeEnd(code int, output []string) string {
	switch syscall.Signal(report.ExitSignal(code)) {
	case syscall.SIGKILL, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP:
		return describeExit(code)
	}
	return describeFailure(describeExit(code), output)
}

func describeExit(code int) string {
	if signal := report.ExitSignal(code); signal > 0 {
		return fmt.Sprintf("the operator was ended by signal %d", signal)
	}
	return fmt.Sprintf("the operator exited with code %d", code)
}

// describeFailure adds what the output says about the cause.
func describeFailure(what string, output []string) string {
	if why := devloop.TellingLine(output); why != "" {
		return what + ": " + why
	}
	return what
}

// Stop ends all processes of the group, by force if they take too long.
func (c *devProcess) Stop() { c.stop.Do(c.stopGroup) }

// killedText says what was killed. A command that has ended may have left what it had started, or be "go run", which has
// left the operator.
func (c *devProcess) killedText() string {
	if c.command.running.Load() {
		return fmt.Sprintf("the operator was killed: it had not ended %v after it was asked to", c.program.grace)
	}
	return fmt.Sprintf("processes that the operator's command has started were killed: they had not ended %v after they were asked to", c.program.grace)
}

func (c *devProcess) stopGroup() {
	asked := map[int]bool{}
	tick := time.NewTicker(groupPollInterval)
	defer tick.Stop()
	killNow, grace := c.program.killNow, time.After(c.program.grace)
	for c.command.groupRuns() {
		c.command.terminateGroup(asked)
		select {
		case <-tick.C:
			continue
		case <-killNow:
			killNow = nil
		case <-grace:
			c.program.output.warn(c.killedText())
		}
		c.command.killGroup()
	}
	if c.gate != nil || c.begun {
		<-c.command.exited
		c.command.system.release()
	}
	if c.gate != nil {
		_ = c.gate.Close() // the data folder of an ephemeral control plane is removed anyway
	}
}

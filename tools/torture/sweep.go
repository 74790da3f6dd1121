//go:build linux

package main

import (
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// sweep kills an operation at its first, second, … system call of each kind.
type sweep struct {
	mu   sync.Mutex
	next int // index in sweptCalls
	nth  int
	over []int // for each call, its first number that an operation did not reach; 0 = not known
	runs int   // through all calls
}

// sweptCalls are the system calls after which a store differs on disk.
var sweptCalls = []string{"rename,renameat,renameat2", "fsync", "fdatasync", "pwrite64", "ftruncate"}

// point is one system call at which to kill.
type point struct {
	call int
	nth  int
}

// take returns the next point. After the last one the sweep begins again.
func (s *sweep) take() point {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over == nil {
		s.over = make([]int, len(sweptCalls))
	}
	s.nth++
	if s.over[s.next] > 0 && s.nth >= s.over[s.next] {
		s.next, s.nth = (s.next+1)%len(sweptCalls), 1
		s.over[s.next] = 0
		if s.next == 0 {
			s.runs++
		}
	}
	return point{s.next, s.nth}
}

// progress says how many times the sweep went through all calls, and where it is.
func (s *sweep) progress() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return fmt.Sprintf("%d times through all calls, then up to call %d of %s", s.runs, s.nth, sweptCalls[s.next])
}

// reached notes whether an operation came to its end before the point.
func (s *sweep) reached(p point, reached bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !reached && (s.over[p.call] == 0 || p.nth < s.over[p.call]) {
		s.over[p.call] = p.nth
	}
}

// sweepKind returns a kind whose rounds kill at one system call each.
func sweepKind(name string, do func(r *round, at point) (reached bool, err error)) kind {
	return kind{name, 2, missingStrace, func() trial {
		var s sweep
		return trial{progress: s.progress, do: func(r *round) error {
			at := s.take()
			r.logf("kill at call %d of %s", at.nth, sweptCalls[at.call])
			reached, err := do(r, at)
			s.reached(at, reached)
			if err != nil {
				return fmt.Errorf("killed at call %d of %s: %w", at.nth, sweptCalls[at.call], err)
			}
			return nil
		}}
	}}
}

func missingStrace(options) string {
	if err := exec.Command("strace", "-qq", "-o", "/dev/null", "-e", "trace=fsync", "true").Run(); err != nil {
		return fmt.Sprintf("strace: %v", err)
	}
	return ""
}

// straceArgs make strace kill a process at a system call.
func (at point) straceArgs() []string {
	calls := sweptCalls[at.call]
	return []string{"-f", "-o", "/dev/null", "-e", "trace=" + calls, "-e", "inject=" + calls + ":signal=KILL:when=" + strconv.Itoa(at.nth)}
}

// killAt runs the program with arguments and kills it at a system call. If it does not
// come to that, it is left running: a control plane is ready then, and a verb has ended.
func (r *round) killAt(at point, args ...string) (p *process, killed bool, err error) {
	p, err = r.start(r.command("strace", slices.Concat(at.straceArgs(), []string{"-qq", r.ctrlplane}, args)...), readyText)
	if err != nil {
		return nil, false, err
	}
	select {
	case <-p.output.found:
		return p, false, nil
	case <-p.done:
	case <-r.ctx.Done():
		return nil, false, errors.New("neither killed nor ready")
	}
	if killed = p.killed() || hasStraceLost(p.output.String()); killed {
		r.kills++
	}
	return p, killed, nil
}

// hasStraceLost reports whether strace itself has ended because the process was gone: that died by the signal of one call
// while strace resumed another thread of it, which fails then.
func hasStraceLost(output string) bool {
	return strings.HasPrefix(lastLine(output), "strace: ptrace(")
}

// killStartAt kills a start at a system call; a start that does not come to it is killed
// when it is ready.
func (r *round) killStartAt(at point, dir string, args ...string) (reached bool, err error) {
	p, reached, err := r.killAt(at, upArgs(dir, bare(args...)...)...)
	if err != nil {
		return false, err
	}
	if !reached {
		if p.ended() {
			return false, fmt.Errorf("up ended with %v: %s", p.ProcessState, lastLine(p.output.String()))
		}
		r.kill9(p)
	}
	return reached, nil
}

// killVerbAt kills a verb at a system call; one that does not come to it must succeed.
func (r *round) killVerbAt(at point, dir string, verb ...string) (reached bool, err error) {
	p, reached, err := r.killAt(at, append([]string{"--data-dir", dir}, verb...)...)
	if err == nil && !reached && !p.ProcessState.Success() {
		err = fmt.Errorf("%s: %v: %s", strings.Join(verb, " "), p.ProcessState, lastLine(p.output.String()))
	}
	return reached, err
}

func sweepFirstStart(r *round, at point) (bool, error) {
	dir := r.join("data")
	reached, err := r.killStartAt(at, dir)
	if err != nil {
		return reached, err
	}
	return reached, r.checkUsable(dir)
}

func sweepSecondStart(r *round, at point) (bool, error) {
	dir, l := r.join("data"), r.newLedger(2)
	c, err := r.up(dir, bare()...)
	if err != nil {
		return true, err
	}
	stop := l.writeUntilRefused(r.ctx, c.client)
	r.pause(startTime / 10)
	r.kill9(c.process)
	stop()
	reached, err := r.killStartAt(at, dir)
	if err != nil {
		return reached, err
	}
	return reached, r.upAndCheck(dir, l)
}

func sweepFrom(r *round, at point) (bool, error) {
	saved, err := r.saveBase()
	if err != nil {
		return true, err
	}
	dir := r.join("data")
	reached, err := r.killStartAt(at, dir, "--from", "base")
	if err != nil {
		return reached, err
	}
	return reached, r.checkFrom(dir, saved)
}

// sweepRestore kills a restore into a control plane that is stopped.
func sweepRestore(r *round, at point) (bool, error) {
	c, saved, err := r.upWithBase()
	if err != nil {
		return true, err
	}
	before, err := r.change(c.client, objects)
	if err != nil {
		return true, err
	}
	if err := c.stop(); err != nil {
		return true, err
	}
	reached, err := r.killVerbAt(at, c.dir, "snapshot", "restore", "base")
	if err != nil {
		return reached, err
	}
	if c, err = r.up(c.dir, bare()...); err != nil {
		return reached, err
	}
	if err := r.checkOneOf(c, before, saved, !reached); err != nil {
		return reached, err
	}
	return reached, c.stop()
}

// sweepSave kills the client that saves a snapshot, which writes its file.
func sweepSave(r *round, at point) (bool, error) {
	c, err := r.up(r.join("data"), bare()...)
	if err != nil {
		return true, err
	}
	saved, err := r.change(c.client, objects)
	if err != nil {
		return true, err
	}
	reached, err := r.killVerbAt(at, c.dir, "snapshot", "save", "swept")
	if err != nil {
		return reached, err
	}
	if err := r.checkSaved(c, "swept", saved, !reached); err != nil {
		return reached, err
	}
	return reached, c.stop()
}

// sweepReset kills a control plane at a system call of a reset.
func sweepReset(r *round, at point) (bool, error) {
	c, err := r.upWithObjects()
	if err != nil {
		return true, err
	}
	base, err := readState(r.ctx, c.client)
	if err != nil {
		return true, err
	}
	before, err := r.change(c.client, objects)
	if err != nil {
		return true, err
	}
	tracer, err := r.attach(at, c.process)
	if err != nil {
		return true, err
	}
	_, verbErr := r.verb(c.dir, "reset")
	reached := verbErr != nil
	if reached {
		if err := c.awaitEnd(waitTimeout); err != nil {
			return reached, fmt.Errorf("%w: %w", verbErr, err)
		}
		r.kills++
	} else {
		r.kill9(c.process)
	}
	if err := tracer.awaitEnd(waitTimeout); err != nil {
		return reached, err
	}
	if c, err = r.up(c.dir, bare()...); err != nil {
		return reached, err
	}
	if err := r.checkOneOf(c, before, base, !reached); err != nil {
		return reached, err
	}
	return reached, c.stop()
}

// attach makes strace kill a process that runs at a system call from now on.
func (r *round) attach(at point, p *process) (tracer *process, err error) {
	tracer, err = r.start(r.command("strace", append(at.straceArgs(), "-p", strconv.Itoa(p.Process.Pid))...), " attached")
	if err != nil {
		return nil, err
	}
	select {
	case <-tracer.output.found:
		return tracer, nil
	case <-tracer.done:
		return nil, fmt.Errorf("strace: %s", lastLine(tracer.output.String()))
	case <-time.After(waitTimeout):
		return nil, errors.New("strace has not attached")
	}
}

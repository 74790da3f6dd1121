package shell

import (
	"context"
	"slices"
	"sync"
	"syscall"

	"mvdan.cc/sh/v3/syntax"
)

// job is a background job.
type job struct {
	p      *proc
	pid    int
	done   chan struct{}
	status int // once done is closed
	waited bool
}

func (j *job) running() bool {
	select {
	case <-j.done:
		return false
	default:
		return true
	}
}

// background starts a statement in the background.
func (sh *shell) background(st *syntax.Stmt) {
	p, err := sh.p.m.newProc(sh.p.m.ctx, sh.p, sh.p.args)
	if err != nil {
		sh.forkFailed(err)
	}
	copied := *st
	copied.Background = false
	p.isJob = true
	c := sh.fork(p)
	c.traps = nil
	c.last = isSimple(st)
	p.fds = sh.p.fds.dup()
	if !sh.interactive {
		p.fds.set(p.m, 0, p.m.newFile(device("null")))
	}
	j := &job{p: p, pid: p.pid, done: make(chan struct{})}
	// Jobs that have ended are forgotten once there are many: the script has stopped
	// waiting for them.
	if len(sh.jobs) >= 2*sh.p.m.lim.Processes {
		var running []*job // a subshell may have the old list
		for _, old := range sh.jobs {
			if old.running() {
				running = append(running, old)
			}
		}
		sh.jobs = running
	}
	sh.jobs = append(sh.jobs, j)
	if sh.jobEnded == nil {
		sh.jobEnded = make(chan struct{}, 1)
	}
	ended := sh.jobEnded
	sh.lastJob, sh.status = p.pid, 0
	if sh.interactive {
		sh.p.errorf("[%d] %d", len(sh.jobs), p.pid)
	}
	p.m.wg.Go(func() {
		defer func() {
			close(j.done)
			select {
			case ended <- struct{}{}:
			default:
			}
		}()
		j.status = p.finish(func() int {
			defer c.drop()
			return c.run([]*syntax.Stmt{&copied})
		})
	})
}

// isSimple reports whether a statement is a simple command.
func isSimple(st *syntax.Stmt) bool {
	_, ok := st.Cmd.(*syntax.CallExpr)
	return ok
}

// forkFailed ends the shell, as shells do when they cannot fork.
func (sh *shell) forkFailed(err error) {
	failExpansion("can't fork: %s", errText(err))
}

// pipeline runs the elements of a pipeline at the same time.
func (sh *shell) pipeline(cmd *syntax.BinaryCmd) {
	elems := []*syntax.Stmt{cmd.Y}
	withStderr := []bool{cmd.Op == syntax.PipeAll}
	x := cmd.X
	for {
		inner, ok := x.Cmd.(*syntax.BinaryCmd)
		if !ok || inner.Op != syntax.Pipe && inner.Op != syntax.PipeAll || len(x.Redirs) > 0 || x.Negated {
			break
		}
		elems = append(elems, inner.Y)
		withStderr = append(withStderr, inner.Op == syntax.PipeAll)
		x = inner.X
	}
	elems = append(elems, x)
	n := len(elems)
	statuses := make([]int, n)
	sh.runPipeline(elems, withStderr, statuses)
	sh.status = statuses[0]
	sh.pipeStatus = slices.Clone(statuses)
	slices.Reverse(sh.pipeStatus)
	if sh.opt.pipefail {
		for _, status := range statuses {
			if status != 0 {
				sh.status = status
				break
			}
		}
	}
}

// runPipeline runs elements, the last first in the list.
func (sh *shell) runPipeline(elems []*syntax.Stmt, withStderr []bool, statuses []int) {
	m := sh.p.m
	ctx, cancel := context.WithCancelCause(sh.p.ctx)
	defer cancel(nil)
	var wg sync.WaitGroup
	var in *ofile
	failFork := func(err error) {
		in.release(m)
		cancel(killed(syscall.SIGTERM))
		sh.p.idle(wg.Wait)
		sh.forkFailed(err)
	}
	for i := len(elems) - 1; i > 0; i-- {
		err := m.mayOpen(2)
		var p *proc
		if err == nil {
			p, err = m.newProc(ctx, sh.p, sh.p.args)
		}
		if err != nil {
			failFork(err)
		}
		pp := newPipe(m)
		p.fds = sh.p.fds.dup()
		if in != nil {
			p.fds.set(m, 0, in)
		}
		in = m.newFile(pipeReader{pp})
		p.fds.set(m, 1, m.newFile(pipeWriter{pp}))
		if withStderr[i-1] {
			p.fds.set(m, 2, p.fds[1].dup())
		}
		c, st := sh.fork(p), elems[i]
		c.last = isSimple(st)
		wg.Add(1)
		m.wg.Go(func() {
			defer wg.Done()
			statuses[i] = p.finish(func() int {
				defer c.drop()
				return c.run([]*syntax.Stmt{st})
			})
		})
	}
	p, err := m.newProc(ctx, sh.p, sh.p.args)
	if err != nil {
		failFork(err)
	}
	p.fds = sh.p.fds.dup()
	p.fds.set(m, 0, in)
	p.level = sh.p.level
	c := sh.fork(p)
	c.last = isSimple(elems[0])
	statuses[0] = p.finish(func() int {
		defer c.drop()
		return c.run([]*syntax.Stmt{elems[0]})
	})
	sh.p.since = p.since
	sh.p.idle(wg.Wait)
}

// await waits for a job. It returns early when a signal with a trap arrives.
func (sh *shell) await(j *job) (status int, interrupted bool) {
	return sh.awaitFirst([]*job{j})
}

// awaitFirst waits for the job that ends first and marks it as waited for.
func (sh *shell) awaitFirst(jobs []*job) (status int, interrupted bool) {
	for {
		if sh.hasPendingTrap() {
			return sh.pendingStatus(), true
		}
		for _, j := range jobs {
			if !j.running() {
				j.waited = true
				return j.status, false
			}
		}
		sh.p.noteAwaitedJob()
		sh.p.idle(func() {
			select {
			case <-sh.jobEnded:
			case <-sh.p.ctx.Done():
			case <-sh.p.wake:
			}
		})
	}
}

// pendingStatus is what wait returns when a signal interrupts it.
func (sh *shell) pendingStatus() int {
	sh.p.mu.Lock()
	defer sh.p.mu.Unlock()
	for n := range signalNames {
		if sh.p.pending&(1<<n) != 0 {
			return 128 + n
		}
	}
	return 0
}

// hasPendingTrap reports whether a signal waits for its trap to run.
func (sh *shell) hasPendingTrap() bool {
	sh.p.mu.Lock()
	defer sh.p.mu.Unlock()
	return sh.p.pending != 0
}

// runTraps runs the traps of signals that arrived.
func (sh *shell) runTraps() flow {
	if sh.inTrap || len(sh.traps) == 0 || !sh.hasPendingTrap() {
		return next
	}
	for n, name := range signalNames {
		trap, ok := sh.traps[name]
		if !ok || n == 0 {
			continue
		}
		sh.p.mu.Lock()
		pending := sh.p.pending&(1<<n) != 0
		sh.p.pending &^= 1 << n
		sh.p.mu.Unlock()
		if !pending {
			continue
		}
		if f := sh.runTrap(trap); f != next {
			return f
		}
	}
	return next
}

// runTrap runs the commands of a trap; the exit status stays as it was unless
// they exit.
func (sh *shell) runTrap(trap string) flow {
	status, tested, outer := sh.status, sh.tested, sh.trapStatus
	sh.inTrap, sh.trapStatus = true, &status
	f := sh.eval(trap)
	sh.inTrap, sh.tested, sh.trapStatus = false, tested, outer
	if f != exitShell {
		sh.status = status
	}
	return f
}

// exitTrap runs the EXIT trap once.
func (sh *shell) exitTrap() {
	trap := sh.traps["EXIT"]
	if trap == "" {
		return
	}
	delete(sh.traps, "EXIT")
	status := sh.status
	sh.trapStatus = &status
	f := sh.protect(func() flow { return sh.eval(trap) })
	if f != exitShell {
		sh.status = status
	}
}

//go:build linux

package main

import (
	"fmt"
	"os/exec"
	"time"
)

// limitDescriptors starts and loads a control plane that may open few files.
func limitDescriptors(r *round) error {
	limit := 8 + r.rand.IntN(200)
	return r.underLimit(fmt.Sprintf("-n %d", limit), true)
}

// limitMemory starts and loads a control plane that has little address space. Go ends a
// program that gets no memory with a stack, which is not ours to change.
func limitMemory(r *round) error {
	if r.rand.IntN(2) == 0 {
		return r.underSmallHeap()
	}
	return r.underLimit(fmt.Sprintf("-v %d", 300_000+r.rand.IntN(2_000_000)), false)
}

// underLimit starts a control plane under a limit of the shell: it must be ready or end,
// and afterwards a start without the limit must have all that was acknowledged.
func (r *round) underLimit(limit string, needsReason bool) error {
	dir, l := r.join("data"), r.newLedger(4)
	for range 2 { // a first start, and one of a folder that has data
		p, err := r.start(r.shellLimit(limit, upArgs(dir, bare()...)...), readyText)
		if err != nil {
			return err
		}
		c, err := r.awaitReady(p, dir)
		switch {
		case err == nil:
			stop := l.writeUntilRefused(r.ctx, c.client)
			r.pause(time.Second)
			stop()
		case !p.ended():
			return fmt.Errorf("ulimit %s: %w", limit, err)
		case needsReason:
			if err := p.oneLineReason(); err != nil {
				return fmt.Errorf("ulimit %s: %w", limit, err)
			}
		}
		r.kill9(p)
		if err := r.upAndCheck(dir, l); err != nil {
			return fmt.Errorf("after ulimit %s: %w", limit, err)
		}
	}
	return nil
}

// underSmallHeap loads a control plane whose collector has to work all the time.
func (r *round) underSmallHeap() error {
	dir, l := r.join("data"), r.newLedger(4)
	cmd := r.command(r.ctrlplane, upArgs(dir, bare()...)...)
	cmd.Env = append(cmd.Env, "GOMEMLIMIT=32MiB")
	p, err := r.start(cmd, readyText)
	if err != nil {
		return err
	}
	c, err := r.awaitReady(p, dir)
	if err != nil {
		return err
	}
	stop := l.writeUntilRefused(r.ctx, c.client)
	err = r.awaitWrites(c, l, 1)
	r.pause(2 * time.Second)
	r.kill9(p)
	stop()
	if err != nil {
		return err
	}
	return r.upAndCheck(dir, l)
}

// shellLimit returns a command that runs the program under a limit of the shell.
func (r *round) shellLimit(limit string, args ...string) *exec.Cmd {
	return r.command("sh", append([]string{"-c", "ulimit " + limit + ` && exec "$0" "$@"`, r.ctrlplane}, args...)...)
}

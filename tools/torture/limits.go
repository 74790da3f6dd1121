//go:build linux

package main

import (
	"fmt"
	"os/exec"
	"strings"
	"time"

	"github.com/ctrlplane/ctrlplane/internal/testutil/controlgroup"
)

// limitDescriptors starts and loads a control plane that may open few files.
func limitDescriptors(r *round) error {
	limit := 8 + r.rand.IntN(200)
	return r.underUlimit(fmt.Sprintf("-n %d", limit), true)
}

// limitMemory starts and loads a control plane that has little address space. Go ends a
// program that gets no memory with a stack, which is not ours to change.
func limitMemory(r *round) error {
	if r.rand.IntN(2) == 0 {
		return r.underSmallHeap()
	}
	return r.underUlimit(fmt.Sprintf("-v %d", 300_000+r.rand.IntN(2_000_000)), false)
}

func missingControlGroup(options) string {
	g, err := controlgroup.New(smallestContainer)
	if err == nil {
		err = g.Remove()
	}
	if err != nil {
		return fmt.Sprintf("limit the memory of a control group: %v", err)
	}
	return ""
}

// smallestContainer is memory with which a control plane starts, in bytes.
const smallestContainer = 160 << 20

// limitContainer starts and loads a control plane in a control group that has little memory.
func limitContainer(r *round) error {
	memory := smallestContainer + r.rand.Int64N(240<<20)
	g, err := controlgroup.New(memory)
	if err != nil {
		return err
	}
	r.cleanup = append(r.cleanup, g.Remove)
	return r.underLimit(fmt.Sprintf("%d MiB of memory", memory>>20), false, func(args ...string) (*exec.Cmd, error) {
		cmd := r.command(r.ctrlplane, args...)
		return cmd, g.Enter(cmd)
	})
}

// underUlimit starts and loads a control plane under a limit of the shell.
func (r *round) underUlimit(limit string, needsReason bool) error {
	return r.underLimit("ulimit "+limit, needsReason, func(args ...string) (*exec.Cmd, error) {
		return r.command("sh", append([]string{"-c", "ulimit " + limit + ` && exec "$0" "$@"`, r.ctrlplane}, args...)...), nil
	})
}

// underLimit starts a control plane under a limit: it must be ready or end, and afterwards a start
// without the limit must have all that was acknowledged.
func (r *round) underLimit(limit string, needsReason bool, command func(args ...string) (*exec.Cmd, error)) error {
	dir, l := r.join("data"), r.newLedger(4)
	for range 2 { // a first start, and one of a folder that has data
		cmd, err := command(upArgs(dir, bare()...)...)
		if err != nil {
			return err
		}
		p, err := r.start(cmd, readyText)
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
			return fmt.Errorf("%s: %w", limit, err)
		case needsReason:
			if err := p.oneLineReason(); err != nil {
				return fmt.Errorf("%s: %w", limit, err)
			}
		}
		r.kill9(p)
		if err := r.upAndCheck(dir, l); err != nil {
			return fmt.Errorf("after %s: %w", limit, err)
		}
	}
	return nil
}

// underSmallHeap loads a control plane whose collector has to work all the time.
func (r *round) underSmallHeap() error {
	cmd := r.command(r.ctrlplane, upArgs(r.join("data"), bare()...)...)
	cmd.Env = append(cmd.Env, "GOMEMLIMIT=32MiB")
	p, err := r.start(cmd, readyText)
	if err != nil {
		return err
	}
	return r.loadAndKill(p, 1, 2*time.Second)
}

// loadAndKill writes to a control plane until n writes are acknowledged, and for some time more, kills it, and checks
// what it has kept.
func (r *round) loadAndKill(p *process, n int64, more time.Duration) error {
	dir, l := r.join("data"), r.newLedger(4)
	c, err := r.awaitReady(p, dir)
	if err != nil {
		return err
	}
	stop := l.writeUntilRefused(r.ctx, c.client)
	err = r.awaitWrites(c, l, n)
	r.pause(more)
	r.kill9(p)
	stop()
	if err == nil && strings.Contains(c.output.String(), "etcd ended") {
		err = fmt.Errorf("etcd has ended")
	}
	if err != nil {
		return err
	}
	return r.upAndCheck(dir, l)
}

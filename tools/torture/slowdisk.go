//go:build linux

package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// slowDisk starts a control plane on a disk that takes long for each write, loads it, and
// kills it. It must be ready, and acknowledge writes.
func slowDisk(r *round) error {
	dir, l := r.join("data"), r.newLedger(4)
	delay := time.Duration(1+r.rand.IntN(300)) * time.Millisecond
	r.logf("each fsync takes %v longer", delay)
	strace := []string{"-f", "-qq", "-o", "/dev/null", "-e", "trace=fsync,fdatasync",
		"-e", "inject=fsync,fdatasync:delay_enter=" + strconv.FormatInt(delay.Microseconds(), 10), r.ctrlplane}
	p, err := r.start(r.command("strace", append(strace, upArgs(dir, bare()...)...)...), readyText)
	if err != nil {
		return err
	}
	c, err := r.awaitReady(p, dir)
	if err != nil {
		return err
	}
	stop := l.writeUntilRefused(r.ctx, c.client)
	err = r.awaitWrites(c, l, 20)
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

// awaitWrites waits until n writes are acknowledged.
func (r *round) awaitWrites(c *controlPlane, l *ledger, n int64) error {
	return r.await("acknowledged writes", waitTimeout, func() error {
		if c.ended() {
			return fmt.Errorf("up has ended: %s", lastLine(c.output.String()))
		}
		if made := l.writes(); made < n {
			return fmt.Errorf("%d", made)
		}
		return nil
	})
}

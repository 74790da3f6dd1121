//go:build linux

package main

import (
	"fmt"
	"strconv"
	"time"
)

// slowDisk starts a control plane on a disk that takes long for each write, loads it, and
// kills it. It must be ready, and acknowledge writes.
func slowDisk(r *round) error {
	delay := time.Duration(1+r.rand.IntN(300)) * time.Millisecond
	r.logf("each fsync takes %v longer", delay)
	strace := []string{"-f", "-qq", "-o", "/dev/null", "-e", "trace=fsync,fdatasync",
		"-e", "inject=fsync,fdatasync:delay_enter=" + strconv.FormatInt(delay.Microseconds(), 10), r.ctrlplane}
	p, err := r.start(r.command("strace", append(strace, upArgs(r.join("data"), bare()...)...)...), readyText)
	if err != nil {
		return err
	}
	return r.loadAndKill(p, 20, 0)
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

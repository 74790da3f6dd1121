//go:build linux

package main

import (
	"fmt"
	"time"
)

// killUnderLoad kills a control plane while clients write.
func killUnderLoad(r *round) error {
	const kills = 8
	dir, l := r.join("data"), r.newLedger(4)
	for range kills {
		c, err := r.up(dir, bare()...)
		if err != nil {
			return err
		}
		if err := l.check(r.ctx, c.client); err != nil {
			return err
		}
		stop := l.writeUntilRefused(r.ctx, c.client)
		r.pause(300 * time.Millisecond)
		r.kill9(c.process)
		stop()
	}
	return r.upAndCheck(dir, l)
}

// upAndCheck starts a control plane once more, with more arguments, which must have all
// acknowledged writes, and ends it.
func (r *round) upAndCheck(dir string, l *ledger, args ...string) error {
	c, err := r.up(dir, bare(args...)...)
	if err != nil {
		return err
	}
	if err := l.check(r.ctx, c.client); err != nil {
		return err
	}
	r.logf("%d acknowledged writes", l.writes())
	return c.stop()
}

// startTime is about how long a start takes on a quiet machine.
const startTime = 700 * time.Millisecond

// killFirstStart kills a first start, and a second and third one of the same folder.
func killFirstStart(r *round) error {
	dir := r.join("data")
	for range 1 + r.rand.IntN(3) {
		p, err := r.begin(dir, bare()...)
		if err != nil {
			return err
		}
		r.pause(startTime)
		r.kill9(p)
	}
	return r.checkUsable(dir)
}

// checkUsable starts a control plane whose controllers must act and which must
// accept a write.
func (r *round) checkUsable(dir string) error {
	c, err := r.up(dir, bare()...)
	if err != nil {
		return err
	}
	if err := r.awaitControllers(c); err != nil {
		return err
	}
	if _, err := r.change(c.client, 3); err != nil {
		return err
	}
	return c.stop()
}

// checkOneOf returns an error unless the state is one of the two, and after without
// doubt if the operation was answered.
func (r *round) checkOneOf(c *controlPlane, before, after state, answered bool) error {
	got, err := readState(r.ctx, c.client)
	if err != nil {
		return err
	}
	toBefore, toAfter := got.differences(before), got.differences(after)
	r.logf("answered: %v; %d objects differ from the state before, %d from that after", answered, toBefore, toAfter)
	if toAfter != 0 && (answered || toBefore != 0) {
		return fmt.Errorf("%d of %d objects differ from the state before, %d from that after; answered: %v", toBefore, len(got), toAfter, answered)
	}
	return nil
}

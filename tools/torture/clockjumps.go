//go:build linux

package main

import (
	"encoding/binary"
	"fmt"
	"os"
	"runtime"
	"time"
)

// clockEnv names the file from which the binary of clock/ reads the offset of its wall
// clock, in seconds.
const clockEnv = "CTRLPLANE_TORTURE_CLOCK"

func missingClock(o options) string {
	if runtime.GOARCH != "amd64" {
		return "the clock can be changed on amd64 only"
	}
	if _, err := os.Stat(o.clock); err != nil {
		return err.Error()
	}
	return ""
}

// jumpClock changes the wall clock of a control plane while clients write: forward by days,
// and back to any time since its certificates were created. Writes must be acknowledged,
// controllers must act, and nothing acknowledged may be lost, also by a start at another time.
func jumpClock(r *round) error {
	file := r.join("clock")
	if err := setClock(file, 0); err != nil {
		return err
	}
	start := func() (*controlPlane, error) {
		cmd := r.command(r.clock, upArgs(r.join("data"), bare()...)...)
		cmd.Env = append(cmd.Env, clockEnv+"="+file)
		p, err := r.start(cmd, readyText)
		if err != nil {
			return nil, err
		}
		return r.awaitReady(p, r.join("data"))
	}
	c, err := start()
	if err != nil {
		return err
	}
	l := r.newLedger(4)
	for i := range 4 {
		stop := l.writeUntilRefused(r.ctx, c.client)
		r.pause(300 * time.Millisecond)
		offset := time.Duration(r.rand.Int64N(int64(30 * 24 * time.Hour))).Round(time.Second)
		r.logf("the clock is %v ahead", offset)
		if err := setClock(file, offset); err != nil {
			return err
		}
		r.pause(time.Second)
		stop()
		if err := r.checkAfterJump(c, l, fmt.Sprintf("jump-%d", i)); err != nil {
			return fmt.Errorf("with the clock %v ahead: %w", offset, err)
		}
	}
	r.kill9(c.process)
	if err := setClock(file, time.Duration(r.rand.IntN(1000))*time.Hour); err != nil {
		return err
	}
	if c, err = start(); err != nil {
		return err
	}
	if err := l.check(r.ctx, c.client); err != nil {
		return err
	}
	return c.stop()
}

func (r *round) checkAfterJump(c *controlPlane, l *ledger, namespace string) error {
	if c.ended() {
		return fmt.Errorf("up has ended: %s", lastLine(c.output.String()))
	}
	if err := r.awaitEach(c, l, waitTimeout); err != nil {
		return err
	}
	return r.awaitNamespace(c, namespace)
}

func setClock(file string, offset time.Duration) error {
	f, err := os.OpenFile(file, os.O_RDWR|os.O_CREATE, 0o600) // not truncated: it is mapped
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.WriteAt(binary.LittleEndian.AppendUint64(nil, uint64(offset/time.Second)), 0)
	return err
}

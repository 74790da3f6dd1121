//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// diskTimeout is how soon a full disk must be said, and room be used again.
const diskTimeout = 10 * time.Second

func missingMount(options) string {
	dir, err := os.MkdirTemp("", "ctrlplane-torture-")
	if err != nil {
		return err.Error()
	}
	defer os.Remove(dir) // it is empty
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=1m"); err != nil {
		return fmt.Sprintf("mount a tmpfs: %v", err)
	}
	if err := unix.Unmount(dir, 0); err != nil {
		return fmt.Sprintf("unmount a tmpfs: %v", err)
	}
	return ""
}

// mount mounts a tmpfs of a size in the round's folder until the round ends.
func (r *round) mount(size string) (string, error) {
	dir := r.join("disk")
	if err := os.Mkdir(dir, 0o700); err != nil {
		return "", err
	}
	r.logf("mount a tmpfs of %s at %s", size, dir)
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size="+size); err != nil {
		return "", err
	}
	r.cleanup = append(r.cleanup, func() error { return unix.Unmount(dir, unix.MNT_DETACH) })
	return dir, nil
}

// fillDisk fills the disk under a control plane, and makes room again: in half of the
// rounds at once, as a disk quota or a fast program does.
func fillDisk(r *round) error {
	const size = 200 << 20
	disk, err := r.mount(strconv.Itoa(size))
	if err != nil {
		return err
	}
	resize := func(bytes uint64) error {
		return unix.Mount("tmpfs", disk, "tmpfs", unix.MS_REMOUNT, fmt.Sprintf("size=%d", bytes))
	}
	if r.rand.IntN(2) == 0 {
		return r.withoutRoom(disk+"/data",
			func(*controlPlane) error { return r.shrink(disk, resize) },
			func(*controlPlane) error { return resize(size) })
	}
	filler := disk + "/filler"
	fill := func(*controlPlane) error {
		err := os.WriteFile(filler, make([]byte, size), 0o600)
		if !errors.Is(err, syscall.ENOSPC) {
			return fmt.Errorf("the disk is not full: %w", err)
		}
		return nil
	}
	return r.withoutRoom(disk+"/data", fill, func(*controlPlane) error { return os.Remove(filler) })
}

// shrink makes a disk as small as what it holds.
func (r *round) shrink(disk string, resize func(bytes uint64) error) error {
	r.logf("shrink the disk to what is used")
	return r.await("smaller disk", waitTimeout, func() error { // more may be used by then
		var st unix.Statfs_t
		if err := unix.Statfs(disk, &st); err != nil {
			return err
		}
		return resize((st.Blocks - st.Bfree) * uint64(st.Bsize))
	})
}

// limitFileSize limits the size of the files that a control plane writes: from its start,
// or while it runs, so that all that are larger already cannot grow.
func limitFileSize(r *round) error {
	if r.rand.IntN(2) == 0 {
		return r.underUlimit(fmt.Sprintf("-f %d", r.rand.IntN(400_000)), true) // of 512 bytes
	}
	dir, l := r.join("data"), r.newLedger(4)
	c, err := r.up(dir, bare()...)
	if err != nil {
		return err
	}
	stop := l.writeUntilRefused(r.ctx, c.client)
	r.pause(300 * time.Millisecond)
	r.logf("limit files to 1000 bytes")
	if err := setFileLimit(c.process, 1000); err != nil {
		stop()
		return err
	}
	demands := r.checkRefusedOrEnded(c, l)
	stop()
	if c.ended() {
		return errors.Join(demands, r.upAndCheck(dir, l))
	}
	if err := setFileLimit(c.process, unix.RLIM_INFINITY); err != nil {
		return err
	}
	demands = errors.Join(demands, r.awaitWrite(c, l))
	r.kill9(c.process)
	return errors.Join(demands, r.upAndCheck(dir, l))
}

func setFileLimit(p *process, bytes uint64) error {
	return unix.Prlimit(p.Process.Pid, unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: bytes, Max: unix.RLIM_INFINITY}, nil)
}

// checkRefusedOrEnded checks that writes are refused with a reason while reads are served,
// or that the control plane ends soon with that reason: what etcd had to write already
// cannot be written.
func (r *round) checkRefusedOrEnded(c *controlPlane, l *ledger) error {
	err := errors.Join(r.checkRefused(c, l), r.checkReadsServed(c))
	if err == nil {
		return nil
	}
	if endErr := c.awaitEnd(diskTimeout); endErr != nil {
		return errors.Join(err, endErr)
	}
	r.logf("ended: %s", lastLine(c.output.String()))
	if !aboutRoom.MatchString(lastLine(c.output.String())) {
		return fmt.Errorf("the last line does not say why: %s", lastLine(c.output.String()))
	}
	return c.oneLineReason()
}

// withoutRoom takes away the room for writes and gives it back. In between, writes are
// refused soon, with a reason, and reads are served; nothing acknowledged is lost.
func (r *round) withoutRoom(dir string, take, give func(*controlPlane) error) error {
	l := r.newLedger(4)
	c, err := r.up(dir, bare()...)
	if err != nil {
		return err
	}
	stop := l.writeUntilRefused(r.ctx, c.client)
	r.pause(300 * time.Millisecond)
	if err := take(c); err != nil {
		stop()
		return err
	}
	demands := errors.Join(r.checkRefused(c, l), r.checkReadsServed(c))
	stop()
	if err := give(c); err != nil && !c.ended() {
		return err
	}
	demands = errors.Join(demands, r.awaitWrite(c, l))
	r.kill9(c.process)
	return errors.Join(demands, r.upAndCheck(dir, l))
}

// awaitWrite waits until a write is acknowledged once there is room again.
func (r *round) awaitWrite(c *controlPlane, l *ledger) error {
	return r.await("acknowledged write once there is room again", diskTimeout, func() error {
		return l.writers[0].resolveAndSend(r.ctx, c)
	})
}

// resolveAndSend settles the write in doubt, and makes another one.
func (w *writer) resolveAndSend(ctx context.Context, c *controlPlane) error {
	if c.ended() {
		return fmt.Errorf("the control plane has ended: %s", lastLine(c.output.String()))
	}
	alone := ledger{writers: []*writer{w}}
	if err := alone.check(ctx, c.client); err != nil {
		return err
	}
	return w.send(ctx, c.client, w.choose())
}

// aboutRoom matches how a full disk or a limit may be named.
var aboutRoom = regexp.MustCompile(`(?i)disk is full|no space|file too large|ulimit -f|limit of file sizes|free space|make room`)

// checkRefused checks that a write is refused soon, and that the refusal, the status or
// the output of up says why.
func (r *round) checkRefused(c *controlPlane, l *ledger) error {
	w := r.newLedger(1).writers[0]
	w.name = "late"
	l.writers = append(l.writers, w)
	var refusal error
	err := r.await("refused write", diskTimeout, func() error {
		ctx, cancel := context.WithTimeout(r.ctx, diskTimeout)
		defer cancel()
		if refusal = w.send(ctx, c.client, w.choose()); refusal == nil {
			return errors.New("writes are still accepted")
		}
		return nil
	})
	if err != nil {
		return err
	}
	r.logf("refused: %v", refusal)
	if errors.Is(refusal, context.DeadlineExceeded) {
		return fmt.Errorf("a write hangs for %v", diskTimeout)
	}
	return r.await("word about the disk", diskTimeout, func() error {
		status, err := r.verb(c.dir, "status")
		if all := refusal.Error() + status + c.output.String(); !aboutRoom.MatchString(all) {
			return fmt.Errorf("neither the refusal (%w) nor status (%w) nor up says that it is full", refusal, err)
		}
		return nil
	})
}

// checkReadsServed checks that reads go on being served while space is missing.
func (r *round) checkReadsServed(c *controlPlane) error {
	for began := time.Now(); time.Since(began) < diskTimeout; {
		ctx, cancel := context.WithTimeout(r.ctx, diskTimeout)
		_, err := readState(ctx, c.client)
		cancel()
		if err != nil {
			return fmt.Errorf("reads are not served %v later: %w", time.Since(began).Round(time.Second), err)
		}
		r.pause(time.Second)
	}
	return nil
}

// readOnlyFolder starts a control plane in a folder that cannot be written, which must
// be said, and leaves its data alone.
func readOnlyFolder(r *round) error {
	disk, err := r.mount("200m")
	if err != nil {
		return err
	}
	dir, l := disk+"/data", r.newLedger(2)
	c, err := r.up(dir, bare()...)
	if err != nil {
		return err
	}
	stop := l.writeUntilRefused(r.ctx, c.client)
	r.pause(300 * time.Millisecond)
	stop()
	if err := c.stop(); err != nil {
		return err
	}
	for _, place := range []string{dir, disk + "/none"} {
		if err := unix.Mount("", disk, "", unix.MS_REMOUNT|unix.MS_RDONLY, ""); err != nil {
			return err
		}
		p, err := r.begin(place, bare()...)
		if err != nil {
			return err
		}
		if err := p.awaitEnd(diskTimeout); err != nil {
			return err
		}
		if err := p.oneLineReason(); err != nil {
			return err
		}
		if line := lastLine(p.output.String()); !strings.Contains(line, place) {
			return fmt.Errorf("the reason does not name %s: %s", place, line)
		}
	}
	if err := unix.Mount("", disk, "", unix.MS_REMOUNT, ""); err != nil {
		return err
	}
	if _, err := os.Stat(disk + "/none"); !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("left behind: %w", err)
	}
	return r.upAndCheck(dir, l)
}

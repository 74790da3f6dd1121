package class

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"
)

const (
	pollInterval = 500 * time.Millisecond
	// maxRead is what is read of the file at once. Students may write without end.
	maxRead = 1 << 20
)

// follower reads the lines that students append to a file.
type follower struct {
	path   string
	roster *Roster
	offset int64
	rest   []byte // of a line without an end
	skip   bool   // the rest of a line that is too long
	live   bool   // what was there at the beginning is read: lines arrive as they are written
}

var errReplaced = errors.New("the file was replaced while it was opened: try again")

// openClassFile opens a file for messages. Students can write its folder: a link could name
// a file of the teacher, and a device or a pipe could block.
func openClassFile(path string, flag int) (*os.File, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, notRegular(path)
	}
	f, err := os.OpenFile(path, flag|safeOpen, 0)
	if err != nil {
		return nil, err
	}
	opened, err := f.Stat() // it may have been replaced meanwhile
	if err == nil && !os.SameFile(info, opened) {
		err = errReplaced
	}
	if err != nil {
		_ = f.Close() // nothing was written
		return nil, err
	}
	return f, nil
}

func notRegular(path string) error {
	return fmt.Errorf("%s is not a regular file: remove it, or use another path", path)
}

// createClassFile creates the file that all students write, unless it exists.
func createClassFile(path string) error {
	f, err := os.OpenFile(path, os.O_RDONLY|os.O_CREATE|os.O_EXCL|safeOpen, 0o666)
	if errors.Is(err, fs.ErrExist) {
		if f, err = openClassFile(path, os.O_RDONLY); err != nil {
			return err
		}
		return f.Close()
	}
	if err != nil {
		return err
	}
	err = f.Chmod(0o666) // the umask of the teacher would keep the students out
	return errors.Join(err, f.Close())
}

// FollowFile applies the lines of a file to the roster until ctx ends. It creates the file.
func FollowFile(ctx context.Context, path string, r *Roster) error {
	if err := createClassFile(path); err != nil {
		return err
	}
	follow := &follower{path: path, roster: r}
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for {
		more, err := follow.read(time.Now())
		if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, errReplaced) { // it may be replaced just now
			return err
		}
		if more && ctx.Err() == nil {
			continue
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// read applies what was appended. It reports whether there is more.
func (f *follower) read(now time.Time) (more bool, err error) {
	file, err := openClassFile(f.path, os.O_RDONLY)
	if err != nil {
		return false, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return false, err
	}
	if info.Size() < f.offset { // it was emptied
		f.offset, f.rest, f.skip = 0, nil, false
	}
	data := make([]byte, min(maxRead, info.Size()-f.offset))
	n, err := file.ReadAt(data, f.offset)
	if err != nil && !errors.Is(err, io.EOF) {
		return false, err
	}
	f.offset += int64(n)
	f.take(data[:n], now)
	more = f.offset < info.Size()
	f.live = f.live || !more
	return more, nil
}

// take applies the complete lines of what was read.
func (f *follower) take(data []byte, now time.Time) {
	for len(data) > 0 {
		line, rest, complete := bytes.Cut(data, []byte{'\n'})
		data = rest
		if !f.skip {
			f.rest = append(f.rest, line[:min(len(line), maxMessage+1)]...)
			f.skip = len(f.rest) > maxMessage
		}
		if !complete {
			return
		}
		if m, err := parseMessage(f.rest, now); err == nil && !f.skip {
			if f.live {
				m.Time = now
			}
			f.roster.apply(m)
		}
		f.rest, f.skip = f.rest[:0], false
	}
}

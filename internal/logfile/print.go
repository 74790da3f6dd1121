package logfile

import (
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"time"

	"github.com/ctrlplane/ctrlplane/internal/inuse"
)

// followInterval is how often Print looks for new records.
const followInterval = 100 * time.Millisecond

// PrintOptions configures Print.
type PrintOptions struct {
	// Tail is the number of lines to begin with; negative = all of the file.
	Tail int
	// Follow continues with new records until ctx ends or Ended returns true.
	Follow bool
	// Ended reports whether nothing more will be written. Used with Follow only.
	Ended func() bool
}

// Print writes the content of a log file to w. It follows the log when the file is rotated.
func Print(ctx context.Context, w io.Writer, path string, o PrintOptions) (err error) {
	f, err := inuse.OpenForReading(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if err := seekToTail(f, o.Tail); err != nil {
		return err
	}
	if _, err := io.Copy(w, f); err != nil || !o.Follow {
		return err
	}
	tick := time.NewTicker(followInterval)
	defer tick.Stop()
	for {
		ended := o.Ended() // asked first, or what is written last would be missed
		next, err := openRotated(f, path)
		if err != nil {
			return err
		}
		if _, err := io.Copy(w, f); err != nil {
			return errors.Join(err, closeFile(next))
		}
		if next != nil {
			if err := f.Close(); err != nil {
				return errors.Join(err, next.Close())
			}
			f = next
			continue
		}
		if ended {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}

func closeFile(f *os.File) error {
	if f == nil {
		return nil
	}
	return f.Close()
}

// openRotated opens the file that has replaced f at the path; nil if f is still there, or
// if there is none at the moment.
func openRotated(f *os.File, path string) (*os.File, error) {
	was, err := f.Stat()
	if err != nil {
		return nil, err
	}
	now, err := os.Stat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	case os.SameFile(was, now):
		return nil, nil
	}
	return inuse.OpenForReading(path)
}

// seekToTail moves to the beginning of the last lines; negative = of the file.
func seekToTail(f *os.File, lines int) error {
	if lines < 0 {
		return nil
	}
	end, err := f.Seek(0, io.SeekEnd)
	if err != nil || lines == 0 {
		return err
	}
	chunk := make([]byte, 64<<10)
	for at := end; at > 0; {
		part := chunk[:min(at, int64(len(chunk)))]
		at -= int64(len(part))
		if _, err := f.ReadAt(part, at); err != nil {
			return err
		}
		for i, b := range slices.Backward(part) {
			next := at + int64(i) + 1 // the beginning of a line
			if b != '\n' || next == end {
				continue
			}
			if lines--; lines == 0 {
				_, err := f.Seek(next, io.SeekStart)
				return err
			}
		}
	}
	_, err = f.Seek(0, io.SeekStart)
	return err
}

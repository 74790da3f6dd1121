package replay

import (
	"bufio"
	"errors"
	"os"
	"time"

	"github.com/ctrlplane/ctrlplane/internal/inuse"
)

// MinLimit is the smallest limit of a recording: a file needs room for a whole snapshot,
// and for what happens until the next one.
const MinLimit = 4 << 20

// partWriter writes a recording to a file. With a limit it begins another file when one
// is full, and keeps the one before.
type partWriter struct {
	*bufio.Writer
	file   *os.File
	path   string
	limit  int64 // of both files together; 0 = none
	header Header
	size   int64
	rename func(from, to string) error
}

func newPartWriter(file *os.File, limit int64) *partWriter {
	p := &partWriter{Writer: bufio.NewWriterSize(file, 64<<10), file: file, path: file.Name(), limit: limit, header: NewHeader(time.Now()), rename: inuse.Rename}
	p.header.Problems = true
	if limit > 0 {
		p.header.Part, p.header.Began = 1, p.header.Time
	}
	return p
}

func (p *partWriter) partLimit() int64 { return p.limit / 2 }

func (p *partWriter) isFull() bool { return p.limit > 0 && p.size >= p.partLimit() }

// Write implements io.Writer.
func (p *partWriter) Write(data []byte) (int, error) {
	p.size += int64(len(data))
	return p.Writer.Write(data)
}

// rotate begins the next file, and reports whether it has. The one before gets the name of the
// older one, which is removed. It fails if another file has its name, which may be another
// recording. While another program reads one of the files, which does not allow that on Windows,
// it goes on with a file that is too large.
func (p *partWriter) rotate() (rotated bool, err error) {
	named, err := os.Stat(p.path)
	if err != nil {
		return false, err
	}
	written, err := p.file.Stat()
	if err != nil {
		return false, err
	}
	if !os.SameFile(named, written) {
		return false, errors.New("another process has replaced the file")
	}
	if err := errors.Join(p.Flush(), p.file.Close()); err != nil {
		return false, err
	}
	err = p.rename(p.path, olderFile(p.path))
	if errors.Is(err, inuse.Err) {
		return false, p.open(os.O_APPEND)
	}
	if err == nil {
		err = p.open(os.O_CREATE | os.O_EXCL)
	}
	if err != nil {
		return false, err
	}
	p.size = 0
	p.header.Part++
	p.header.Time = time.Now()
	return true, nil
}

func (p *partWriter) open(flags int) error {
	file, err := os.OpenFile(p.path, os.O_WRONLY|flags, 0o600)
	if err != nil {
		return err
	}
	p.file = file
	p.Reset(file)
	return nil
}

// Close completes the file.
func (p *partWriter) Close() error { return errors.Join(p.Flush(), p.file.Close()) }

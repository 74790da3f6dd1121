package replay

import (
	"bufio"
	"errors"
	"os"
	"time"
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
}

func newPartWriter(file *os.File, limit int64) *partWriter {
	p := &partWriter{Writer: bufio.NewWriterSize(file, 64<<10), file: file, path: file.Name(), limit: limit, header: NewHeader(time.Now())}
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

// rotate begins the next file. The one before gets the name of the older one, which is
// removed. It fails if another file has its name, which may be another recording.
func (p *partWriter) rotate() error {
	named, err := os.Stat(p.path)
	if err != nil {
		return err
	}
	written, err := p.file.Stat()
	if err != nil {
		return err
	}
	if !os.SameFile(named, written) {
		return errors.New("another process has replaced the file")
	}
	if err := errors.Join(p.Flush(), p.file.Close()); err != nil {
		return err
	}
	if err := os.Rename(p.path, olderFile(p.path)); err != nil {
		return err
	}
	file, err := os.OpenFile(p.path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	p.file, p.size = file, 0
	p.Reset(file)
	p.header.Part++
	p.header.Time = time.Now()
	return nil
}

// Close completes the file.
func (p *partWriter) Close() error { return errors.Join(p.Flush(), p.file.Close()) }

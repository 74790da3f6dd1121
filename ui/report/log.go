package report

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// maxRotatedLogs is the number of rotated log files to search. PATH.1 is the newest.
const maxRotatedLogs = 9

// logPosition is the end of a log when the run began.
type logPosition struct {
	path string
	file os.FileInfo // nil if there was no log
}

// currentLogPosition returns the current end of a log.
func currentLogPosition(path string) logPosition {
	info, err := os.Stat(path)
	if err != nil {
		return logPosition{path: path}
	}
	return logPosition{path, info}
}

// copySince writes what was logged since the position, including rotated files. If
// the original file is gone, it writes all files.
func (m logPosition) copySince(w io.Writer) error {
	var paths []string // oldest first
	from := int64(0)
	for n := range maxRotatedLogs + 1 {
		path := m.path
		if n > 0 {
			path = fmt.Sprintf("%s.%d", m.path, n)
		}
		info, err := os.Stat(path)
		if errors.Is(err, fs.ErrNotExist) {
			break
		}
		if err != nil {
			return err
		}
		paths = append([]string{path}, paths...)
		if m.file != nil && os.SameFile(info, m.file) {
			from = m.file.Size()
			break
		}
	}
	for _, path := range paths {
		if err := copyFrom(w, path, from); err != nil {
			return err
		}
		from = 0
	}
	return nil
}

func copyFrom(w io.Writer, path string, from int64) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close() // only read: the error does not matter
	if _, err := file.Seek(from, io.SeekStart); err != nil {
		return err
	}
	_, err = io.Copy(w, file)
	return err
}

package report

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// maxRotatedLogs is how many older files of a log are looked for: Path.1 is the newest.
const maxRotatedLogs = 9

// logPosition is where a log was when a run began.
type logPosition struct {
	path string
	file os.FileInfo // nil if there was none
}

// currentLogPosition remembers where a log is now.
func currentLogPosition(path string) logPosition {
	info, err := os.Stat(path)
	if err != nil {
		return logPosition{path: path}
	}
	return logPosition{path, info}
}

// copySince writes what the log has got since, from its older files, too. It is
// the whole of them if the file of then is gone.
func (m logPosition) copySince(w io.Writer) error {
	var paths []string // the oldest first
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
	defer file.Close() // it was only read
	if _, err := file.Seek(from, io.SeekStart); err != nil {
		return err
	}
	_, err = io.Copy(w, file)
	return err
}

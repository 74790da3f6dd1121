package replay

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/ctrlplane/ctrlplane/internal/fileerror"
	"github.com/ctrlplane/ctrlplane/internal/words"
)

// MaxSize is the size of the largest recording that is read: all of its records are kept
// in memory.
const MaxSize = 1 << 30

// EventsFile is the name of the recording in a folder of "run --report".
const EventsFile = "events.jsonl"

// UnfinishedPrefix begins the name of the folder, in that of a report, with the files of a run that has not finished.
// It is not hidden: uploads of artifacts leave out hidden files.
const UnfinishedPrefix = "unfinished-"

// olderFile returns the name of the file that a bounded recording continues.
func olderFile(path string) string { return path + ".1" }

// Open reads a recording: a file, or the folder of a report.
func Open(path string) (*Recording, error) {
	r, err := open(path)
	if err != nil {
		return nil, fmt.Errorf("recording %s: %w", path, fileerror.WithoutPath(err))
	}
	return r, nil
}

func open(path string) (*Recording, error) {
	path, size, err := findFile(path)
	if err != nil {
		return nil, err
	}
	newest, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer newest.Close()
	files := []io.Reader{newest}
	if older, olderSize := openOlder(path, newest); older != nil {
		defer older.Close()
		files, size = []io.Reader{older, newest}, size+olderSize
	}
	if size > MaxSize {
		return nil, fmt.Errorf("it has %d MiB, and at most %d MiB can be read: record less, with \"up --record\", whose size is bounded", size>>20, MaxSize>>20)
	}
	var d decoder
	for i, f := range files {
		if err := d.read(f); err != nil {
			if i < len(files)-1 {
				err = fmt.Errorf("%s: %w", filepath.Base(olderFile(path)), err)
			}
			return nil, err
		}
	}
	return d.finish()
}

// findFile returns the path of the file with the events, and its size.
func findFile(path string) (string, int64, error) {
	info, err := os.Stat(path)
	if err == nil && info.IsDir() {
		path = filepath.Join(path, EventsFile)
		if info, err = os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			return "", 0, missingFile(filepath.Dir(path))
		}
	}
	if err != nil {
		return "", 0, err
	}
	if !info.Mode().IsRegular() {
		return "", 0, fmt.Errorf("not a file: name a recording, or a folder of \"run --report\"")
	}
	return path, info.Size(), nil
}

// missingFile returns the error for a folder without a recording. It names that of a run that goes on or was killed.
func missingFile(folder string) error {
	entries, _ := os.ReadDir(folder)
	for _, e := range entries {
		path := filepath.Join(folder, e.Name(), EventsFile)
		if !strings.HasPrefix(e.Name(), UnfinishedPrefix) {
			continue
		}
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			return fmt.Errorf("the run goes on or was killed: name the file with what it has recorded: %s", words.Path(path))
		}
	}
	return fmt.Errorf("the folder has no %s: name the folder of a finished \"run --report\", or a recording", EventsFile)
}

// openOlder opens the file that a recording continues; nil if it continues none, or if
// the file is that of another recording.
func openOlder(path string, newest *os.File) (*os.File, int64) {
	h, err := headerOf(newest)
	if err != nil || h.Part < 2 {
		return nil, 0
	}
	older, err := os.Open(olderFile(path))
	if err != nil {
		return nil, 0
	}
	before, err := headerOf(older)
	info, statErr := older.Stat()
	if err != nil || statErr != nil || before.Part != h.Part-1 || !before.Began.Equal(h.Began) {
		_ = older.Close()
		return nil, 0
	}
	return older, info.Size()
}

// headerOf reads the header of a file, and goes back to its beginning.
func headerOf(f *os.File) (Header, error) {
	line, err := readLine(bufio.NewReader(f))
	if err != nil && !errors.Is(err, io.EOF) {
		return Header{}, err
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return Header{}, err
	}
	return parseHeader(line)
}

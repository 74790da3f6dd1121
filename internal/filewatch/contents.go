package filewatch

import (
	"crypto/sha256"
	"errors"
	"io/fs"
	"os"

	"github.com/ctrlplane/ctrlplane/internal/limitread"
)

const (
	maxKnownFiles = 50_000
	maxKnownBytes = 4 << 20 // of a file; a longer one counts as changed with each event
)

// contents remembers what is in files, because generators write files again that stay the
// same. It is not safe for concurrent use.
type contents map[string][sha256.Size]byte

// unreadable is the content of a file that exists, and whose next event is a change.
var unreadable [sha256.Size]byte

// changed reports whether a file has other content than the known one. It has no sum if it does not exist: that is a
// change if it existed before, and was not only there for a moment.
func (c contents) changed(path string) (sum *[sha256.Size]byte, changed bool) {
	before, known := c[path]
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		return nil, true
	}
	data, err := limitread.File(path, maxKnownBytes)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, known || len(c) >= maxKnownFiles
	case err != nil:
		return &unreadable, true
	}
	now := sha256.Sum256(data)
	return &now, !known || before != now
}

// learn makes a sum the known one; nil = the file does not exist.
func (c contents) learn(path string, sum *[sha256.Size]byte) {
	if sum == nil {
		delete(c, path)
		return
	}
	if _, known := c[path]; known || len(c) < maxKnownFiles {
		c[path] = *sum
	}
}

// learnExists notes that a file exists, whatever is in it.
func (c contents) learnExists(path string) {
	if _, known := c[path]; !known {
		c.learn(path, &unreadable)
	}
}
